import { describe, expect, onTestFinished, test } from "vitest";
import { SideChannelError } from "../../src/controller/sidechannel/sidechannel.ts";
import { TofinoSideChannel } from "../../src/controller/sidechannel/tofino.ts";
import { startBfRuntime } from "./bfruntimeserver.ts";

/** A front port of a Tofino, and the bytes of its number. */
const PORT = 128;

async function open(address: string, program: string | undefined = "libra"): Promise<TofinoSideChannel> {
  const channel = await TofinoSideChannel.open({ address, ...(program === "" ? {} : { program }) });
  onTestFinished(() => channel.close());
  return channel;
}

describe("the side channel of a Tofino, against a server written from the protocol", () => {
  test("paces ports and queues, whose keys it finds in the table of ports", async () => {
    const { address, written } = await startBfRuntime();
    const channel = await open(address);
    await channel.setPortRate(PORT, { kind: "bitsPerSecond", rate: 10_000_000 });
    await channel.setQueueRate(PORT, 2, { kind: "packetsPerSecond", rate: 1000 });
    await channel.setQueueRate(PORT, 2, { kind: "unlimited" });
    await channel.setQueueDepth({ port: PORT, queue: 3 }, 10);
    expect(written).toEqual([
      "30 00000080: 11=BPS 12=UPPER 13=0000000000002710 14=00000084",
      "40 00000080: 11=true",
      "31 00000003 0000001a: 11=PPS 12=UPPER 13=00000000000003e8 14=00000010",
      "41 00000003 0000001a: 11=true",
      "41 00000003 0000001a: 11=false",
      "50 00000003 0000001b 51: 11=EG_APP_POOL_0 12=000000be 13=true",
    ]);
  });

  test("reads and writes registers: of a field of 36 bits exactly five bytes, and of the pipes one", async () => {
    const { address } = await startBfRuntime();
    const channel = await open(address);
    await channel.writeRegister("pipe.Ingress.slots", 7, 0xf_1234_5678n);
    expect(await channel.readRegister("pipe.Ingress.slots", 6, 3)).toEqual([0n, 0xf_1234_5678n, 0n]);
    await expect(channel.writeRegister("pipe.Ingress.slots", 7, 1n << 36n)).rejects.toMatchObject({
      code: "unsupported",
      message: expect.stringContaining("a number of 36 bits"),
    });
  });

  test("without a program reaches what is fixed in the switch, and names what is near", async () => {
    const { address } = await startBfRuntime();
    const channel = await open(address, "");
    await channel.setPortRate(PORT, { kind: "unlimited" });
    await expect(channel.readRegister("pipe.Ingress.slots", 0, 1)).rejects.toMatchObject({
      code: "unsupported",
      message: expect.stringContaining("there is no table pipe.Ingress.slots"),
    });
    await expect(channel.setPortRate(undefined, { kind: "unlimited" })).rejects.toMatchObject({
      code: "unsupported",
    });
    await expect(channel.setQueueRate(PORT, 9, { kind: "unlimited" })).rejects.toThrow(
      "port 128 has no queue 9",
    );
  });

  test("says who does not answer, which program there is not, and that another client is bound", async () => {
    const { address } = await startBfRuntime();
    await open(address);
    await expect(open(address)).rejects.toMatchObject({ code: "refused", address });
    await expect(open(address, "other")).rejects.toThrow(/there is no program other/);
    await expect(open("127.0.0.1:1")).rejects.toBeInstanceOf(SideChannelError);
    await expect(open("127.0.0.1:1")).rejects.toMatchObject({ code: "unreachable" });
  });
});

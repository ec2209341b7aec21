import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { PcapError, PcapPort, PcapWriter, readPcap, Switch, SwitchRunner } from "../../src/switch/index.ts";
import { ipv4Frame, router } from "./fixtures/router.ts";

const folder = mkdtempSync(join(tmpdir(), "gradplane-pcap-"));
afterAll(() => rmSync(folder, { recursive: true }));
const path = (name: string): string => join(folder, name);

async function write(name: string, frames: readonly Uint8Array[]): Promise<string> {
  const writer = await PcapWriter.open(path(name));
  for (const [n, frame] of frames.entries()) writer.write(frame, 1_700_000_000_123_456 + n);
  await writer.close();
  return path(name);
}

describe("capture files", () => {
  it("give back the frames and times that were written", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 2000 }), { maxLength: 20 }), async (frames) => {
        const read = readPcap(await write("any.pcap", frames));
        expect(read.map(({ data }) => Uint8Array.from(data))).toEqual(frames.map((f) => Uint8Array.from(f)));
        expect(read.map(({ time }) => time)).toEqual(frames.map((_, n) => 1_700_000_000_123_456 + n));
      }),
      { numRuns: 20 },
    );
  });

  it("of the other byte order and of nanoseconds are read", () => {
    const big = Buffer.alloc(24 + 16 + 3);
    big.writeUInt32BE(0xa1b23c4d, 0);
    big.writeUInt32BE(1, 20);
    big.writeUInt32BE(5, 24);
    big.writeUInt32BE(7000, 28);
    big.writeUInt32BE(3, 32);
    big.writeUInt32BE(3, 36);
    big.set([1, 2, 3], 40);
    writeFileSync(path("big.pcap"), big);
    const [frame] = readPcap(path("big.pcap"));
    expect(frame?.time).toBe(5_000_007);
    expect([...(frame?.data ?? [])]).toEqual([1, 2, 3]);
  });

  it("that are none, cut off, damaged, or cut short by the capture are refused by name", async () => {
    const whole = readFileSync(await write("whole.pcap", [new Uint8Array(60), new Uint8Array(60)]));
    const refused = (bytes: Uint8Array, reason: string): void => {
      writeFileSync(path("bad.pcap"), bytes);
      expect(() => readPcap(path("bad.pcap"))).toThrow(PcapError);
      expect(() => readPcap(path("bad.pcap"))).toThrow(reason);
    };
    const changed = (at: number, value: number): Buffer => {
      const copy = Buffer.from(whole);
      copy.writeUInt32LE(value, at);
      return copy;
    };
    refused(Buffer.alloc(0), "is no pcap file");
    refused(Buffer.alloc(100, 1), "is no pcap file");
    refused(changed(0, 0x0a0d0d0a), "is pcapng");
    refused(changed(20, 113), "has link type 113");
    refused(whole.subarray(0, whole.length - 1), "is cut off in frame 2");
    refused(whole.subarray(0, 24 + 76 + 5), "is cut off in frame 2");
    refused(changed(24 + 8, 0xffff_ffff), "is damaged in frame 1");
    refused(changed(24 + 12, 1500), "has 60 of 1500 bytes");
    expect(() => readPcap(path("nowhere.pcap"))).toThrow("cannot read");
    await expect(PcapWriter.open(path("no/where.pcap"))).rejects.toThrow(PcapError);
  });
});

describe("a port of captures", () => {
  it("lets all frames through the program and keeps what comes out", async () => {
    const sw = new Switch(router());
    sw.table("ingress.route").insert([{ kind: "lpm", value: 0x0a000000n, prefixLength: 8 }], {
      kind: "action",
      action: "ingress.forward",
      parameters: [0x0a0b0c0d0e0fn, 1n],
    });
    const frames = Array.from({ length: 200 }, (_, n) => ipv4Frame({ destination: 0x0a000000 + n, ttl: 64 }));
    const runner = new SwitchRunner(sw);
    const input = await PcapPort.open("in", await write("in.pcap", frames));
    const output = await PcapPort.open("out", undefined, path("out.pcap"));
    runner.attach(0, input);
    runner.attach(1, output);
    await input.play();
    await runner.close();
    const out = readPcap(path("out.pcap"));
    expect(out).toHaveLength(200);
    expect(out.every(({ data }, n) => data[33] === n && data[22] === 63)).toBe(true);
    expect(input.statistics().received).toBe(200);
    expect(output.statistics().sent).toBe(200);
  });
});

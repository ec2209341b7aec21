import { afterEach, expect, test } from "vitest";
import type { DlcpAction, DlcpEvent } from "../../../src/host/dlcp/events.ts";
import { DlcpHost } from "../../../src/host/dlcp/host.ts";
import type { DlcpJob } from "../../../src/host/dlcp/job.ts";
import { seededRandom } from "../../../src/host/random.ts";
import { UdpHost } from "../../../src/host/udp.ts";
import { UdpFabric } from "../udpfabric.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

test("over real UDP with a loss of 10 % a tensor arrives within its bound, and one without a bound whole", async () => {
  const endpoint = (i: number) => ({ mac: `02:00:00:00:00:0${i}`, ip: `10.0.0.${i + 1}` });
  const spec = { layer: 0, missing: "zero", senders: [0], receivers: [1] } as const;
  const job: DlcpJob = {
    ...{ job: 1, layers: 1, hosts: [endpoint(0), endpoint(1)] },
    tensors: [
      { ...spec, elements: 50_000, bound: 0.2 },
      { ...spec, elements: 20_000, bound: 0 },
    ],
  };
  const fabric = new UdpFabric();
  closing.push(() => fabric.close());
  const errors: unknown[] = [];
  const arrived: Extract<DlcpAction, { type: "received" }>[] = [];
  const hosts: UdpHost<DlcpEvent, DlcpAction>[] = [];
  const done = new Promise<void>((resolve) => {
    const open = async (self: number): Promise<void> => {
      const remote = await fabric.openPort(endpoint(self).ip);
      const host = await UdpHost.open(new DlcpHost(job, self, { lineRate: 2e8 }), {
        remote,
        faults: { loss: 0.1, random: seededRandom(self + 1) },
        onError: (error) => errors.push(error),
        onAction: (action) => {
          if (action.type === "error") errors.push(action.error);
          if (action.type === "received") arrived.push(action);
          if (arrived.length === 2) resolve();
        },
      });
      closing.push(() => host.close());
      fabric.attach(endpoint(self).ip, host.local);
      hosts.push(host);
    };
    void open(0)
      .then(() => open(1))
      .then(() => {
        for (const [tensor, { elements }] of job.tensors.entries()) {
          const values = Float32Array.from({ length: elements }, (_, i) => i + tensor);
          hosts[0]?.dispatch({ type: "send", to: 1, tensor, values });
        }
      });
  });
  await done;
  expect(errors).toEqual([]);
  for (const { tensor, values, lost } of arrived) {
    const missing = lost.reduce((sum, { count }) => sum + count, 0);
    expect(missing).toBeLessThanOrEqual((job.tensors[tensor]?.bound ?? 0) * values.length);
    expect(values.filter((v, i) => v !== i + tensor && v !== 0).length).toBe(0);
    if (tensor === 1) expect(values).toEqual(Float32Array.from({ length: 20_000 }, (_, i) => i + 1));
  }
});

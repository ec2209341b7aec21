import { existsSync, readdirSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { UdpHost } from "../../src/host/udp.ts";

type Action = { readonly type: "told"; readonly number: number };

/** Tells three things whenever something happens. */
const machine = {
  wakeAt: Number.POSITIVE_INFINITY,
  handle: (): readonly Action[] => [1, 2, 3].map((number) => ({ type: "told", number })),
};

test("an application that fails at one action still hears of the others, and the host goes on", async () => {
  const told: number[] = [];
  const errors: unknown[] = [];
  const host = await UdpHost.open(machine, {
    remote: { address: "127.0.0.1", port: 9 },
    onAction: ({ number }: Action) => {
      told.push(number);
      if (number !== 3) throw new Error(`no ${number}`);
    },
    onError: (error) => errors.push(error),
  });
  onTestFinished(() => host.close());
  for (let i = 0; i < 2; i++) host.dispatch({ type: "anything" });
  expect(told).toEqual([1, 2, 3, 1, 2, 3]);
  expect(errors.map(String)).toEqual(["Error: no 1", "Error: no 2", "Error: no 1", "Error: no 2"]);
});

test("a host that cannot have its port leaves no socket behind", async () => {
  const options = {
    remote: { address: "127.0.0.1", port: 9 },
    onAction: () => {},
    onError: () => {},
  };
  const host = await UdpHost.open(machine, options);
  onTestFinished(() => host.close());
  const open = () => (existsSync("/proc/self/fd") ? readdirSync("/proc/self/fd").length : 0);
  const before = open();
  for (let i = 0; i < 50; i++)
    await expect(UdpHost.open(machine, { ...options, local: host.local })).rejects.toMatchObject({
      code: "EADDRINUSE",
    });
  await expect.poll(open).toBeLessThan(before + 20);
});

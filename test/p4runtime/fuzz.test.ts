import { expect, it } from "vitest";
import { P4RuntimeServer } from "../../src/switch/p4runtime/server.ts";
import { EmbeddedSwitchTarget, ioOf } from "../../src/switch/p4runtime/switch-target.ts";
import { SwitchRunner } from "../../src/switch/ports/switch-runner.ts";
import { Switch } from "../../src/switch/switch.ts";
import { MessageFuzzer } from "../switch/fuzz/messages.ts";
import { fuzzedPrograms } from "../switch/fuzz/programs.ts";
import { stopAfterTest } from "./bench.ts";

it("random and damaged messages are all answered, and never with a fault of the switch", {
  timeout: 120_000,
}, async () => {
  const cpuPort = 510;
  const sw = new Switch(undefined, { cpuPort, ports: [0, 1, 2, 3, cpuPort] });
  const runner = new SwitchRunner(sw);
  stopAfterTest(() => runner.close());
  const target = new EmbeddedSwitchTarget(sw, ioOf(runner));
  const server = await P4RuntimeServer.start({ target, address: "127.0.0.1:0" });
  stopAfterTest(() => server.close());
  const seed = Date.now() % 1_000_000;
  const { messages, outcomes, faults } = await new MessageFuzzer(server.address, fuzzedPrograms(1), seed).run(
    600,
  );
  expect(faults, `seed ${seed}`).toEqual([]);
  expect(messages).toBeGreaterThanOrEqual(600);
  expect(outcomes.get("Write OK") ?? 0).toBeGreaterThan(5);
});

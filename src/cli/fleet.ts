import { type Difference, isApplied } from "../controller/diff.ts";
import { readDrops } from "../controller/drops.ts";
import { IntentBook } from "../controller/intent.ts";
import { NO_OUTAGE } from "../controller/paths.ts";
import { describePlan, type Plan, planOf } from "../controller/plan.ts";
import { applyPlan, readDifference } from "../controller/reconcile.ts";
import type { ControllerState } from "../controller/statefile.ts";
import type { SwitchNode } from "../controller/topology.ts";
import { cookieOf, describeEntity, P4RuntimeClient, P4RuntimeError } from "../p4runtime/index.ts";
import { EnvironmentError, UserError } from "./exit.ts";
import type { Network } from "./network.ts";
import { loadNetwork, reportingNetwork } from "./network.ts";
import { aligned } from "./p4rt/lines.ts";
import { secretOf } from "./p4rt/target.ts";
import { Progress } from "./progress.ts";
import { parse, type Verb, wholeNumber } from "./verb.ts";

const OPTIONS = {
  topology: { type: "string" },
  state: { type: "string" },
  on: { type: "string", multiple: true },
  timeout: { type: "string", default: "2000" },
  json: { type: "boolean", default: false },
} as const;

const OPTIONS_HELP = `  --topology FILE   switches, hosts, links and program, in YAML
  --state FILE      the controller's state; default: beside the topology
  --on SWITCH       only this switch; may be repeated
  --timeout MS      for connecting to a switch, default 2000
  --json            one JSON object a line`;

/** What was found on a switch, or why nothing was. */
type Finding =
  | {
      readonly kind: "read";
      readonly client: P4RuntimeClient;
      readonly difference: Difference;
      readonly plan: Plan;
    }
  | { readonly kind: "otherProgram"; readonly client: P4RuntimeClient; readonly cookie: bigint | undefined }
  | { readonly kind: "failed"; readonly reason: string };

interface Work {
  readonly network: Network;
  readonly state: ControllerState;
  readonly book: IntentBook;
  readonly switches: readonly SwitchNode[];
  readonly timeout: number;
}

async function workOf(
  verb: string,
  values: {
    readonly topology?: string | undefined;
    readonly state?: string | undefined;
    readonly on?: readonly string[] | undefined;
    readonly timeout: string;
  },
  change: (state: ControllerState, network: Network) => ControllerState = (state) => state,
): Promise<Work> {
  const network = await loadNetwork(values.topology, verb, values.state);
  const { topology, aggregation, room, everywhere, own } = network;
  const on = values.on ?? [];
  const unknown = on.find((name) => !topology.switches.some((s) => s.name === name));
  if (unknown !== undefined) throw new UserError(`--on: ${unknown} is not a switch of ${network.path}`);
  const state = change(await network.state.load(), network);
  const book = new IntentBook({
    topology,
    outage: { ...NO_OUTAGE, drained: new Set(state.drained) },
    placements: state.placements,
    everywhere,
    own,
    ...(aggregation === undefined ? {} : { aggregation }),
    ...(room === undefined ? {} : { room }),
  });
  const switches = topology.switches.filter((s) => on.length === 0 || on.includes(s.name));
  return { network, state, book, switches, timeout: wholeNumber("timeout", values.timeout, 1, 600_000) };
}

/** Switches that are talked to at the same time. */
const AT_ONCE = 16;

/** Does the same for each switch, some at a time, and gives what came of it in the topology's order. */
async function* eachSwitch<T>(
  { switches }: Work,
  what: (node: SwitchNode) => Promise<T>,
): AsyncGenerator<readonly [SwitchNode, T]> {
  const begun: { readonly node: SwitchNode; readonly outcome: Promise<T> }[] = [];
  const begin = (node: SwitchNode | undefined): void => {
    if (node === undefined) return;
    const outcome = what(node);
    // Who fails before it is its turn is heard then.
    outcome.catch(() => {});
    begun.push({ node, outcome });
  };
  const waiting = switches.values();
  for (let i = 0; i < AT_ONCE; i++) begin(waiting.next().value);
  for (let first = begun.shift(); first !== undefined; first = begun.shift()) {
    const outcome = await first.outcome;
    begin(waiting.next().value);
    yield [first.node, outcome];
  }
}

async function find(work: Work, node: SwitchNode, undoDrift: boolean): Promise<Finding> {
  const { network, book } = work;
  const until = performance.now() + work.timeout;
  const timeout = (): number => Math.max(1, until - performance.now());
  let client: P4RuntimeClient | undefined;
  try {
    client = await P4RuntimeClient.connect(
      { address: node.target, deviceId: node.deviceId, ...(node.tls === undefined ? {} : { tls: node.tls }) },
      { timeout: timeout() },
    );
    const { p4info, deviceConfig } = network.loadable;
    // One answer by the server may come from somebody who answers nothing else.
    const cookie = await client.getCookie({ timeout: timeout() });
    if (cookie !== cookieOf(p4info, deviceConfig)) return { kind: "otherProgram", client, cookie };
    const schema = await client.useProgram(p4info);
    const intent = book.intentOf(node.name, schema, client.apiVersion);
    const difference = await readDifference(client, intent);
    const plan = planOf(difference, schema, { undoDrift, tableRank: intent.tableRank });
    return { kind: "read", client, difference, plan };
  } catch (error) {
    await client?.close();
    if (error instanceof P4RuntimeError) return { kind: "failed", reason: error.message };
    throw error;
  }
}

/** Becomes primary for one verb. A controller that is at work is not pushed aside by accident. */
async function takeOver(
  client: P4RuntimeClient,
  node: SwitchNode,
  work: Work,
  force: boolean,
): Promise<void> {
  const { timeout } = work;
  const before = await client.arbitrate(undefined, { timeout });
  if (before.hasPrimary && !force)
    throw new EnvironmentError(
      `${node.name} (${node.target}) has a controller already (election id ${before.highestElectionId}); ask that one, or give --take-over`,
    );
  const least = BigInt(Date.now());
  const highest = before.highestElectionId ?? 0n;
  const state = await client.arbitrate(least > highest ? least : highest + 1n, { timeout });
  if (!state.isPrimary)
    throw new EnvironmentError(`${node.name} (${node.target}): another controller was quicker`);
}

export const diff: Verb = {
  help: `Usage: gradplane diff --topology FILE [--undo-drift] [--json]

Reads the switches and prints what apply would write, and drift: what somebody else wrote. Changes nothing.
Exits with 0 when there is nothing to do, else with 1.

  --undo-drift      count drift as something to do
${OPTIONS_HELP}

Example:
  gradplane diff --topology network.yaml`,
  async run(args) {
    const { values } = parse("diff", args, { ...OPTIONS, "undo-drift": { type: "boolean", default: false } });
    await reportingNetwork(async () => {
      const work = await workOf("diff", values);
      let isClean = true;
      let hasFailed = false;
      for await (const [node, found] of eachSwitch(work, (node) => find(work, node, values["undo-drift"]))) {
        if (found.kind === "read" && found.plan.updates === 0) {
          print(values.json, node, found, []);
        } else {
          isClean = false;
          hasFailed ||= found.kind === "failed";
          print(values.json, node, found, planLines(found));
        }
        if (found.kind !== "failed") await found.client.close();
      }
      process.exitCode = hasFailed ? 2 : isClean ? 0 : 1;
    });
  },
};

function planLines(found: Finding): readonly string[] {
  return found.kind === "read" ? describePlan(found.plan, found.client.schema) : [];
}

function print(json: boolean, node: SwitchNode, found: Finding, plan: readonly string[]): void {
  if (json) {
    process.stdout.write(`${JSON.stringify({ switch: node.name, ...summary(found), plan })}\n`);
    return;
  }
  process.stdout.write(`${node.name}: ${words(found)}\n`);
  for (const line of plan) process.stdout.write(`  ${line}\n`);
  if (found.kind === "read")
    for (const entity of found.difference.foreign)
      process.stdout.write(`  drift: ${describeEntity(entity, found.client.schema)}\n`);
}

function summary(found: Finding): object {
  switch (found.kind) {
    case "failed":
      return { reachable: false, reason: found.reason };
    case "otherProgram":
      return { reachable: true, program: false, cookie: found.cookie?.toString() };
    case "read": {
      const { missing, changed, stale, foreign, same } = found.difference;
      return {
        reachable: true,
        program: true,
        same,
        missing: missing.length,
        changed: changed.length,
        stale: stale.length,
        drift: foreign.length,
      };
    }
  }
}

function words(found: Finding): string {
  switch (found.kind) {
    case "failed":
      return found.reason;
    case "otherProgram":
      return found.cookie === undefined
        ? "has no program: apply loads it"
        : "has another program: apply loads this one";
    case "read": {
      const { missing, changed, stale, foreign, same } = found.difference;
      const drift = foreign.length === 0 ? "" : `, ${foreign.length} of somebody else`;
      if (isApplied(found.difference)) return `as wanted, ${same} entries${drift}`;
      return `${missing.length} missing, ${changed.length} different, ${stale.length} not wanted any more, ${same} as wanted${drift}`;
    }
  }
}

export const apply: Verb = {
  help: `Usage: gradplane apply --topology FILE [--dry-run] [--undo-drift] [--take-over] [--json]

Makes the switches what the topology and its program say, and writes only the difference: first what is new, then what
goes. A switch with another program gets this one. Run again after any failure, it goes on where it stopped.

  --dry-run         print the plan and change nothing
  --undo-drift      delete what somebody else wrote
  --take-over       even if another controller is primary
${OPTIONS_HELP}

Example:
  gradplane apply --topology network.yaml --dry-run`,
  async run(args) {
    const { values } = parse("apply", args, {
      ...OPTIONS,
      "dry-run": { type: "boolean", default: false },
      "undo-drift": { type: "boolean", default: false },
      "take-over": { type: "boolean", default: false },
    });
    await reportingNetwork(async () => {
      const work = await workOf("apply", values);
      await applyAll(work, {
        dryRun: values["dry-run"],
        undoDrift: values["undo-drift"],
        force: values["take-over"],
        json: values.json,
      });
    });
  },
};

interface ApplyOptions {
  readonly dryRun: boolean;
  readonly undoDrift: boolean;
  readonly force: boolean;
  readonly json: boolean;
}

async function applyAll(work: Work, options: ApplyOptions): Promise<void> {
  const failures: string[] = [];
  const progress = new Progress();
  for await (const [node, outcome] of eachSwitch(work, (node) => applyOne(work, node, options, progress))) {
    progress.clear();
    if (outcome.kind === "failed") failures.push(`${node.name}: ${outcome.reason}`);
    else if (outcome.kind === "written") process.stdout.write(`${outcome.line}\n`);
    else {
      print(options.json, node, outcome.found, planLines(outcome.found));
      await outcome.found.client.close();
    }
  }
  if (failures.length > 0) throw new EnvironmentError(failures.join("\n"));
}

type Applied =
  | { readonly kind: "failed"; readonly reason: string }
  | { readonly kind: "written"; readonly line: string }
  /** What would be written. */
  | { readonly kind: "planned"; readonly found: Exclude<Finding, { readonly kind: "failed" }> };

async function applyOne(
  work: Work,
  node: SwitchNode,
  options: ApplyOptions,
  progress: Progress,
): Promise<Applied> {
  let found = await find(work, node, options.undoDrift);
  if (found.kind === "failed") return found;
  if (options.dryRun) return { kind: "planned", found };
  const { client } = found;
  try {
    let pushed = false;
    if (found.kind === "otherProgram" || found.plan.updates > 0)
      await takeOver(client, node, work, options.force);
    if (found.kind === "otherProgram") {
      progress.show(`${node.name}: loading the program`);
      await client.pushPipeline(work.network.loadable.p4info, work.network.loadable.deviceConfig);
      pushed = true;
      const schema = client.schema;
      const intent = work.book.intentOf(node.name, schema, client.apiVersion);
      const difference = await readDifference(client, intent);
      const plan = planOf(difference, schema, { undoDrift: options.undoDrift, tableRank: intent.tableRank });
      found = { kind: "read", client, difference, plan };
    }
    const { plan, difference } = found;
    await applyPlan(client, plan, {
      onProgress: (done, all) => progress.show(`${node.name}: ${done} of ${all} updates`),
    });
    const drift = options.undoDrift ? 0 : difference.foreign.length;
    const figures = { switch: node.name, pushed, written: plan.updates, drift };
    const line = options.json
      ? JSON.stringify(figures)
      : `${node.name}: ${pushed ? "program loaded, " : ""}${plan.updates} ${plan.updates === 1 ? "update" : "updates"} written${drift === 0 ? "" : `, ${drift} entries of somebody else left`}`;
    return { kind: "written", line };
  } catch (error) {
    if (error instanceof P4RuntimeError || error instanceof EnvironmentError)
      return { kind: "failed", reason: error.message };
    throw error;
  } finally {
    await client.close();
  }
}

export const status: Verb = {
  help: `Usage: gradplane status --topology FILE [--json]

For each switch: whether it answers, who is its controller, its program, and how far it is from what is wanted; and the
packets that it has dropped, by reason, where its program counts them (telemetry).

${OPTIONS_HELP}

Example:
  gradplane status --topology network.yaml`,
  async run(args) {
    const { values } = parse("status", args, OPTIONS);
    await reportingNetwork(async () => {
      const work = await workOf("status", values);
      const rows: (readonly string[])[] = [["switch", "address", "server", "controller", "state"]];
      const dropped: (readonly [string, ReadonlyMap<string, bigint>])[] = [];
      let hasFailed = false;
      for await (const [node, found] of eachSwitch(work, (node) => find(work, node, false))) {
        hasFailed ||= found.kind === "failed";
        const drained = work.state.drained.includes(node.name);
        if (found.kind === "failed") {
          if (values.json) print(true, node, found, []);
          else rows.push([node.name, node.target, "-", "-", found.reason]);
          continue;
        }
        const { client } = found;
        const arbitration = await client
          .arbitrate(undefined, { timeout: work.timeout })
          .catch(() => undefined);
        const drops = await readDrops(client).catch(() => undefined);
        const controller = arbitration === undefined ? "?" : arbitration.hasPrimary ? "yes" : "none";
        if (values.json)
          process.stdout.write(
            `${JSON.stringify({ switch: node.name, address: node.target, p4runtime: client.apiVersion, controller: arbitration?.hasPrimary, drained, ...summary(found), ...(drops === undefined ? {} : { drops: Object.fromEntries([...drops].map(([reason, n]) => [reason, Number(n)])) }) })}\n`,
          );
        else
          rows.push([
            node.name,
            node.target,
            `P4Runtime ${client.apiVersion}`,
            controller,
            `${drained ? "drained, " : ""}${words(found)}`,
          ]);
        if (drops !== undefined && drops.size > 0) dropped.push([node.name, drops]);
        await client.close();
      }
      if (!values.json) {
        for (const line of aligned(rows)) process.stdout.write(`${line.trimStart()}\n`);
        for (const [name, drops] of dropped) {
          process.stdout.write(`\npackets dropped by ${name}\n`);
          const reasons = [...drops].map(([reason, packets]) => [reason, `${packets}`]);
          for (const line of aligned(reasons)) process.stdout.write(`${line}\n`);
        }
      }
      if (hasFailed) process.exitCode = 2;
    });
  },
};

/** Asks the controller that steers. @throws UserError, EnvironmentError */
async function askController(
  address: string,
  what: "drain" | "restore",
  name: string,
  token: string,
  timeout: number,
): Promise<void> {
  const url = `http://${address}/${what}/${encodeURIComponent(name)}`;
  let response: Response;
  let text: string;
  try {
    const headers = { authorization: `Bearer ${token}` };
    response = await fetch(url, { method: "POST", headers, signal: AbortSignal.timeout(timeout) });
    text = (await response.text()).trim();
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new EnvironmentError(`the controller at ${address} cannot be asked: ${reason}`);
  }
  if (response.ok) return;
  if (response.status === 400) throw new UserError(text);
  throw new EnvironmentError(`the controller at ${address} refuses: ${text}`);
}

export const drain: Verb = {
  help: `Usage: gradplane drain SWITCH ... --topology FILE [--restore] [--take-over] [--json]

Keeps traffic off switches: other switches' paths avoid them where there is another way. That is remembered, until
--restore brings them back. A controller that runs is asked instead: name its page and give its token.

  --restore         take the switches into use again
  --controller ADDR HOST:PORT of the page of the controller that steers the switches; no --topology is needed
  --token-file FILE the token that it printed, or was given
  --take-over       even if another controller is primary
${OPTIONS_HELP}

Example:
  gradplane drain spine1 --topology network.yaml`,
  async run(args) {
    const { values, positionals } = parse("drain", args, {
      ...OPTIONS,
      restore: { type: "boolean", default: false },
      controller: { type: "string" },
      "token-file": { type: "string" },
      "take-over": { type: "boolean", default: false },
    });
    if (positionals.length === 0)
      throw new UserError("name a switch: gradplane drain SWITCH --topology FILE");
    if (values.controller !== undefined) {
      const token = values["token-file"] === undefined ? "" : secretOf(values["token-file"]);
      const timeout = wholeNumber("timeout", values.timeout, 1, 600_000);
      for (const name of positionals)
        await askController(values.controller, values.restore ? "restore" : "drain", name, token, timeout);
      return;
    }
    await reportingNetwork(async () => {
      const work = await workOf("drain", values, (state, { topology, path }) => {
        const unknown = positionals.find((name) => !topology.switches.some((s) => s.name === name));
        if (unknown !== undefined) throw new UserError(`${unknown} is not a switch of ${path}`);
        const others = state.drained.filter((name) => !positionals.includes(name));
        return { ...state, drained: values.restore ? others : [...others, ...positionals] };
      });
      await work.network.state.save(work.state);
      await applyAll(work, {
        dryRun: false,
        undoDrift: false,
        force: values["take-over"],
        json: values.json,
      });
    });
  },
};

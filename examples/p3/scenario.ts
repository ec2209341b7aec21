/**
 * P3 between processes: each of a few machines is a process that works and serves, on one switch that runs the program beside this file. Every machine
 * trains the same model by P3, by slices in order of coming and layer by layer; the parameters are compared bit by bit with those of a serial
 * run.
 *
 *   gradplane run examples/p3/scenario.ts --machines 4 --loss 0.02
 */
import type { HostContext } from "gradplane/cli/run";
import { scenario } from "gradplane/cli/run";
import { seededRandom } from "gradplane/host/libra";
import {
  cutModel,
  type Discipline,
  FixedWindow,
  type HostMachine,
  LAYERS,
  meanDescent,
  P3,
  type P3Job,
  P3Server,
  type P3ServerAction,
  type P3ServerEvent,
  P3Worker,
  type P3WorkerAction,
  type P3WorkerEvent,
  SharedHost,
  SLICES_ONLY,
  UdpHost,
} from "gradplane/host/p3";
import { endpointOf, Failures, nowhere, star } from "../star.ts";
import p3Program from "./program.ts";

type DisciplineName = "P3" | "slices" | "layers";

const DISCIPLINES: Readonly<Record<DisciplineName, Discipline>> = {
  P3: { ...P3, limit: 500 },
  slices: { ...SLICES_ONLY, limit: 500 },
  layers: { ...LAYERS, limit: 5000 },
};

/** Parameters of the layers, from the front; the last but one is much larger than the others, as in VGG. */
const LAYER_SIZES = [500, 500, 1000, 1000, 10_000, 1500];
const RATE = 0.1;
/** For processes that a busy machine may let wait: patient, and with few packets under way. */
const OPTIONS = {
  ...{ minTimeout: 50, maxTimeout: 2000, retries: 60, silence: 60_000, switchPriority: true },
  control: () => new FixedWindow(8),
};

interface Settings {
  readonly machine: number;
  readonly machines: number;
  readonly discipline: DisciplineName;
  readonly iterations: number;
  readonly loss: number;
  readonly seed: number;
}

/** What a machine tells in the end: its slices by their number, and when front and back layers were updated. */
interface Told {
  readonly slices: readonly { readonly number: number; readonly parameters: Float32Array }[];
  readonly milliseconds: number;
  /** Mean time from the gradient of the first layer, which comes last, to its update. */
  readonly frontWaits: number;
}

function jobOf(machines: number, discipline: DisciplineName): P3Job {
  const endpoints = Array.from({ length: machines }, (_, i) => endpointOf(i));
  return {
    ...{ job: 1, workers: endpoints, servers: endpoints, layers: LAYER_SIZES },
    discipline: DISCIPLINES[discipline],
  };
}

function gradientOf(machine: number, iteration: number, layer: number): Float32Array {
  const random = seededRandom(machine * 10_007 + iteration * 101 + layer);
  return Float32Array.from({ length: LAYER_SIZES[layer] ?? 0 }, () => random() - 0.5);
}

async function machine({ settings, tell, heard }: HostContext): Promise<void> {
  // The scenario below is all that starts this.
  const { machine, machines, discipline, iterations, loss, seed } = settings as Settings;
  const job = jobOf(machines, discipline);
  const initial = LAYER_SIZES.map((n) => new Float32Array(n));
  const server = new P3Server(job, machine, initial, meanDescent(RATE), OPTIONS);
  const worker = new P3Worker(job, machine, OPTIONS);
  const both: readonly HostMachine<P3WorkerEvent | P3ServerEvent, P3WorkerAction | P3ServerAction>[] = [
    worker,
    server,
  ];
  const updated: (() => void)[] = [];
  const failures = new Failures();
  const host = await UdpHost.open(new SharedHost(endpointOf(machine).number, both), {
    remote: nowhere,
    faults: { loss, random: seededRandom(seed * 1000 + machine) },
    onError: failures.fail,
    onAction: ({ what }) => {
      if (what.type === "error") failures.fail(what.error);
      if (what.type === "updated" && "layer" in what) updated[what.layer]?.();
    },
  });
  tell(host.local.port);
  host.plug((await heard()) as typeof nowhere);
  const start = performance.now();
  let waited = 0;
  for (let iteration = 0; iteration < iterations; iteration++) {
    // Backward: the gradient of the last layer comes first. Forward needs the first layer first.
    const there = LAYER_SIZES.map(
      (_, layer) =>
        new Promise<void>((resolve) => {
          updated[layer] = resolve;
        }),
    );
    for (let layer = LAYER_SIZES.length - 1; layer >= 0; layer--)
      host.dispatch({
        ...{ type: "of", machine: 0 },
        what: { type: "gradient", layer, values: gradientOf(machine, iteration, layer) },
      });
    const given = performance.now();
    await failures.during(there[0] ?? Promise.resolve());
    waited += performance.now() - given;
    await failures.during(Promise.all(there));
  }
  const slices = cutModel(LAYER_SIZES, machines, DISCIPLINES[discipline]).flatMap(({ number }) => {
    const parameters = server.parametersOf(number);
    return parameters === undefined ? [] : [{ number, parameters }];
  });
  tell({ slices, milliseconds: performance.now() - start, frontWaits: waited / iterations } satisfies Told);
  // Others may still want to hear what they have heard.
  await heard();
  await host.close();
}

/** The same training without a network. */
function serially(machines: number, iterations: number): readonly Float32Array[] {
  const parameters = LAYER_SIZES.map((n) => new Float32Array(n));
  for (let iteration = 0; iteration < iterations; iteration++)
    for (const [layer, values] of parameters.entries()) {
      const sum = gradientOf(0, iteration, layer);
      for (let other = 1; other < machines; other++)
        for (const [i, g] of gradientOf(other, iteration, layer).entries()) sum[i] = (sum[i] ?? 0) + g;
      const slice = { number: 0, layer, offset: 0, count: values.length, server: 0 };
      meanDescent(RATE)(values, sum, { slice, iteration, workers: machines });
    }
  return parameters;
}

export default scenario({
  name: "p3",
  summary: "training with workers and servers on the same machines, by P3, by slices and by layers",
  options: {
    machines: { help: "processes that work and serve, 2 to 8", default: "3" },
    iterations: { help: "iterations, 1 to 100", default: "4" },
    loss: { help: "probability that a frame is lost on a link", default: "0" },
    seed: { help: "seed of the faults", default: "1" },
  },
  hosts: { machine },
  async run(context) {
    const machines = context.whole("machines", 2, 8);
    const iterations = context.whole("iterations", 1, 100);
    const loss = context.fraction("loss");
    const seed = context.whole("seed", 0, 2 ** 31 - 1);
    const wanted = serially(machines, iterations);
    const rows = [];
    for (const discipline of ["layers", "slices", "P3"] as const) {
      context.progress.show(`${discipline}: starting`);
      const hosts = Array.from({ length: machines }, (_, i) =>
        context.startHost("machine", {
          ...{ machine: i, machines, discipline, iterations, loss, seed },
        } satisfies Settings),
      );
      const fleet = await star(context, p3Program, hosts);
      context.progress.show(`${discipline}: ${iterations} iterations`);
      const told = (await Promise.all(hosts.map((host) => host.heard()))) as readonly Told[];
      for (const host of hosts) host.tell("done");
      await fleet.close();
      const cuts = cutModel(LAYER_SIZES, machines, DISCIPLINES[discipline]);
      const found = told.flatMap((t) => t.slices);
      const wrong = cuts.filter(({ number, layer, offset, count }) => {
        const values = found.find((f) => f.number === number)?.parameters;
        const expected = wanted[layer]?.subarray(offset, offset + count);
        return !expected?.every((v, i) => Object.is(v, values?.[i]));
      }).length;
      rows.push({
        ...{ discipline, slices: cuts.length, wrong },
        milliseconds: Math.max(...told.map((t) => t.milliseconds)),
        frontWaits: Math.max(...told.map((t) => t.frontWaits)),
      });
    }
    const isExact = rows.every((row) => row.wrong === 0);
    return {
      passed: isExact,
      table: rows.map((r) => [
        r.discipline,
        `${r.slices} slices, ${iterations} iterations in ${r.milliseconds.toFixed(0)} ms; the first layer waits ${r.frontWaits.toFixed(0)} ms for its update`,
      ]),
      verdict: `parameters after ${iterations} iterations are ${isExact ? "bit-identical to" : "NOT"} those of a serial run in all three disciplines`,
      data: { options: context.options, rows },
    };
  },
});

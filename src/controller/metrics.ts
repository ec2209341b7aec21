import type { Fleet } from "./fleet.ts";

/** One family of figures, with the labels of each. */
interface Family {
  readonly name: string;
  readonly type: "gauge" | "counter";
  readonly help: string;
  readonly values: readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[];
}

/** Figures for Prometheus, in its text format. */
export function metricsOf(fleet: Pick<Fleet, "status" | "linkStates" | "jobStates">): string {
  return families(fleet)
    .map(
      ({ name, type, help, values }) =>
        `# HELP gradplane_${name} ${help}\n# TYPE gradplane_${name} ${type}\n${values
          .map(([labels, value]) => `gradplane_${name}{${labelsOf(labels)}} ${value}\n`)
          .join("")}`,
    )
    .join("");
}

function families(fleet: Pick<Fleet, "status" | "linkStates" | "jobStates">): readonly Family[] {
  const switches = fleet.status();
  const jobs = fleet.jobStates();
  const ofSwitches = (
    name: string,
    type: Family["type"],
    help: string,
    value: (s: (typeof switches)[number]) => number,
  ): Family => ({ name, type, help, values: switches.map((s) => [{ switch: s.name }, value(s)]) });
  const ofJobs = (
    name: string,
    help: string,
    value: (job: (typeof jobs)[number]) => number | undefined,
  ): Family => ({
    name,
    type: "gauge",
    help,
    values: jobs.flatMap((job): Family["values"] => {
      const figure = value(job);
      return figure === undefined ? [] : [[{ job: job.name }, figure]];
    }),
  });
  const isThere = (state: string): boolean => state === "present";
  return [
    ofSwitches("switch_ready", "gauge", "1: connected, primary, as wanted", (s) =>
      s.state.kind === "ready" ? 1 : 0,
    ),
    ofSwitches("switch_drained", "gauge", "1: kept empty", (s) => (s.isDrained ? 1 : 0)),
    ofSwitches("switch_entries", "gauge", "entities that are wanted", (s) =>
      s.state.kind === "ready" ? s.state.entries : 0,
    ),
    ofSwitches("switch_connects_total", "counter", "connections that came about", (s) => s.connects),
    ofSwitches("updates_written_total", "counter", "updates that the switch took", (s) => s.updates),
    ofSwitches("repairs_failed_total", "counter", "repairs that failed", (s) => s.failures),
    ofSwitches("drift_entities", "gauge", "entities of somebody else", (s) => s.drift),
    {
      name: "link_up",
      type: "gauge",
      help: "1: probes pass in both directions",
      values: fleet
        .linkStates()
        .flatMap(({ name, isUp }): Family["values"] =>
          isUp === undefined ? [] : [[{ link: name }, isUp ? 1 : 0]],
        ),
    },
    ofJobs("job_round", "the round that is open", (job) => job.openRound),
    ofJobs("job_rounds_per_second", "over the last ten seconds", (job) => job.roundsPerSecond),
    ofJobs("job_slots", "slots that it has on a switch", (job) => (job.on === undefined ? 0 : job.rows)),
    ofJobs("job_generation", "how often it has been placed", (job) => job.generation),
    ofJobs("job_workers_present", "workers that live", (job) =>
      job.members.slice(1).reduce((n, { state }) => n + (isThere(state) ? 1 : 0), 0),
    ),
  ];
}

function labelsOf(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${value.replace(/[\\"\n]/g, (c) => (c === "\n" ? "\\n" : `\\${c}`))}"`)
    .join(",");
}

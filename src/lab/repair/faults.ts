/** What goes wrong. */
export type Fault =
  | { readonly kind: "link"; readonly ends: readonly [string, string] }
  /** `power`: nobody is told. `process`: its machine closes the connections. */
  | { readonly kind: "switch"; readonly name: string; readonly how: "power" | "process" }
  /** The next one finds out by its lease, and goes on. */
  | { readonly kind: "controller" }
  | { readonly kind: "worker"; readonly host: string };

/** Faults that happen in the same moment, and how long the network is watched afterwards. */
export interface RepairCase {
  readonly name: string;
  readonly title: string;
  readonly faults: readonly Fault[];
  /** Milliseconds. */
  readonly watch: number;
}

const link = (a: string, b: string): Fault => ({ kind: "link", ends: [a, b] });
const dies = (name: string, how: "power" | "process"): Fault => ({ kind: "switch", name, how });

/** The job is on spine1, its server at leaf4; there is a worker at every leaf. */
export const REPAIR_CASES: readonly RepairCase[] = [
  { name: "link", title: "a link is cut", faults: [link("leaf2", "spine2")], watch: 1500 },
  {
    name: "job-link",
    title: "a link of the job's switch is cut",
    faults: [link("leaf2", "spine1")],
    watch: 1500,
  },
  { name: "spine", title: "a spine loses its power", faults: [dies("spine3", "power")], watch: 8000 },
  {
    name: "job-spine",
    title: "the job's spine loses its power",
    faults: [dies("spine1", "power")],
    watch: 8000,
  },
  {
    name: "job-process",
    title: "the process of the job's spine ends",
    faults: [dies("spine1", "process")],
    watch: 1500,
  },
  {
    name: "controller",
    title: "the controller ends by force",
    faults: [{ kind: "controller" }],
    watch: 6000,
  },
  { name: "worker", title: "a worker ends by force", faults: [{ kind: "worker", host: "w2" }], watch: 6000 },
  {
    name: "two-links",
    title: "two links are cut",
    faults: [link("leaf1", "spine1"), link("leaf3", "spine2")],
    watch: 1500,
  },
  {
    name: "link-and-spine",
    title: "a link is cut, and the job's spine loses its power",
    faults: [link("leaf1", "spine2"), dies("spine1", "power")],
    watch: 8000,
  },
  {
    name: "controller-and-spine",
    title: "the controller and the job's spine lose their power",
    faults: [{ kind: "controller" }, dies("spine1", "power")],
    watch: 9000,
  },
  {
    name: "worker-and-spine",
    title: "a worker ends by force, and the job's spine loses its power",
    faults: [{ kind: "worker", host: "w1" }, dies("spine1", "power")],
    watch: 8000,
  },
];

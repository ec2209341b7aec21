import { idleAssignments, parametersIn } from "../../ir/check/liveness.ts";
import type { Expression, Program, StraightStatement, Table } from "../../ir/index.ts";
import { intrinsics, widthOf } from "../../ir/index.ts";
import { deep, expressionsOf, placedStatements } from "../../ir/walk.ts";
import { isBeyondHeader } from "./checksums.ts";
import { isSpelled, missing } from "./intrinsics.ts";
import { Layout } from "./layout.ts";
import { checkParserSteps } from "./parsersteps.ts";
import type { Refuse } from "./refuse.ts";

/** A port number of Tofino 1: pipe in bits 8..7, 0 to 71 within the pipe. */
function isDevicePort(port: number): boolean {
  return Number.isInteger(port) && port >= 0 && port < 512 && (port & 0x7f) < 72;
}

const SELECT_BITS = 32;

/** What can be said of a program before it is lowered. */
export function checkProgram(program: Program, refuse: Refuse): void {
  if (program.cpuPort !== undefined && !isDevicePort(program.cpuPort))
    refuse("GP1805", `the controller's port is ${program.cpuPort}`);
  for (const [s, place] of placedStatements(program)) {
    for (const e of expressionsOf(s))
      for (const n of deep(e)) {
        if (n.kind !== "intrinsic" || place.block === "parser" || isSpelled(n.name, place.block)) continue;
        refuse(
          "GP1804",
          `${n.name} (${intrinsics[n.name].doc}): ${missing[n.name] ?? `not in ${place.block}`}`,
          n.at ?? s.at,
        );
      }
    if (
      s.kind === "assign" &&
      s.target.kind === "intrinsic" &&
      s.target.name === "egress_port" &&
      s.value.kind === "constant"
    ) {
      const port = Number(s.value.value);
      if (port !== 511 && !isDevicePort(port)) refuse("GP1805", `port ${port}`, s.at);
    }
  }
  checkParserSteps(program, refuse);
  const layout = new Layout(program);
  for (const state of program.parser) {
    const t = state.transition;
    if (t.kind === "select") {
      const width = t.keys.reduce((sum, k) => sum + widthOf(k.type), 0);
      if (width > SELECT_BITS) refuse("GP1808", `state ${state.name} selects on ${width} bits`, state.at);
    }
    const next = t.kind === "goto" ? [t.next] : [...t.cases.map((c) => c.next), t.otherwise];
    if (next.includes("reject")) refuse("GP1814", `state ${state.name} rejects packets`, state.at);
  }
  for (const c of program.controls)
    for (const t of c.tables)
      for (const k of t.key) if (k.match === "range") checkRange(k.expression, t, layout, refuse);
  for (const c of program.checksums) {
    // Those are looked at where they are made incremental.
    if (isBeyondHeader(c)) continue;
    const type = program.headers.find((h) => h.name === c.header)?.headerType;
    const fields = program.headerTypes.find((t) => t.name === type)?.fields ?? [];
    const given = new Set(
      [...c.fields, c.target].map((e) => (e.kind === "field" && e.header === c.header ? e.field : "")),
    );
    const isWhole =
      fields.every((f) => given.has(f.name)) &&
      given.size === fields.length &&
      c.fields.length === fields.length - 1;
    if (!isWhole) refuse("GP1815", `the checksum of ${c.header} is not over all fields of that header`, c.at);
  }
}

/** Ranges are matched by groups of four bits in their containers, four of them for one key. */
const RANGE_GROUPS = 4;
const GROUP_BITS = 4;

function checkRange(e: Expression, table: Table, layout: Layout, refuse: Refuse): void {
  const width = widthOf(e.type);
  if (width > RANGE_GROUPS * GROUP_BITS)
    refuse("GP1864", `table ${table.name} matches a range of ${width} bits`, table.at);
  else if (startInGroup(e, layout) + width > RANGE_GROUPS * GROUP_BITS)
    refuse("GP1864", `a range of ${width} bits in table ${table.name} starts within four bits`, table.at);
}

/** Bits of the first group that are not the key's. */
function startInGroup(e: Expression, layout: Layout): number {
  const [place, low] = e.kind === "slice" ? [e.operand, e.low] : [e, 0];
  if (place.kind === "field") return (layout.shiftOf(place) + low) % GROUP_BITS;
  const width = widthOf(place.type);
  // Metadata of 16 bits or less get a container where the range needs that, and so do those of 32.
  if (width <= RANGE_GROUPS * GROUP_BITS) return 0;
  return width === 32 ? low % GROUP_BITS : GROUP_BITS - 1;
}

/**
 * Action profiles hold data of actions, so one of a table's actions has to have some. What is done with a parameter must come to
 * something, or the compiler takes it away.
 *
 * @param bridged metadata that outlive ingress
 */
export function checkProfiles(program: Program, bridged: readonly string[], refuse: Refuse): void {
  for (const c of program.controls) {
    const profiled = c.tables.filter((t) => t.implementation !== undefined);
    if (profiled.length === 0) continue;
    const lost = program.metadata
      .filter((m) => c.gress === "egress" || !bridged.includes(m.name))
      .map(({ name, type }): Expression => ({ kind: "metadata", name, type }));
    const idle: ReadonlySet<StraightStatement> = idleAssignments(program, c.gress, lost);
    const hasData = c.actions
      .filter((a) => a.body.some((s) => !idle.has(s) && parametersIn(s).length > 0))
      .map((a) => a.name);
    for (const t of profiled)
      if (!t.actions.some((a) => hasData.includes(a)))
        refuse(
          "GP1863",
          `no action of table ${t.name}, whose entries are in ${t.implementation}, makes use of data`,
          t.at,
        );
  }
}

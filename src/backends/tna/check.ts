import type { Program } from "../../ir/index.ts";
import { intrinsics, widthOf } from "../../ir/index.ts";
import { deep, expressionsOf, placedStatements } from "../../ir/walk.ts";
import { isBeyondHeader } from "./checksums.ts";
import { isSpelled, missing } from "./intrinsics.ts";
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
    for (const t of c.tables) {
      const hasData = c.actions.some((a) => t.actions.includes(a.name) && a.parameters.length > 0);
      if (t.implementation !== undefined && !hasData)
        refuse(
          "GP1863",
          `no action of table ${t.name}, whose entries are in ${t.implementation}, has data`,
          t.at,
        );
    }
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

import type { TraceEvent } from "./trace.ts";

/** One line for each step of a packet. */
export function traceText(events: readonly TraceEvent[]): string {
  return events.map((event) => `${traceLine(event)}\n`).join("");
}

export function traceLine(event: TraceEvent): string {
  switch (event.kind) {
    case "parserState":
      return `parser   ${event.name}`;
    case "parserError":
      return `parser   error ${event.error}`;
    case "condition":
      return `if       ${event.name}: ${event.result}`;
    case "table": {
      const args = event.parameters.map((value) => `0x${value.toString(16)}`).join(", ");
      const action = event.action === undefined ? "nothing" : `${event.action}(${args})`;
      const entry =
        event.hit && event.entry !== undefined ? `entry ${event.entry}` : event.hit ? "hit" : "miss";
      return `table    ${event.table}: ${entry}, ${action}`;
    }
    case "ingress":
      return `ingress  port ${event.port}, ${event.length} bytes${instance(event.instanceType)}`;
    case "egress":
      return `egress   port ${event.port}${instance(event.instanceType)}`;
    case "transmit":
      return `transmit port ${event.port}, ${event.length} bytes`;
    case "drop":
      return `drop     ${event.reason}`;
  }
}

/** As simple_switch numbers them. */
const instances = [
  "",
  "ingress clone",
  "egress clone",
  "coalesced",
  "recirculated",
  "replicated",
  "resubmitted",
];

function instance(type: number): string {
  return type === 0 ? "" : `, ${instances[type] ?? `instance type ${type}`}`;
}

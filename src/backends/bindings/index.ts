import type { P4Info } from "../../p4info/index.ts";
import { bindingsOf } from "./module.ts";
import { printModule } from "./print.ts";
import { boundProgram } from "./program.ts";

export interface BindingsOptions {
  /** Name of the program, for comments and the type of the bound client. */
  readonly name: string;
}

/**
 * A TypeScript module in which the objects of a program's control plane have types: tables with their match fields and actions, action
 * profiles, counters, meters, registers, digests, packet-in and packet-out. It imports `gradplane/p4runtime` and is used so:
 *
 * ```ts
 * import { bind } from "./libra.bindings.ts";
 *
 * const libra = bind(client); // a P4RuntimeClient
 * await libra.tables.forwarding.route.insert(
 *   { dst_addr: "10.0.0.0/8" },
 *   libra.actions.forwarding.to_port({ port: 5, dst_mac: "02:00:00:00:00:01" }),
 * );
 * ```
 *
 * The type checker knows names, what must be there (exact fields, all parameters, the priority where a table has one, and only there),
 * and which actions a table takes. Widths are checked at run time, with the name of the field in the error.
 *
 * Objects stand under the parts of their full names; match fields and parameters have their full names as keys. The same P4Info and name
 * give the same bytes.
 *
 * @throws BackendError when the P4Info contradicts itself or has a match kind of another architecture.
 */
export function bindingsModule(p4info: P4Info, options: BindingsOptions): string {
  return printModule(bindingsOf(boundProgram(p4info), options.name));
}

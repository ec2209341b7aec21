import { NO_ACTION, widthOf } from "../../../ir/index.ts";
import { BackendError } from "../../backenderror.ts";
import type { LoweredAction, LoweredControl } from "../lowered.ts";
import { ActionScope, type Parts, primitives } from "./actions.ts";
import type { JsonObject } from "./json.ts";

/** The actions of the program, with the numbers that tables refer to. */
export class Actions {
  readonly #list: JsonObject[] = [];
  readonly #ids = new Map<string, number>();

  add(name: string, data: readonly JsonObject[], body: readonly JsonObject[]): number {
    const id = this.#list.length;
    this.#list.push({ name, id, runtime_data: data, primitives: body });
    this.#ids.set(name, id);
    return id;
  }

  id(name: string): number {
    const found = this.#ids.get(name);
    if (found === undefined && name === NO_ACTION) return this.add(NO_ACTION, [], []);
    if (found === undefined) throw new BackendError("GP2001", "v1model", `the program has no action ${name}`);
    return found;
  }

  list(): readonly JsonObject[] {
    return this.#list;
  }
}

/** The JSON of a declared action. */
export function addAction(
  action: LoweredAction,
  control: LoweredControl,
  actions: Actions,
  parts: Parts,
): void {
  const scope = new ActionScope(control.gress, action.name, parts, action.parameters);
  const data = action.parameters.map((p) => ({ name: p.name, bitwidth: widthOf(p.type) }));
  actions.add(action.name, data, primitives(action.steps, scope));
}

import { SwitchConfigError } from "../bmv2json/config-error.ts";
import type { Block, Body, Control, Expression, GressSection, Statement } from "./document.ts";
import { textOf } from "./stateful-limits.ts";

/** A choice that a packet's way has made: which, and how it went. */
interface Choice {
  readonly of: string;
  readonly way: string;
}

interface Access {
  readonly register: string;
  readonly way: readonly Choice[];
  readonly path: string;
}

/**
 * Registers that a packet might meet twice in one pass, and of which only the packets can tell whether they do: they are watched while
 * packets pass. A second access on every way that has the first is refused here: a stateful ALU works once per packet.
 */
export function watchedRegisters(section: GressSection): ReadonlySet<string> {
  const accesses = new AccessWalk(section).all();
  const watched = new Set<string>();
  accesses.forEach((first, i) => {
    for (const second of accesses.slice(i + 1)) {
      if (second.register !== first.register || exclude(first.way, second.way)) continue;
      if (implies(first.way, second.way) || implies(second.way, first.way))
        throw new SwitchConfigError(
          "BAD_VALUE",
          second.path,
          `register ${second.register} is accessed a second time on one way through ${section.gress} (first at ${first.path}); ` +
            "Tofino has one access per register and pass",
        );
      watched.add(first.register);
    }
  });
  return watched;
}

/** No packet goes both ways: they part at some choice. */
function exclude(one: readonly Choice[], other: readonly Choice[]): boolean {
  return one.some((a) => other.some((b) => a.of === b.of && a.way !== b.way));
}

/** Every packet that goes the one way goes the other. */
function implies(one: readonly Choice[], other: readonly Choice[]): boolean {
  return other.every((b) => one.some((a) => a.of === b.of && a.way === b.way));
}

class AccessWalk {
  readonly #section: GressSection;
  readonly #found: Access[] = [];
  #tables = 0;

  constructor(section: GressSection) {
    this.#section = section;
  }

  all(): readonly Access[] {
    this.#block(this.#section.block, [], this.#section, undefined, 0);
    return this.#found;
  }

  #block(
    block: Block,
    way: readonly Choice[],
    body: Body,
    control: Control | undefined,
    depth: number,
  ): void {
    for (const s of block) this.#statement(s, way, body, control, depth);
  }

  #statement(
    s: Statement,
    way: readonly Choice[],
    body: Body,
    control: Control | undefined,
    depth: number,
  ): void {
    switch (s.kind) {
      case "if": {
        const { of, isOpposite } = choiceOf(s.condition);
        const [yes, no] = isOpposite ? ["no", "yes"] : ["yes", "no"];
        this.#block(s.whenTrue, [...way, { of, way: yes }], body, control, depth);
        this.#block(s.whenFalse, [...way, { of, way: no }], body, control, depth);
        return;
      }
      case "applyTable": {
        const table = control?.tables.find((t) => t.local === s.table);
        const of = `table ${s.table} ${this.#tables++}`;
        for (const { name } of table?.actions ?? []) this.#action(name, [...way, { of, way: name }], control);
        const result = `hit of ${of}`;
        this.#block(s.hit, [...way, { of: result, way: "hit" }], body, control, depth);
        this.#block(s.miss, [...way, { of: result, way: "miss" }], body, control, depth);
        return;
      }
      case "applyControl": {
        const name = body.instances.get(s.instance);
        const inner = this.#section.controls.find((c) => c.name === name);
        // Translation names what is wrong with a control that is not there, or that applies itself.
        if (inner !== undefined && depth < this.#section.controls.length + 1)
          this.#block(inner.block, way, inner, inner, depth + 1);
        return;
      }
      case "callAction": {
        const action = body.actions.find((a) => a.local === s.action);
        if (action !== undefined) this.#action(action.name, way, control);
        return;
      }
      case "steps":
      case "exit":
        return;
    }
  }

  #action(name: string, way: readonly Choice[], control: Control | undefined): void {
    const action = control?.actions.find((a) => a.name === name);
    for (const step of action?.steps ?? []) {
      if (step.kind !== "execute") continue;
      const local = action?.updates.find((u) => u.local === step.update)?.register;
      const register = control?.registers.find((r) => r.local === local)?.name;
      if (register !== undefined) this.#found.push({ register, way, path: step.path });
    }
  }
}

const OPPOSITES: ReadonlyMap<string, "==" | "<" | ">"> = new Map([
  ["!=", "=="],
  [">=", "<"],
  ["<=", ">"],
] as const);

/** A condition and its opposite are one choice. */
function choiceOf(e: Expression): { readonly of: string; readonly isOpposite: boolean } {
  if (e.kind === "unary" && e.operator === "!") {
    const inner = choiceOf(e.operand);
    return { ...inner, isOpposite: !inner.isOpposite };
  }
  const opposite = e.kind === "binary" ? OPPOSITES.get(e.operator) : undefined;
  if (e.kind === "binary" && opposite !== undefined)
    return { of: textOf({ ...e, operator: opposite }), isOpposite: true };
  return { of: textOf(e), isOpposite: false };
}

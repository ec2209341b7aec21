import type { Expression as EngineExpression, Primitive } from "../bmv2json/program.ts";
import { UNICAST_VALID } from "./architecture.ts";
import type { Target } from "./document.ts";
import { binary, constant, isPlace, place, type ValueScope } from "./values.ts";

/** The primitives of one action, in the making. */
export class Primitives {
  readonly list: Primitive[] = [];
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  add(op: string, ...parameters: readonly EngineExpression[]): void {
    this.list.push({ op, parameters, path: this.path });
  }

  assign(to: EngineExpression, from: EngineExpression): void {
    this.add("assign", to, from);
  }

  /** `if (condition) { whenTrue } else { whenFalse }`, by jumps as the engine knows them. */
  choose(condition: EngineExpression, whenTrue: () => void, whenFalse?: () => void): void {
    const at = this.list.length;
    this.add("_jump_if_zero", condition);
    whenTrue();
    const end = this.list.length;
    if (whenFalse === undefined) {
      this.#jump(at, [condition], end);
      return;
    }
    this.add("_jump");
    this.#jump(at, [condition], this.list.length);
    whenFalse();
    this.#jump(end, [], this.list.length);
  }

  #jump(at: number, parameters: readonly EngineExpression[], target: number): void {
    const jump = this.list[at];
    if (jump !== undefined)
      this.list[at] = { ...jump, parameters: [...parameters, constant(BigInt(target), this.path)] };
  }

  /** Writes a number to a place, or to bits of one. */
  store(target: Target, from: EngineExpression, scope: ValueScope): void {
    if (target.kind !== "slice") {
      this.assign(place(target, scope, true), from);
      if (target.kind === "architecture" && target.field === "ig_tm_md.ucast_egress_port")
        this.assign(scope.fields.ofArchitecture(UNICAST_VALID, true, target.path), constant(1n, target.path));
      return;
    }
    const whole = target.operand;
    if (!isPlace(whole)) return;
    const { path, high, low } = target;
    const to = place(whole, scope, true);
    const ones = (1n << BigInt(high - low + 1)) - 1n;
    const kept = binary(
      "&",
      to,
      constant(((1n << BigInt(whole.type.width)) - 1n) ^ (ones << BigInt(low)), path),
      path,
    );
    const cut = binary("&", from, constant(ones, path), path);
    const placed = low === 0 ? cut : binary("<<", cut, constant(BigInt(low), path), path);
    this.assign(to, binary("|", kept, placed, path));
  }

  /** The field that a unit of the engine can write for a target, and what brings it there afterwards. */
  through(target: Target, scope: ValueScope, unit: (into: EngineExpression) => void): void {
    const isDirect =
      target.kind !== "slice" &&
      !(target.kind === "architecture" && target.field === "ig_tm_md.ucast_egress_port");
    if (isDirect) {
      unit(place(target, scope, true));
      return;
    }
    const held = scope.fields.temporary({ kind: "bit", width: target.type.width });
    unit(held);
    this.store(target, held, scope);
  }
}

import type {
  Constant,
  Control,
  Expression,
  Hash,
  RegisterUpdate,
  StraightStatement,
  Target,
} from "../../ir/index.ts";
import { bit, hashAlgorithms, widthOf } from "../../ir/index.ts";
import { BackendError } from "../backenderror.ts";
import { type ControlIdentifiers, identifier } from "../p4text/identifiers.ts";
import { Names } from "../p4text/names.ts";
import { rewrite, some } from "../p4text/rewrite.ts";
import type { Local, Step, StoredTarget } from "./lowered.ts";
import type { Passes } from "./passes.ts";
import { asIndex, fromStorage, storageType, toStorage } from "./storage.ts";

/** Straight-line code of one scope: an action's body, or what stands in a control's apply. */
export class StraightLowering {
  readonly #owner: string;
  readonly #control: Control | undefined;
  readonly #own: ControlIdentifiers | undefined;
  readonly #names: Names | undefined;

  readonly #passes: Passes;

  constructor(
    control: Control | undefined,
    own: ControlIdentifiers | undefined,
    names: Names | undefined,
    passes: Passes,
  ) {
    this.#passes = passes;
    this.#owner = control?.name ?? "the pipeline";
    this.#control = control;
    this.#own = own;
    this.#names = names;
  }

  steps(statements: readonly StraightStatement[]): readonly Step[] {
    const out: Step[] = [];
    let updates: (readonly Step[])[] = [];
    const flush = (): void => {
      if (updates.length > 0) out.push({ kind: "atomic", updates });
      updates = [];
    };
    for (const s of statements) {
      if (s.kind === "registerUpdate") {
        updates.push(this.#update(s));
        continue;
      }
      flush();
      out.push(...this.#step(s));
    }
    flush();
    return out;
  }

  #step(s: Exclude<StraightStatement, RegisterUpdate>): readonly Step[] {
    switch (s.kind) {
      case "assign":
        return [{ kind: "assign", target: s.target, value: typedParameters(s.value) }];
      case "setValidity":
      case "pushFront":
      case "popFront":
        return [s];
      case "count": {
        const counters = this.#own?.counters ?? new Map();
        return [
          {
            kind: "count",
            counter: s.counter,
            counterLocal: identifier(counters, s.counter, "counter", this.#owner),
            index: asIndex(typedParameters(s.index)),
          },
        ];
      }
      case "drop":
        return [{ kind: "drop" }];
      case "clone":
        return [{ kind: "clone", session: asIndex(typedParameters(s.session)) }];
      case "resubmit":
      case "recirculate":
        return this.#passes.steps(s);
      case "hash": {
        const { algorithm } = s;
        const fields = s.fields.map(typedParameters);
        const base: Constant = { kind: "constant", type: s.into.type, value: s.base };
        const max = bucketCount(s);
        return this.#stored(s.into, "hash_value", (into) => ({
          kind: "hash",
          algorithm,
          fields,
          base,
          max,
          into,
        }));
      }
      case "random": {
        const [low, high] = [typedParameters(s.low), typedParameters(s.high)];
        return this.#stored(s.into, "random_value", (into) => ({ kind: "random", low, high, into }));
      }
      case "meter": {
        const meterLocal = identifier(this.#own?.meters ?? new Map(), s.meter, "meter", this.#owner);
        const index = asIndex(typedParameters(s.index));
        return this.#stored(s.into, "colour", (into) => ({
          kind: "meter",
          meter: s.meter,
          meterLocal,
          index,
          into,
        }));
      }
      case "digest": {
        const type = identifier(this.#own?.digests ?? new Map(), s.digest, "digest", this.#owner);
        const digest = this.#control?.digests.find((d) => d.name === s.digest);
        if (digest === undefined)
          throw new BackendError("GP2001", "v1model", `the program has no digest ${s.digest}`, s.at);
        return [{ kind: "digest", digest: { ...digest, type }, values: s.values.map(typedParameters) }];
      }
    }
  }

  /** An extern writes whole fields; a part of one gets its value by a variable. */
  #stored(target: Target, name: string, make: (into: StoredTarget) => Step): readonly Step[] {
    if (target.kind !== "slice") return [make(target)];
    const names = this.#names ?? new Names();
    const local: Local = { name: names.take(name), type: target.type };
    return [
      { kind: "declare", local },
      make({ kind: "local", ...local }),
      { kind: "assign", target, value: reference(local) },
    ];
  }

  /** Read, compute, write, hand out. A value that is used twice goes to a local variable, once only in place. */
  #update(s: RegisterUpdate): readonly Step[] {
    const registerLocal = identifier(this.#own?.registers ?? new Map(), s.register, "register", this.#owner);
    const register = this.#control?.registers.find((r) => r.name === s.register);
    const names = this.#names;
    if (register === undefined || names === undefined)
      throw new BackendError("GP2001", "v1model", `the program has no register ${s.register}`, s.at);
    const steps: Step[] = [];
    const declare = (part: string, type: Local["type"], value?: Expression): Local => {
      const local = { name: names.take(`${registerLocal}_${part}`), type };
      steps.push({ kind: "declare", local, ...(value === undefined ? {} : { value }) });
      return local;
    };

    const rawIndex = asIndex(typedParameters(s.index));
    const index = isSimple(rawIndex) ? rawIndex : reference(declare("index", rawIndex.type, rawIndex));

    const outputUses = (which: "old" | "next"): boolean =>
      s.output !== undefined && some(s.output, (e) => e.kind === "memory" && e.which === which);
    const keepsValue = s.next.kind === "memory" && s.next.which === "old";
    const needsOld =
      outputUses("old") ||
      (keepsValue && outputUses("next")) ||
      (!keepsValue && some(s.next, (e) => e.kind === "memory" && e.which === "old"));
    let old: Expression | undefined;
    if (needsOld) {
      const into = declare("old", storageType(register.type));
      steps.push({ kind: "read", register: s.register, registerLocal, into, index });
      old = fromStorage(reference(into), register.type);
    }
    const resolve = (e: Expression, next: Expression | undefined): Expression =>
      rewrite(typedParameters(e), (node) =>
        node.kind === "memory" ? (node.which === "old" ? old : next) : undefined,
      );

    let next = resolve(s.next, undefined);
    if (!keepsValue) {
      if (outputUses("next") && !isSimple(next)) next = reference(declare("next", register.type, next));
      steps.push({ kind: "write", register: s.register, registerLocal, index, value: toStorage(next) });
    }
    if (s.output !== undefined && s.into !== undefined)
      steps.push({ kind: "assign", target: s.into, value: resolve(s.output, next) });
    return steps;
  }
}

/** v1model's `max`: as many buckets as are asked for, or as the hash and the target have values. */
function bucketCount({ algorithm, buckets, into }: Hash): Constant {
  const bits = Math.min(hashAlgorithms[algorithm], widthOf(into.type));
  const value = buckets ?? 1n << BigInt(bits);
  return { kind: "constant", type: bit(value < 1n << 32n ? 32 : 64), value };
}

/** Parameters as the program declares them; the stored ones are unsigned. */
function typedParameters(e: Expression): Expression {
  return rewrite(e, (node) =>
    node.kind === "parameter" ? fromStorage({ ...node, type: storageType(node.type) }, node.type) : undefined,
  );
}

function reference(local: Local): Expression {
  return { kind: "parameter", name: local.name, type: local.type };
}

/** A value that costs nothing to write twice. */
function isSimple(e: Expression): boolean {
  if (e.kind === "cast") return e.type.kind === "bit" && e.operand.type.kind === "bit" && isSimple(e.operand);
  return e.kind === "constant" || e.kind === "field" || e.kind === "metadata" || e.kind === "parameter";
}

import { both, fitsGateways } from "./gateways.ts";
import { Layout } from "./layout.ts";
import type { TnaBlock, TnaControl, TnaPipeline, TnaProgram, TnaStatement } from "./lowered.ts";

type If = Extract<TnaStatement, { readonly kind: "if" }>;

/** `if (...) { ...; exit; }`, which is all that some packets meet. */
export function endsGress(s: TnaStatement): boolean {
  return s.kind === "if" && s.whenFalse.length === 0 && s.whenTrue.at(-1)?.kind === "exit";
}

/**
 * Brings the ends of a gress out of controls: a control that is nothing but `if (c) { ...; exit; }` becomes its body, and is applied
 * as `if (c) { control.apply(); exit; }`.
 */
export function withExitsOutside(program: TnaProgram): TnaProgram {
  const layout = new Layout(program.source);
  const bodies = new Map<string, TnaBlock>();
  const pipeline = <P extends TnaPipeline>(p: P): P => {
    const block = p.block.map((s): TnaStatement => {
      if (s.kind !== "applyControl") return single(s, layout) ?? s;
      const control = program.controls.find((c) =>
        p.instances.some((i) => i.name === s.instance && i.control === c.name),
      );
      const [only, ...more] = control?.block ?? [];
      const ending = only === undefined || more.length > 0 ? undefined : single(only, layout);
      if (control === undefined || ending === undefined) return s;
      bodies.set(control.name, ending.whenTrue.slice(0, -1));
      return { ...ending, whenTrue: [s, { kind: "exit" }] };
    });
    return { ...p, block };
  };
  const [ingress, egress] = [pipeline(program.ingress), pipeline(program.egress)];
  const controls = program.controls.map((c): TnaControl => ({ ...c, block: bodies.get(c.name) ?? c.block }));
  return { ...program, ingress, egress, controls };
}

/** The statement with one condition in front, when it is `if`s one in the other down to an exit, and one gateway asks them all. */
function single(s: TnaStatement, layout: Layout): If | undefined {
  if (s.kind !== "if" || s.whenFalse.length > 0) return undefined;
  if (endsGress(s)) return s;
  const [only, ...more] = s.whenTrue;
  const inner = only === undefined || more.length > 0 ? undefined : single(only, layout);
  if (inner === undefined) return undefined;
  const condition = both(s.condition, "&&", inner.condition);
  if (!fitsGateways(condition, layout)) return undefined;
  return { ...inner, condition };
}

/**
 * `if (c) { ...; exit; } rest` as `if (c) { ... } else { rest }`: then the compiler knows that a packet meets one of the two, and lets
 * both write the same fields in one stage.
 */
export function withElseForExits(program: TnaProgram): TnaProgram {
  const block = (b: TnaBlock): TnaBlock => {
    const at = b.findIndex(endsGress);
    const s = b[at];
    if (s?.kind !== "if") return b;
    const rest = block(b.slice(at + 1));
    return [...b.slice(0, at), { ...s, whenTrue: s.whenTrue.slice(0, -1), whenFalse: rest }];
  };
  return {
    ...program,
    ingress: { ...program.ingress, block: block(program.ingress.block) },
    egress: { ...program.egress, block: block(program.egress.block) },
  };
}

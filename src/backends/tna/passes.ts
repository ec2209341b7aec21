import type { FieldReference, MetadataReference, Program, SendAgain } from "../../ir/index.ts";
import { bit, widthOf } from "../../ir/index.ts";
import { placedStatements } from "../../ir/walk.ts";
import { Names } from "../p4text/names.ts";
import type { Member, Resubmission } from "./lowered.ts";
import type { Refuse } from "./refuse.ts";

/** What Tofino 1 hands on with a resubmitted packet; the parser finds it in the place of the port's data. */
const RESUBMIT_BITS = 64;

/** The header in front of resubmitted packets, if there are any; and what Tofino cannot do of further passes. */
export function resubmission(
  program: Program,
  types: Iterable<string>,
  refuse: Refuse,
): Resubmission | undefined {
  const statements = [...placedStatements(program)].flatMap(([s]) =>
    s.kind === "resubmit" || s.kind === "recirculate" ? [s] : [],
  );
  for (const s of statements)
    if (s.kind === "recirculate" && s.keep.length > 0)
      refuse("GP1845", `a recirculated packet keeps ${namesOf(s).join(", ")}`, s.at);
  const [first, ...more] = statements.filter((s) => s.kind === "resubmit");
  if (first === undefined) return undefined;
  const other = more.find((s) => namesOf(s).join() !== namesOf(first).join());
  if (other !== undefined)
    refuse("GP1844", `one resubmit keeps ${listed(first)}, another ${listed(other)}`, other.at);
  // Bridged metadata are fields of the bridge header by now.
  const keep: readonly (MetadataReference | FieldReference)[] = first.keep;
  const bits = keep.reduce((sum, m) => sum + widthOf(m.type) + paddingOf(m), 0);
  if (bits > RESUBMIT_BITS) refuse("GP1844", `a resubmitted packet keeps ${bits} bits`, first.at);
  const fields = new Names(["padding"]);
  return {
    header: new Names(program.headers.map((h) => h.name)).take("resubmitted"),
    type: new Names(types).take("resubmitted_t"),
    kept: keep.map((source) => ({
      name: fields.take(source.kind === "metadata" ? source.name : source.field),
      type: source.type,
      source,
    })),
    padding: Math.max(0, RESUBMIT_BITS - bits),
  };
}

/** The fields of that header, each in bytes of its own, with what they hold; without a source: padding. */
export function resubmittedFields(
  r: Resubmission,
): readonly { readonly member: Member; readonly source?: MetadataReference | FieldReference }[] {
  const padding = (name: string, width: number) =>
    width === 0 ? [] : [{ member: { name, type: bit(width), isPadding: true } }];
  return [
    ...r.kept.flatMap(({ name, type, source }) => {
      const own = { member: { name, type }, source };
      const beside = padding(`${name}_padding`, paddingOf(source));
      // Where the compiler has the value in its containers: at their end, but for fields of the bridge header.
      return source.kind === "metadata" ? [...beside, own] : [own, ...beside];
    }),
    ...padding("padding", r.padding),
  ];
}

/** Bits beside a value in its bytes: the deparser hands on containers as they are. */
function paddingOf({ type }: MetadataReference | FieldReference): number {
  return (8 - (widthOf(type) % 8)) % 8;
}

function namesOf(s: SendAgain): readonly string[] {
  return s.keep.map((m: MetadataReference | FieldReference) => (m.kind === "metadata" ? m.name : m.field));
}

function listed(s: SendAgain): string {
  return namesOf(s).join(", ") || "nothing";
}

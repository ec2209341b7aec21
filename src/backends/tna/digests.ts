import type { Program } from "../../ir/index.ts";
import { widthOf } from "../../ir/index.ts";
import { placedStatements } from "../../ir/walk.ts";
import { type Identifiers, identifier } from "../p4text/identifiers.ts";
import { localPart, Names } from "../p4text/names.ts";
import type { TnaDigest } from "./lowered.ts";
import type { Refuse } from "./refuse.ts";

/** Kinds that a deparser of Tofino 1 tells apart, 0 of which is left for none; and bytes of one. */
const MAX_KINDS = 7;
const MAX_BYTES = 48;

/** Digests that the program sends, with the metadata that hold their values. */
export function digestsOf(program: Program, ids: Identifiers, refuse: Refuse): readonly TnaDigest[] {
  const constants = new Names(program.constants.map((c) => c.name));
  const locals = new Names(["hdr", "meta", "packet", "mirror"]);
  const digests = [...placedStatements(program)].flatMap(([s, { control }]) => {
    const declared = control?.digests.find((d) => s.kind === "digest" && d.name === s.digest);
    if (s.kind !== "digest" || control === undefined || declared === undefined) return [];
    const { name, fields, doc, annotations, at } = declared;
    const bits = fields.reduce((sum, f) => sum + widthOf(f.type), 0);
    if (bits > 8 * MAX_BYTES) refuse("GP1843", `digest ${name} has ${Math.ceil(bits / 8)} bytes`, at);
    const types = ids.controls.get(control.name)?.digests ?? new Map();
    return [
      {
        name,
        type: identifier(types, name, "digest", control.name, "tna"),
        local: locals.take(localPart(name), "digest"),
        constant: constants.take(`DIGEST_${localPart(name).toUpperCase()}`),
        fields,
        values: s.values.flatMap((v) => (v.kind === "metadata" ? [v.name] : [])),
        ...(doc === undefined ? {} : { doc }),
        ...(annotations === undefined ? {} : { annotations }),
      },
    ];
  });
  const [extra] = digests.slice(MAX_KINDS);
  if (extra !== undefined)
    refuse("GP1843", `${extra.name} is digest number ${MAX_KINDS + 1} of ${digests.length}`);
  return digests.map((d, i) => ({ ...d, number: i + 1 }));
}

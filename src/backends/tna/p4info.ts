import type { Control, Program } from "../../ir/index.ts";
import { forTarget, withAnnotations } from "../../ir/index.ts";
import type { Init, P4Info } from "../../p4info/index.ts";
import { p4info } from "../p4info/build.ts";
import { lower } from "../v1model/lower.ts";

/**
 * What a controller may know of the TNA program. Its objects have the names, ids and shapes that those of v1model have; controls that
 * only one of the targets has make the difference, and prefixes of constant entries, which are masks on Tofino.
 */
export function tnaP4info(program: Program): Init<P4Info> {
  const own = forTarget(program, "tna");
  const common = { ...own, controls: own.controls.map(withMasks) };
  const info = p4info(lower(common));
  return { ...info, pkgInfo: { ...info.pkgInfo, arch: "tna" } };
}

/** The control as one of every target. */
function withMasks({ only: _, ...own }: Control): Control {
  const control = withAnnotations(own, (all) => all.map(({ text }) => ({ text })));
  return {
    ...control,
    tables: control.tables.map((t) =>
      t.constEntries.length === 0
        ? t
        : { ...t, key: t.key.map((k) => (k.match === "lpm" ? { ...k, match: "ternary" } : k)) },
    ),
  };
}

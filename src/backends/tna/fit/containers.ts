import { instanceOf, widthOf } from "../../../ir/index.ts";
import type { Gress, TnaProgram } from "../lowered.ts";
import type { ContainerFigures } from "../verify/figures.ts";
import type { Placement } from "./placement.ts";
import type { FitProgram } from "./tables.ts";

/** Bits of fields in the packet header vector by the size of the containers that they are put into. */
export interface ContainerBits {
  readonly 8: number;
  readonly 16: number;
  readonly 32: number;
}

export interface ContainerNeed {
  /** For each stage: bits that are live in it, of both gresses. */
  readonly perStage: readonly ContainerBits[];
  readonly containers: readonly ContainerFigures[];
}

type Size = keyof ContainerBits;
const SIZES: readonly Size[] = [32, 16, 8];
const AVAILABLE: ContainerBits = { 8: 64, 16: 96, 32: 64 };

interface Piece {
  readonly size: Size;
  readonly keys: readonly string[];
  readonly gress: Gress;
  /** From the parser to the deparser; metadata only between its first and its last use. */
  readonly isHeader: boolean;
}

/**
 * Which containers fields need: what tables touch. What they leave alone stands in containers that only carry, of which there
 * are enough. Fields of a header share containers with their neighbours up to a whole byte, metadata fields stand alone.
 */
export function containerNeed(
  program: TnaProgram,
  fit: FitProgram,
  { placed, stages }: Pick<Placement, "placed" | "stages">,
): ContainerNeed {
  const pieces = (["ingress", "egress"] as const).flatMap((gress) => piecesOf(program, fit, gress));
  const uses = new Map<string, { first: number; last: number }>();
  for (const p of placed)
    for (const t of [p.table, ...(p.condition === undefined ? [] : [p.condition])])
      for (const b of [...t.reads, ...t.writes]) {
        const key = `${t.gress} ${b.key}`;
        const known = uses.get(key);
        uses.set(key, {
          first: Math.min(known?.first ?? p.stage, p.stage),
          last: Math.max(known?.last ?? p.stage, p.stage),
        });
      }
  const used = pieces.filter((piece) => piece.keys.some((k) => uses.has(`${piece.gress} ${k}`)));
  const isLive = (piece: Piece, stage: number): boolean =>
    piece.isHeader ||
    piece.keys.some((k) => {
      const u = uses.get(`${piece.gress} ${k}`);
      return u !== undefined && u.first <= stage && stage <= u.last;
    });
  const perStage = Array.from({ length: stages }, (_, stage) => {
    const live = used.filter((piece) => isLive(piece, stage));
    const bits = (size: Size): number => live.filter((p) => p.size === size).length * size;
    return { 8: bits(8), 16: bits(16), 32: bits(32) };
  });
  const containers = [...SIZES].reverse().map((size): ContainerFigures => {
    const most = Math.max(0, ...perStage.map((s) => s[size] / size));
    return { kind: "normal", bits: size, used: most, of: AVAILABLE[size] };
  });
  return { perStage, containers };
}

function piecesOf(program: TnaProgram, fit: FitProgram, gress: Gress): readonly Piece[] {
  const touched = new Set(
    fit.tables.filter((t) => t.gress === gress).flatMap((t) => [...t.reads, ...t.writes].map((b) => b.key)),
  );
  const emitted = new Set(
    (gress === "ingress" ? program.ingressDeparser : program.egressDeparser).map(instanceOf),
  );
  const pieces: Piece[] = [];
  for (const h of program.headers) {
    if (!emitted.has(h.name)) continue;
    const type = program.headerTypes.find((t) => t.name === h.type);
    let keys: string[] = [];
    let bits = 0;
    for (const f of type?.fields ?? []) {
      keys.push(`hdr.${h.name}.${f.name}`);
      bits += widthOf(f.type);
      if (bits % 8 !== 0) continue;
      if (keys.some((k) => touched.has(k)))
        for (const size of cut(bits)) pieces.push({ size, keys, gress, isHeader: true });
      keys = [];
      bits = 0;
    }
  }
  for (const m of program.metadata) {
    const key = `meta.${m.name}`;
    if (!touched.has(key)) continue;
    for (const size of cut(widthOf(m.type))) pieces.push({ size, keys: [key], gress, isHeader: false });
  }
  return pieces;
}

/** Containers for so many bits: as few as can be. */
function cut(bits: number): readonly Size[] {
  const sizes: Size[] = [];
  let left = bits;
  for (const size of SIZES) {
    while (left >= size) {
      sizes.push(size);
      left -= size;
    }
  }
  if (left > 0) sizes.push(8);
  return sizes;
}

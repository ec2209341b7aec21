import { widthOf } from "../../../ir/index.ts";
import type { FitTable, Memory } from "./tables.ts";

/**
 * What a logical table takes of a stage. Formulas after p4c, backends/tofino/bf-p4c/mau (resource_estimate.cpp, table_layout.cpp),
 * numbers of Tofino 1.
 */
export interface Need {
  /** SRAM blocks of 1024 words of 128 bits: matching, action data, counters, registers. */
  readonly sram: number;
  /** TCAM blocks of 512 words of 44 bits. */
  readonly tcam: number;
  readonly mapRam: number;
  readonly statefulAlus: number;
  /** Meters and selectors, which share four units of a stage with registers. */
  readonly otherAlus: number;
  readonly counterAlus: number;
  readonly hashWays: number;
  readonly exactBytes: number;
  readonly ternaryBytes: number;
  readonly hashBits: number;
  readonly gateways: number;
}

export const NOTHING: Need = {
  sram: 0,
  tcam: 0,
  mapRam: 0,
  statefulAlus: 0,
  otherAlus: 0,
  counterAlus: 0,
  hashWays: 0,
  exactBytes: 0,
  ternaryBytes: 0,
  hashBits: 0,
  gateways: 0,
};

const WORDS = 1024;
const WORD_BITS = 128;
const WORD_BYTES = 16;
const TCAM_WORDS = 512;
/** Bits of a RAM's address that need not be stored, since the hash gives them. */
const GHOST_BITS = 10;
const VERSION_BITS = 4;
/** Bits at the end of a word for what is not matched. */
const OVERHEAD_BITS = 64;
const MOST_PACKED = 9;
const MOST_PER_ROW = 5;
const SRAM_ROWS = 8;
/** Independent hash functions that a table gets at least. */
const LEAST_WAYS = 4;
/** Actions whose number a word holds by itself; with more it holds an address. */
const NUMBERED_ACTIONS = 8;
const ADDRESS_BITS = 6;
const IMMEDIATE_BYTES = 4;
const RANGE_SHARE = 0.25;
const RANGE_LINES = 8;

/** What a table with so many entries takes. */
export function needOf(t: FitTable, entries = t.table?.size ?? 0): Need {
  if (t.kind === "condition") return { ...NOTHING, gateways: 1 };
  const memories = t.memories.map((m) =>
    m.kind === "actionProfile" ? profileNeed(t, m.size) : memoryNeed(m.kind, m.perWord, m.size, 0),
  );
  const indirect = memories.reduce(sum, NOTHING);
  if (t.table === undefined || t.table.key.length === 0) return indirect;
  const match = isTernary(t) ? ternary(t, entries) : exact(t, entries);
  const direct = t.memories
    .filter(isDirect)
    .map((m) => memoryNeed(m.kind, m.perWord, 0, match.entries))
    .reduce(sum, NOTHING);
  return [match.need, indirect, direct].reduce(sum, NOTHING);
}

export function sum(a: Need, b: Need): Need {
  return {
    sram: a.sram + b.sram,
    tcam: a.tcam + b.tcam,
    mapRam: a.mapRam + b.mapRam,
    statefulAlus: a.statefulAlus + b.statefulAlus,
    otherAlus: a.otherAlus + b.otherAlus,
    counterAlus: a.counterAlus + b.counterAlus,
    hashWays: a.hashWays + b.hashWays,
    exactBytes: a.exactBytes + b.exactBytes,
    ternaryBytes: a.ternaryBytes + b.ternaryBytes,
    hashBits: a.hashBits + b.hashBits,
    gateways: a.gateways + b.gateways,
  };
}

/** Bits that one unit of hash distribution hands out. */
const UNIT_BITS = 16;

/** Units of hash distribution that tables of a stage take: for each index, and each move of bits, that there is. */
export function hashUnits(tables: readonly FitTable[]): number {
  const indexes = new Map(
    tables.flatMap((t) => t.indexes.map((i) => [`${t.gress} ${i.text}`, i.bits] as const)),
  );
  return [...indexes.values()].reduce((n, bits) => n + Math.ceil(bits / UNIT_BITS), 0);
}

export function isTernary(t: FitTable): boolean {
  return t.table?.key.some((k) => k.match !== "exact") ?? false;
}

export function isDirect({ kind }: Memory): boolean {
  return kind === "directCounter" || kind === "directMeter";
}

/** Its words, and a spare block with which it is moved while it is read. */
function memoryNeed(kind: Memory["kind"], perWord: number, size: number, entries: number): Need {
  const cells = kind === "directCounter" || kind === "directMeter" ? entries : size;
  if (cells === 0) return NOTHING;
  const blocks = Math.ceil(cells / (WORDS * perWord)) + 1;
  const isCounter = kind === "counter" || kind === "directCounter";
  return {
    ...NOTHING,
    sram: blocks,
    mapRam: blocks,
    statefulAlus: kind === "register" ? 1 : 0,
    otherAlus: kind === "register" || isCounter ? 0 : 1,
    counterAlus: isCounter ? 1 : 0,
  };
}

/** Members' actions with their parameters, in blocks of their own. */
function profileNeed(t: FitTable, members: number): Need {
  return { ...NOTHING, sram: dataBlocks(actionDataBytes(t), members) };
}

interface Match {
  readonly need: Need;
  /** Entries that there is place for, which direct counters and action data have, too. */
  readonly entries: number;
}

/** Bits and bytes that the key's fields take in containers. */
function keyOf(t: FitTable): { readonly bits: number; readonly bytes: readonly number[] } {
  const bytes: number[] = [];
  let bits = 0;
  for (const k of t.table?.key ?? []) {
    let width = widthOf(k.expression.type);
    bits += width;
    // A range is matched by nibbles, each in a byte of its own: both of each byte that a slice of bits meets.
    const unit = k.match === "range" ? 4 : 8;
    if (k.match === "range" && k.expression.kind === "slice" && width > unit)
      width = 8 * Math.ceil(((k.expression.low % 8) + width) / 8);
    for (; width > unit; width -= unit) bytes.push(unit);
    bytes.push(width);
  }
  return { bits, bytes };
}

/** Actions that an entry can have. */
function hitActions(t: FitTable): number {
  return t.table?.actions.filter((a) => !a.defaultOnly).length ?? 0;
}

function hasProfile(t: FitTable): boolean {
  return t.memories.some((m) => m.kind === "actionProfile");
}

/** What an entry says beside its data: which action; with a profile, which member, or which group. */
function instructionBits(t: FitTable): number {
  const pointers = t.memories
    .filter((m) => m.kind === "actionProfile" || m.kind === "selector")
    .reduce((bits, m) => bits + Math.ceil(Math.log2(Math.max(2, m.size))), 0);
  const actions = hitActions(t);
  if (pointers > 0) return pointers + Math.ceil(Math.log2(Math.max(1, Math.min(actions, NUMBERED_ACTIONS))));
  return actions <= NUMBERED_ACTIONS ? Math.ceil(Math.log2(Math.max(1, actions))) : ADDRESS_BITS;
}

/** Bytes that the largest action of a table takes of action data. */
function actionDataBytes(t: FitTable): number {
  const hit = new Set(t.table?.actions.filter((a) => !a.defaultOnly).map((a) => a.local));
  return Math.max(
    0,
    ...t.actions
      .filter((a) => hit.has(a.local))
      .map((a) => a.parameters.reduce((n, p) => n + Math.ceil(widthOf(p.type) / 8), 0)),
  );
}

/** How much of the action data stands beside the key (immediate), and how much in blocks of its own. */
function dataLayouts(t: FitTable): readonly { readonly immediate: number; readonly apart: number }[] {
  const bytes = hasProfile(t) ? 0 : actionDataBytes(t);
  const layouts = [{ immediate: 0, apart: bytes }];
  for (let i = 1; i <= Math.min(bytes, IMMEDIATE_BYTES); i++)
    layouts.push({ immediate: i, apart: bytes - i });
  return layouts;
}

function dataBlocks(bytes: number, entries: number): number {
  if (bytes === 0) return 0;
  if (bytes > WORD_BYTES) return Math.ceil(entries / WORDS) * Math.ceil(bytes / WORD_BYTES);
  const perWord = WORD_BYTES / 2 ** Math.ceil(Math.log2(bytes));
  return Math.ceil(entries / (WORDS * perWord));
}

function ternary(t: FitTable, asked: number): Match {
  const { bytes } = keyOf(t);
  const lines = Math.max(
    0,
    ...(t.table?.key ?? []).map((k) => rangeLines(k.match, widthOf(k.expression.type))),
  );
  const withRanges = Math.floor(asked * RANGE_SHARE);
  const entries = lines === 0 ? asked : withRanges * lines + (asked - withRanges);
  const depth = Math.ceil(entries / TCAM_WORDS);
  let width = 0;
  let left = bytes.length;
  for (; left > 11; left -= 11) width += 2;
  // The half byte between two bytes takes no nibble of a range.
  if (left > 6 || (left === 6 && lines > 0)) width += 2;
  else if (left > 0 || width === 0) width += 1;
  const places = depth * TCAM_WORDS;
  const options = dataLayouts(t).map(({ immediate, apart }) => {
    const bits = instructionBits(t) + immediate * 8;
    const size = Math.max(8, 2 ** Math.ceil(Math.log2(Math.max(1, bits))));
    const indirect = bits === 0 ? 0 : Math.ceil(places / (WORDS * (WORD_BITS / size)));
    return indirect + dataBlocks(apart, places);
  });
  return {
    need: {
      ...NOTHING,
      tcam: depth * width,
      sram: Math.min(...options),
      ternaryBytes: bytes.length,
    },
    entries: places,
  };
}

/** Lines of TCAM that one entry with a range can need. */
function rangeLines(match: string, width: number): number {
  return match === "range" ? Math.min(RANGE_LINES, 2 * Math.ceil(width / 4) - 1) : 0;
}

function exact(t: FitTable, asked: number): Match {
  const { bits, bytes } = keyOf(t);
  const entries = Math.min(asked, bits >= 31 ? asked : 2 ** bits);
  const base = { exactBytes: bytes.length };
  const isIdentityAction = asked === 2 ** bits && hitActions(t) === 1 && (t.table?.actions.length ?? 0) === 1;
  let ghost = GHOST_BITS;
  let matchBytes = bytes.length;
  for (const b of [...bytes].sort((x, y) => x - y))
    if (ghost >= b) {
      ghost -= b;
      matchBytes--;
    }
  const matchBits = Math.max(0, bits - GHOST_BITS);
  let best: { readonly sram: number; readonly ways: number; readonly places: number } | undefined;
  for (const { immediate, apart } of dataLayouts(t)) {
    const overhead = instructionBits(t) + immediate * 8;
    for (let packed = 1; packed <= MOST_PACKED; packed++) {
      const width = Math.max(
        1,
        Math.ceil((packed * (overhead + VERSION_BITS + matchBits)) / WORD_BITS),
        Math.ceil((packed * matchBytes) / WORD_BYTES),
        Math.ceil((packed * overhead) / OVERHEAD_BITS),
        Math.ceil(packed / MOST_PER_ROW),
      );
      if (width > SRAM_ROWS) break;
      const [large, small] = width > packed ? [width, packed] : [packed, width];
      if (large % small === 0 && small !== 1) continue;
      const depth = ramDepth(entries, packed, bits);
      const places = depth * packed * WORDS;
      const sram = depth * width + dataBlocks(apart, places);
      if (best === undefined || sram < best.sram) best = { sram, ways: Math.min(depth, LEAST_WAYS), places };
    }
  }
  if (isIdentityAction)
    return {
      need: { ...NOTHING, ...base, sram: dataBlocks(actionDataBytes(t), asked) },
      entries: asked,
    };
  const { sram, ways, places } = best ?? { sram: 0, ways: 0, places: 0 };
  return {
    need: { ...NOTHING, ...base, sram, hashWays: ways, hashBits: ways * GHOST_BITS },
    entries: places,
  };
}

/** Blocks in depth. Few would not fill well, so there are four at least; unless the key itself is the address. */
function ramDepth(entries: number, packed: number, keyBits: number): number {
  const depth = Math.max(1, Math.ceil(entries / (packed * WORDS)));
  if (keyBits < GHOST_BITS && depth === 1) return 1;
  const least = Math.max(depth, LEAST_WAYS);
  const extra = keyBits - GHOST_BITS;
  if (extra <= 8) {
    const blocks = 2 ** Math.ceil(Math.log2(Math.max(1, Math.ceil(2 ** Math.max(0, extra) / packed))));
    if (blocks <= least) return blocks;
  }
  return least;
}

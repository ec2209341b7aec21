import type {
  Checksum,
  Expression,
  FieldReference,
  MetadataField,
  MetadataReference,
  Program,
  Statement,
  StraightStatement,
} from "../../ir/index.ts";
import { bit, bool, extractedBy, successorsOf, widthOf } from "../../ir/index.ts";
import { placedStatements, targetOf } from "../../ir/walk.ts";
import { Names } from "../p4text/names.ts";
import type { ChecksumText } from "./lowered.ts";
import { mappedStatements } from "./mapped.ts";
import type { Refuse } from "./refuse.ts";

/**
 * A checksum over more than its own header. Tofino's parser does not see the payload, but a sum that was right stays right when what
 * changes is taken out of it and put in again (RFC 1624). The parser takes out: the checksum and the fields that ingress may write. The
 * deparser of ingress puts them in again. So a packet that came with a wrong checksum leaves with a wrong one.
 */
export interface IncrementalChecksum {
  readonly instance: string;
  readonly target: FieldReference;
  /** What is taken out in the state that extracts the header, in whole 16-bit words. */
  readonly taken: readonly { readonly header: string; readonly fields: readonly Expression[] }[];
  /** Metadata: what the parser leaves. */
  readonly rest: MetadataReference;
  /** Metadata: 1 where there is a checksum; and then a sum of 0 is written as 0xffff. */
  readonly isGiven?: MetadataReference;
}

/** Whether a checksum is more than that of one header. */
export function isBeyondHeader(c: Checksum): boolean {
  return (
    c.fields.some((f) => f.kind !== "field" || f.header !== c.header) ||
    (c.varbits ?? []).length > 0 ||
    c.payload === true ||
    c.condition !== undefined ||
    c.zeroIsNone === true
  );
}

/** The program with what its incremental checksums need to know, and these checksums. */
export function withIncrementalChecksums(
  program: Program,
  refuse: Refuse,
): { readonly program: Program; readonly incremental: readonly IncrementalChecksum[] } {
  const names = new Names(program.metadata.map((m) => m.name));
  const added: MetadataField[] = [];
  const keep = (name: string, width: number, doc: string): MetadataReference => {
    const field = { name: names.take(name), type: bit(width), doc };
    added.push(field);
    return { kind: "metadata", ...field };
  };
  const incremental: IncrementalChecksum[] = [];
  for (const c of program.checksums.filter(isBeyondHeader)) {
    const taken = takenOut(c, program, refuse);
    if (taken === undefined || taken.length === 0) continue;
    const instance = `${c.header}_checksum`;
    incremental.push({
      instance,
      target: c.target,
      taken,
      rest: keep(`${instance}_rest`, 16, `sum of ${c.header} without what may change`),
      ...(c.zeroIsNone === true
        ? { isGiven: keep(`${instance}_given`, 1, `1: ${c.header} came with a checksum`) }
        : {}),
    });
  }
  if (incremental.length === 0) return { program, incremental };
  const flags = new Map(
    incremental.flatMap((c) => (c.isGiven === undefined ? [] : [[nameOf(c.target), c.isGiven] as const])),
  );
  const changed = mappedStatements(program, (s): readonly StraightStatement[] => {
    const target = targetOf(s);
    const flag = target?.kind === "field" ? flags.get(nameOf(target)) : undefined;
    // Only a 0 is written there: from then on there is none.
    return flag === undefined ? [s] : [s, { kind: "assign", target: flag, value: number(0n, 1) }];
  });
  return {
    program: {
      ...changed,
      metadata: [...changed.metadata, ...added],
      ingress: [...incremental.flatMap(flagged), ...changed.ingress],
    },
    incremental,
  };
}

/** `if (udp.isValid() && udp.checksum != 0) udp_checksum_given = 1` */
function flagged({ target, isGiven }: IncrementalChecksum): readonly Statement[] {
  if (isGiven === undefined) return [];
  const valid: Expression = { kind: "valid", type: bool, header: target.header };
  const given: Expression = {
    kind: "binary",
    type: bool,
    operator: "!=",
    left: target,
    right: number(0n, 16),
  };
  const condition: Expression = { kind: "binary", type: bool, operator: "&&", left: valid, right: given };
  const whenTrue: readonly Statement[] = [{ kind: "assign", target: isGiven, value: number(1n, 1) }];
  return [{ kind: "if", condition, whenTrue, whenFalse: [] }];
}

/** What ingress may write of what is summed up, and the checksum itself, by header; nothing when it writes nothing of it. */
function takenOut(c: Checksum, program: Program, refuse: Refuse): IncrementalChecksum["taken"] | undefined {
  const wrong = (why: string): undefined => {
    refuse("GP1838", `the checksum of ${c.header}: ${why}`, c.at);
    return undefined;
  };
  if (c.verify) return wrong("it is verified");
  if (!c.update) return [];
  if ((c.varbits ?? []).length > 0) return wrong("a field of variable length is part of it");
  if (c.condition !== undefined) return wrong("it has a condition");
  if (c.payload !== true) return wrong("it is over several headers and not the payload");
  const written = writtenFields(program);
  const summed = new Set(c.fields.flatMap((f) => (f.kind === "field" ? [nameOf(f)] : [])));
  const inEgress = [...written.egress].find((name) => summed.has(name) || name === nameOf(c.target));
  if (inEgress !== undefined) return wrong(`egress writes ${inEgress}`);
  if (addsHeader(program, c.header)) return wrong("ingress adds the header");
  const state = program.parser.find((s) => extractedBy(s).includes(c.header));
  if (state === undefined) return wrong("the parser does not read the header");
  const isLast = extractedBy(state).at(-1) === c.header && successorsOf(state).every(isEnd);
  if (!isLast) return wrong("the parser reads on behind it, and takes what it reads off the sum");
  // A packet that says that it has no checksum is as it should be.
  if (c.zeroIsNone === true && writesOther(program, c.target))
    return wrong(`ingress writes something other than 0 to ${nameOf(c.target)}`);
  const runs = runsOf(c, written.ingress);
  if (runs === undefined) return wrong("a field that ingress writes is not of whole bytes, or is cut");
  if (runs.length === 0) return [];
  const own = runs.find((r) => r.header === c.header);
  const others = runs.filter((r) => r.header !== c.header);
  return [...others, { header: c.header, fields: [...(own?.fields ?? []), c.target] }];
}

function isEnd(state: string): boolean {
  return state === "accept" || state === "reject";
}

/** Written fields with their neighbours made up to whole words, each with its place in the word; by header. */
function runsOf(c: Checksum, written: ReadonlySet<string>): IncrementalChecksum["taken"] | undefined {
  const runs = new Map<string, Expression[]>();
  let at = 0;
  let open = "";
  for (const f of c.fields) {
    const width = widthOf(f.type);
    const names = fieldsIn(f);
    const isWritten = names.some((name) => written.has(name));
    if (!isWritten) {
      close();
    } else {
      if (f.kind !== "field" || width % 8 !== 0) return undefined;
      const run = runs.get(f.header) ?? [];
      runs.set(f.header, run);
      if (open !== f.header) close();
      if (open === "" && at % 16 === 8) run.push(number(0n, 8));
      run.push(f);
      open = f.header;
    }
    at += width;
  }
  close();
  return [...runs].map(([header, fields]) => ({ header, fields }));

  function close(): void {
    if (open !== "" && at % 16 === 8) runs.get(open)?.push(number(0n, 8));
    open = "";
  }
}

function fieldsIn(e: Expression): readonly string[] {
  switch (e.kind) {
    case "field":
      return [nameOf(e)];
    case "slice":
    case "cast":
    case "unary":
      return fieldsIn(e.operand);
    case "concat":
    case "binary":
      return [...fieldsIn(e.left), ...fieldsIn(e.right)];
    default:
      return [];
  }
}

function writtenFields(program: Program): Readonly<Record<"ingress" | "egress", ReadonlySet<string>>> {
  const found = { ingress: new Set<string>(), egress: new Set<string>() };
  for (const [s, { block }] of placedStatements(program)) {
    const target = targetOf(s);
    const whole = target?.kind === "slice" ? target.operand : target;
    if (whole?.kind === "field" && block !== "parser") found[block].add(nameOf(whole));
  }
  return found;
}

function addsHeader(program: Program, header: string): boolean {
  return [...placedStatements(program)].some(
    ([s]) => s.kind === "setValidity" && s.valid && s.header === header,
  );
}

function writesOther(program: Program, field: FieldReference): boolean {
  return [...placedStatements(program)].some(([s]) => {
    const target = targetOf(s);
    const whole = target?.kind === "slice" ? target.operand : target;
    if (whole?.kind !== "field" || nameOf(whole) !== nameOf(field)) return false;
    return (
      s.kind !== "assign" || target?.kind === "slice" || s.value.kind !== "constant" || s.value.value !== 0n
    );
  });
}

function nameOf(f: FieldReference): string {
  return `${f.header}.${f.field}`;
}

function number(value: bigint, width: number): Expression {
  return { kind: "constant", type: bit(width), value };
}

export function checksumText(c: Program["checksums"][number]): ChecksumText {
  return {
    instance: `${c.header}_checksum`,
    target: c.target,
    fields: c.fields,
  };
}

export function incrementalText(c: IncrementalChecksum): ChecksumText {
  return {
    instance: c.instance,
    target: c.target,
    fields: [...c.taken.flatMap((t) => t.fields.filter((f) => f !== c.target)), c.rest],
    ...(c.isGiven === undefined ? {} : { isGiven: c.isGiven.name }),
  };
}

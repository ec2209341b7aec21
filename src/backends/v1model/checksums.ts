import type {
  Checksum,
  Expression,
  FieldReference,
  MetadataField,
  MetadataReference,
  Program,
} from "../../ir/index.ts";
import { bit, bool } from "../../ir/index.ts";
import { Names } from "../p4text/names.ts";

/** One call of `verify_checksum` or `update_checksum`, with or without payload. */
export interface ChecksumCall {
  readonly call: "verify" | "update";
  readonly condition: Expression;
  readonly fields: readonly Expression[];
  /** Paths of headers whose varbit field comes behind the fields. */
  readonly varbits: readonly string[];
  readonly payload: boolean;
  readonly target: FieldReference | MetadataReference;
  readonly why?: string;
  readonly source: Checksum;
}

export interface LoweredChecksums {
  readonly calls: readonly ChecksumCall[];
  /** Metadata that the calls need beside the program's. */
  readonly metadata: readonly MetadataField[];
}

/**
 * The checksums of a program as v1model computes them. Its 16-bit sum knows nothing of UDP's rule that 0 stands for no checksum, and
 * 0xffff for 0. So where that holds, a metadata field serves as a 0 to compare with, and as a note that there is no checksum.
 */
export function loweredChecksums(program: Program): LoweredChecksums {
  const names = new Names(program.metadata.map((m) => m.name));
  const metadata: MetadataField[] = [];
  const calls = program.checksums.flatMap((c): readonly ChecksumCall[] => {
    const valid: Expression = { kind: "valid", type: bool, header: c.header };
    const condition = c.condition === undefined ? valid : and(valid, c.condition);
    const data = { fields: c.fields, varbits: c.varbits ?? [], payload: c.payload === true, source: c };
    if (c.zeroIsNone !== true) {
      const whole = { condition, ...data, target: c.target };
      return [
        ...(c.verify ? [{ call: "verify" as const, ...whole }] : []),
        ...(c.update ? [{ call: "update" as const, ...whole }] : []),
      ];
    }
    const name = names.take(`${c.header.replace(/\W+/g, "_")}_checksum_absent`);
    metadata.push({
      name,
      type: bit(16),
      doc: `0, and 0xffff at the end if ${c.header} came without a checksum`,
    });
    const absent: MetadataReference = { kind: "metadata", type: bit(16), name };
    const isGiven = and(condition, compare(absent, "=="));
    const nothing = { fields: [zero], varbits: [], payload: false, source: c };
    const verified: ChecksumCall = {
      call: "verify",
      condition: and(condition, compare(c.target, "!=")),
      ...data,
      fields: [...c.fields, c.target],
      target: absent,
      why: "Summed up with its checksum, what is sound gives 0, be the checksum written as 0 or 0xffff.",
    };
    const updated: readonly ChecksumCall[] = [
      {
        call: "update",
        condition: and(condition, compare(c.target, "==")),
        ...nothing,
        target: absent,
        why: "A checksum of 0 says that there is none, and stays. A sum of 0 goes out as 0xffff.",
      },
      { call: "update", condition: isGiven, ...data, target: c.target },
      { call: "update", condition: and(isGiven, compare(c.target, "==")), ...nothing, target: c.target },
    ];
    return [...(c.verify ? [verified] : []), ...(c.update ? updated : [])];
  });
  return { calls, metadata };
}

const zero: Expression = { kind: "constant", type: bit(16), value: 0n };

function and(left: Expression, right: Expression): Expression {
  return { kind: "binary", type: bool, operator: "&&", left, right };
}

function compare(left: Expression, operator: "==" | "!="): Expression {
  return { kind: "binary", type: bool, operator, left, right: zero };
}

import { SwitchConfigError } from "../bmv2json/config-error.ts";
import type { FieldSlot, PhvLayout } from "../engine/layout.ts";
import type { PacketState } from "../engine/packet-state.ts";
import { fieldBits, getField } from "../engine/target-fields.ts";
import type { Expression, Mirror, Resubmit, TnaDocument } from "./document.ts";
import { metadataSlot } from "./fields.ts";

interface Part {
  readonly width: number;
  readonly slot: FieldSlot | undefined;
  readonly constant: bigint;
}

/** A header that the deparser puts in front of what it mirrors or resubmits. */
export class AddedHeader {
  /** Bytes of the header. */
  readonly bytes: number;
  readonly #parts: readonly Part[];
  readonly #session: Part | undefined;
  readonly #limit: number;

  /** Throws SwitchConfigError for values that do not fill the header. */
  constructor(what: Mirror | Resubmit, document: TnaDocument, layout: PhvLayout) {
    const fields = document.headerTypes.find((t) => t.name === what.headerType)?.fields ?? [];
    this.#parts = what.values.map((v) => partOf(v, layout));
    if (fields.length !== what.values.length || fields.some((f, i) => f.type.width !== this.#parts[i]?.width))
      throw new SwitchConfigError(
        "BAD_VALUE",
        what.path,
        `the values are not the fields of ${what.headerType}`,
      );
    this.bytes = fields.reduce((sum, f) => sum + f.type.width, 0) / 8;
    this.#session = "session" in what ? partOf(what.session, layout) : undefined;
    this.#limit = "maxLength" in what && what.maxLength > 0 ? what.maxLength : Number.POSITIVE_INFINITY;
  }

  /** The mirror session that a packet asks for. */
  sessionOf(packet: PacketState): number {
    const { slot, constant } = this.#session ?? { slot: undefined, constant: 0n };
    return slot === undefined ? Number(constant) : getField(packet, slot);
  }

  /** The header, and as many of the bytes behind it as `limit` and the program's own limit leave. */
  inFrontOf(packet: PacketState, bytes: Uint8Array, limit: number): Uint8Array {
    const room = Math.max(0, Math.min(limit, this.#limit) - this.bytes);
    const kept = Math.min(bytes.length, room);
    const out = new Uint8Array(this.bytes + kept);
    let value = 0n;
    for (const { width, slot, constant } of this.#parts)
      value = (value << BigInt(width)) | (slot === undefined ? constant : fieldBits(packet, slot));
    for (let i = this.bytes - 1; i >= 0; i--) {
      out[i] = Number(value & 0xffn);
      value >>= 8n;
    }
    out.set(bytes.subarray(0, kept), this.bytes);
    return out;
  }
}

function partOf(e: Expression, layout: PhvLayout): Part {
  const { width } = e.type;
  switch (e.kind) {
    case "constant":
      return { width, slot: undefined, constant: BigInt.asUintN(width, e.value) };
    case "field":
      return { width, slot: layout.field(e.header, e.field, e.path), constant: 0n };
    case "metadata": {
      const [header, field] = metadataSlot(e.name);
      return { width, slot: layout.field(header, field, e.path), constant: 0n };
    }
    default:
      throw new SwitchConfigError("UNSUPPORTED", e.path, "a deparser sends fields and constants");
  }
}

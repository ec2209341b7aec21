import { newFrame, PAYLOAD_AT, writeUdpChecksum } from "../../wire/datagram.ts";
import { encodeFloatsInto } from "../../wire/floatbody.ts";
import {
  TENSOR_PORT,
  TENSOR_VERSION,
  type TensorHeader,
  TensorKind,
  tensorCodec,
} from "../../wire/tensor.ts";
import { Ecn, trafficPlan } from "../../wire/trafficclass.ts";
import { addressingBetween, type NetworkAddress } from "../endpoint.ts";
import type { DlcpLayout, DlcpOptions } from "./job.ts";
import type { Peer } from "./peer.ts";

const CONTROL_DSCP = trafficPlan().control.dscp;
const EMPTY: Uint8Array = new Uint8Array(0);

/** What the fields of a packet about a tensor have in common. */
export type PacketFields = Partial<TensorHeader>;

/** Makes the frames of one host. */
export class PacketMaker {
  readonly #layout: DlcpLayout;
  readonly #self: number;
  readonly #from: NetworkAddress;
  readonly #options: DlcpOptions;

  constructor(layout: DlcpLayout, self: number, from: NetworkAddress, options: DlcpOptions) {
    this.#layout = layout;
    this.#self = self;
    this.#from = from;
    this.#options = options;
  }

  /** Everything but values: of the strongest class, and never dropped for being unimportant. */
  control(peer: Peer, kind: TensorKind, fields: PacketFields, body = EMPTY): Uint8Array {
    const frame = this.#frame(peer, kind, body.length, CONTROL_DSCP, Ecn.ECT_0, fields);
    frame.set(body, PAYLOAD_AT + tensorCodec.bytes);
    return this.#summed(frame);
  }

  segment(
    peer: Peer,
    part: Float32Array,
    marks: { readonly dscp: number; readonly ecn: number },
    fields: PacketFields,
  ): Uint8Array {
    const frame = this.#frame(peer, TensorKind.DATA, part.byteLength, marks.dscp, marks.ecn, fields);
    encodeFloatsInto(part, frame, PAYLOAD_AT + tensorCodec.bytes);
    return this.#summed(frame);
  }

  #frame(
    peer: Peer,
    kind: TensorKind,
    bodyBytes: number,
    dscp: number,
    ecn: number,
    fields: PacketFields,
  ): Uint8Array {
    const to = this.#layout.addresses[peer.number];
    if (to === undefined) throw new RangeError(`the job has no host ${peer.number}`);
    const addressing = { ...addressingBetween(this.#from, to, TENSOR_PORT), dscp, ecn };
    const frame = newFrame(addressing, tensorCodec.bytes + bodyBytes);
    // Field by field: this is made for every packet.
    const header = {
      version: TENSOR_VERSION,
      kind,
      reserved: 0,
      job: this.#layout.job.job,
      sender: this.#self,
      receiver: peer.number,
      incarnation: this.#options.incarnation,
      peer_incarnation: peer.incarnation,
      tensor: fields.tensor ?? 0,
      count: fields.count ?? 0,
      iteration: fields.iteration ?? 0,
      elements: fields.elements ?? 0,
      offset: fields.offset ?? 0,
      sequence: fields.sequence ?? 0,
      sent_at: fields.sent_at ?? 0,
    };
    tensorCodec.encode(header, frame, PAYLOAD_AT);
    return frame;
  }

  #summed(frame: Uint8Array): Uint8Array {
    if (this.#options.checksum) writeUdpChecksum(frame);
    return frame;
  }
}

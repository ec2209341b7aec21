// Made from google/protobuf/any.proto by src/p4runtime/proto/generate.sh; not to be edited.
import { MessageType } from "../message/descriptor.ts";

export interface Any {
  readonly typeUrl: string;
  readonly value: Uint8Array;
}
export const Any: MessageType<Any> = new MessageType("google.protobuf.Any", () => [
  [1, "type_url", "string"],
  [2, "value", "bytes"],
]);

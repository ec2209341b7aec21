// Made from google/rpc/status.proto by src/p4runtime/proto/generate.sh; not to be edited.
import { MessageType } from "../../../p4info/message/descriptor.ts";
import { Any } from "../../../p4info/generated/any.ts";

export interface Status {
  readonly code: number;
  readonly message: string;
  readonly details: readonly Any[];
}
export const Status: MessageType<Status> = new MessageType("google.rpc.Status", () => [
  [1, "code", "int32"],
  [2, "message", "string"],
  [3, "details", () => Any, "repeated"],
]);

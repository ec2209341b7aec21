import { bigintOf } from "../../p4runtime/values.ts";
import { invalidArgument } from "./status.ts";

/** The port number in the bytes of a `port` or `watch_port`. @throws StatusError when there are none or they make no port number */
export function portOf(bytes: Uint8Array): number {
  if (bytes.length === 0) throw invalidArgument("a port is empty");
  const port = bigintOf(bytes);
  if (port > 0xffff_ffffn) throw invalidArgument(`port 0x${port.toString(16)} has more than 32 bits`);
  return Number(port);
}

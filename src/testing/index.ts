/** Tests of P4 programs: docs/testing-p4.md. */
export { insert, modify, remove } from "../p4runtime/index.ts";
export {
  type DroppedPacket,
  type ProgramFiles,
  type ReceivedPacketIn,
  type SentFrame,
  TestSwitch,
} from "./test-switch.ts";

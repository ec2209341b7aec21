import { createHash } from "node:crypto";
import type { P4Info } from "../p4info/generated/p4info.ts";
import type { Init } from "../p4info/message/descriptor.ts";
import { p4infoToBinary } from "../p4info/p4info.ts";

/**
 * The cookie of a pipeline: the first 64 bits of a hash over P4Info and device config. Equal programs have equal cookies, so a controller
 * that reads a switch's cookie knows whether the program is the one it wants.
 */
export function cookieOf(p4info: Init<P4Info>, deviceConfig: Uint8Array): bigint {
  const hash = createHash("sha256");
  const info = p4infoToBinary(p4info);
  hash.update(`${info.length}:`).update(info).update(deviceConfig);
  return hash.digest().readBigUInt64BE(0);
}

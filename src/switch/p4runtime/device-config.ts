/** Tags of `p4.tmp.P4DeviceConfig`, the message in which older controllers put the JSON: `reassign`, `extras`, `device_data`. */
const tag = { reassign: 0x08, extras: 0x12, deviceData: 0x1a } as const;

/**
 * The BMv2 JSON in the device config of a pipeline: the bytes themselves, or what a `p4.tmp.P4DeviceConfig` holds. PI takes
 * that message still, and many controllers (p4lang's tutorials among them) send it. JSON never begins as it does.
 */
export function jsonOf(deviceConfig: Uint8Array): Uint8Array {
  let json: Uint8Array | undefined;
  let at = 0;
  while (at < deviceConfig.length) {
    const next = deviceConfig[at];
    if (next === tag.reassign) {
      at = varint(deviceConfig, at + 1)[1];
    } else if (next === tag.extras || next === tag.deviceData) {
      const [length, from] = varint(deviceConfig, at + 1);
      at = from + length;
      if (next === tag.deviceData) json = deviceConfig.subarray(from, at);
    } else {
      return deviceConfig;
    }
  }
  return at === deviceConfig.length && json !== undefined ? json : deviceConfig;
}

/** A varint of up to 32 bits and where it ends; what is none ends behind all bytes. */
function varint(bytes: Uint8Array, from: number): readonly [value: number, end: number] {
  let value = 0;
  for (let i = 0; i < 5; i++) {
    const byte = bytes[from + i];
    if (byte === undefined) break;
    value += (byte & 0x7f) * 2 ** (7 * i);
    if (byte < 0x80) return [value, from + i + 1];
  }
  return [0, Number.POSITIVE_INFINITY];
}

/** A MAC address in text, as a 48-bit number. Throws on anything but six hexadecimal bytes. */
export function parseMac(text: string): number {
  if (!/^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$/.test(text))
    throw new RangeError(`"${text}" is no MAC address such as 02:00:00:00:00:01`);
  return Number.parseInt(text.replaceAll(":", ""), 16);
}

export function formatMac(mac: number): string {
  return (mac.toString(16).padStart(12, "0").match(/../g) ?? []).join(":");
}

/** An IPv4 address in dotted decimal, as an unsigned 32-bit number. */
export function parseIpv4(text: string): number {
  const parts = text.split(".");
  const bytes = parts.map((part) => (/^(0|[1-9]\d{0,2})$/.test(part) ? Number(part) : Number.NaN));
  if (bytes.length !== 4 || !bytes.every((byte) => byte <= 255))
    throw new RangeError(`"${text}" is no IPv4 address such as 10.0.0.1`);
  return bytes.reduce((address, byte) => address * 256 + byte, 0);
}

export function formatIpv4(address: number): string {
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join(".");
}

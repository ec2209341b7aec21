import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonOf } from "../../src/switch/p4runtime/device-config.ts";

const text = (json: string): Uint8Array => new TextEncoder().encode(json);
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...varint(value >>> 7)];
}

describe("a device config", () => {
  it("is the JSON itself, or the older message around it", () => {
    const json = text(`{"program": "${"x".repeat(300)}"}`);
    const data = [0x1a, ...varint(json.length), ...json];
    expect(jsonOf(json)).toBe(json);
    const wrapped = [
      data,
      [0x08, 1, ...data],
      [...data, 0x08, 1],
      [0x08, 1, 0x12, 3, 0x0a, 1, 0x41, ...data],
    ];
    for (const bytes of wrapped) expect(hex(jsonOf(Uint8Array.from(bytes)))).toBe(hex(json));
  });

  it("that is neither stays what it is, for the reader of JSON to refuse", () => {
    for (const bytes of ["", "08", "0801", "1a", "1a05aa", "1affffffffffff", "1a02aabb20", "1200"]) {
      const config = Uint8Array.from(Buffer.from(bytes, "hex"));
      expect(jsonOf(config)).toBe(config);
    }
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const json = jsonOf(bytes);
        expect(json.length).toBeLessThanOrEqual(bytes.length);
      }),
    );
  });
});

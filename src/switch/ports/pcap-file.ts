/** Capture files in the classic pcap format (draft-ietf-opsawg-pcap), link type Ethernet. */

import { once } from "node:events";
import { createWriteStream, readFileSync, type WriteStream } from "node:fs";

export interface CapturedFrame {
  /** Microseconds since 1970. */
  readonly time: number;
  readonly data: Uint8Array;
}

export class PcapError extends Error {}

const microMagic = 0xa1b2c3d4;
const nanoMagic = 0xa1b23c4d;
const nextGenerationMagic = 0x0a0d0d0a;
const ethernet = 1;
const headerBytes = 24;
const recordBytes = 16;
const snapLength = 262_144;

/**
 * Reads all frames of a capture.
 *
 * @throws PcapError when the file is no capture of Ethernet frames, is cut off, or has frames that were captured in part
 */
export function readPcap(file: string): readonly CapturedFrame[] {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    throw new PcapError(`cannot read ${file}: ${error instanceof Error ? error.message : error}`);
  }
  if (bytes.length < headerBytes) throw new PcapError(`${file} is no pcap file`);
  const isLittle = [microMagic, nanoMagic].includes(bytes.readUInt32LE(0));
  const u32 = (at: number): number => (isLittle ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at));
  const magic = u32(0);
  if (magic === nextGenerationMagic)
    throw new PcapError(`${file} is pcapng; "editcap -F pcap ${file} OUT.pcap" makes a pcap file of it`);
  if (magic !== microMagic && magic !== nanoMagic) throw new PcapError(`${file} is no pcap file`);
  const linkType = u32(20) & 0xffff;
  if (linkType !== ethernet) throw new PcapError(`${file} has link type ${linkType}, not Ethernet (1)`);
  const fraction = magic === nanoMagic ? 1e-3 : 1;
  const frames: CapturedFrame[] = [];
  for (let at = headerBytes; at < bytes.length; ) {
    if (at + recordBytes > bytes.length)
      throw new PcapError(`${file} is cut off in frame ${frames.length + 1}`);
    const [captured, length] = [u32(at + 8), u32(at + 12)];
    if (captured > snapLength) throw new PcapError(`${file} is damaged in frame ${frames.length + 1}`);
    if (at + recordBytes + captured > bytes.length)
      throw new PcapError(`${file} is cut off in frame ${frames.length + 1}`);
    if (captured < length)
      throw new PcapError(
        `frame ${frames.length + 1} of ${file} has ${captured} of ${length} bytes; capture whole frames (tcpdump -s 0)`,
      );
    const time = u32(at) * 1e6 + u32(at + 4) * fraction;
    frames.push({ time, data: bytes.subarray(at + recordBytes, at + recordBytes + captured) });
    at += recordBytes + captured;
  }
  return frames;
}

/** Writes a capture, frame by frame. */
export class PcapWriter {
  readonly #stream: WriteStream;
  #failed: Error | undefined;

  private constructor(stream: WriteStream) {
    this.#stream = stream;
    stream.on("error", (error) => {
      this.#failed = error;
    });
    const header = Buffer.alloc(headerBytes);
    header.writeUInt32LE(microMagic, 0);
    header.writeUInt16LE(2, 4);
    header.writeUInt16LE(4, 6);
    header.writeUInt32LE(snapLength, 16);
    header.writeUInt32LE(ethernet, 20);
    stream.write(header);
  }

  /** Begins a new file. @throws PcapError when it cannot be written */
  static async open(file: string): Promise<PcapWriter> {
    const stream = createWriteStream(file);
    try {
      await once(stream, "open");
    } catch (error) {
      throw new PcapError(`cannot write ${file}: ${error instanceof Error ? error.message : error}`);
    }
    return new PcapWriter(stream);
  }

  /** Adds a frame, by copy. What cannot be written any more (a full disk) is told by `close`. */
  write(frame: Uint8Array, time: number): void {
    if (this.#failed !== undefined) return;
    const record = Buffer.alloc(recordBytes + frame.length);
    record.writeUInt32LE(Math.floor(time / 1e6), 0);
    record.writeUInt32LE(Math.floor(time % 1e6), 4);
    record.writeUInt32LE(frame.length, 8);
    record.writeUInt32LE(frame.length, 12);
    record.set(frame, recordBytes);
    this.#stream.write(record);
  }

  /** Ends the file. @throws PcapError when not all of it could be written */
  async close(): Promise<void> {
    if (!this.#stream.destroyed) {
      this.#stream.end();
      await once(this.#stream, "close").catch(() => {});
    }
    if (this.#failed !== undefined) throw new PcapError(`the capture is not whole: ${this.#failed.message}`);
  }
}

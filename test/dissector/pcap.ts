/**
 * A capture file of Ethernet frames (libpcap format 2.4, link type 1), one frame a millisecond from the epoch on.
 *
 * @param snapLength frames are cut to this many bytes, as a capture with `-s` does.
 */
export function pcap(frames: readonly Uint8Array[], snapLength = 65535): Buffer {
  const file = Buffer.alloc(24);
  file.writeUInt32LE(0xa1b2c3d4, 0);
  file.writeUInt16LE(2, 4);
  file.writeUInt16LE(4, 6);
  file.writeUInt32LE(snapLength, 16);
  file.writeUInt32LE(1, 20);
  const records = frames.flatMap((frame, index) => {
    const record = Buffer.alloc(16);
    record.writeUInt32LE(Math.floor(index / 1000), 0);
    record.writeUInt32LE((index % 1000) * 1000, 4);
    record.writeUInt32LE(Math.min(frame.length, snapLength), 8);
    record.writeUInt32LE(frame.length, 12);
    return [record, Buffer.from(frame.subarray(0, snapLength))];
  });
  return Buffer.concat([file, ...records]);
}

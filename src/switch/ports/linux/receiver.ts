/**
 * The receiving thread: waits for frames on all packet sockets of a switch and puts them into the ring, in batches. The kernel writes each
 * frame straight into its slot.
 */
import { parentPort, workerData } from "node:worker_threads";
import { FrameRing, type RingMemory } from "./frame-ring.ts";
import { libc, linux } from "./libc.ts";
import { MessageArray } from "./messages.ts";
import { completeFrame, tagBytes } from "./offloads.ts";

export interface ReceiverData {
  readonly ring: RingMemory;
  readonly sockets: readonly number[];
  /** An eventfd that is written to when the thread is to look up. */
  readonly wakeUp: number;
}

/** What it tells: that frames are there for a reader that slept, or that a source failed. */
export type ReceiverMessage =
  | { readonly kind: "frames" }
  | { readonly kind: "error"; readonly source: number; readonly code: string };

const batch = 64;
const again = 11;
const interrupted = 4;

receive(workerData);

function receive({ ring: memory, sockets, wakeUp }: ReceiverData): void {
  const c = libc();
  const ring = new FrameRing(memory);
  const messages = new MessageArray(c, ring.slots, ring.frames);
  for (let slot = 0; slot < ring.slots; slot++)
    messages.setBuffer(slot, slot * ring.slotBytes + tagBytes, ring.slotBytes - tagBytes);
  // struct pollfd: int fd, short events, short revents.
  const polled = new DataView(new ArrayBuffer(8 * (sockets.length + 1)));
  [...sockets, wakeUp].forEach((socket, n) => {
    polled.setInt32(8 * n, socket, true);
    polled.setInt16(8 * n + 4, linux.pollIn, true);
  });
  const polledBytes = new Uint8Array(polled.buffer);

  const tell = (message: ReceiverMessage): void => parentPort?.postMessage(message);

  /** Takes what is there from one socket, a batch at most. */
  const take = (source: number, socket: number): void => {
    const { first, count } = ring.freeSlots();
    const most = Math.min(count, batch);
    for (let n = 0; n < most; n++) messages.wantControl(first + n);
    const got = c.recvmmsg(socket, messages.from(first), most, linux.messageDontWait, null);
    if (got < 0) {
      const errno = c.errno();
      if (errno !== again && errno !== interrupted) tell({ kind: "error", source, code: c.errorName(errno) });
      return;
    }
    for (let slot = first; slot < first + got; slot++) {
      const begin = slot * ring.slotBytes + tagBytes;
      const length = messages.length(slot);
      if ((messages.flags(slot) & linux.messageTruncated) !== 0) {
        ring.countTooLong(source);
        ring.describe(slot, source, 0, 0);
      } else if (messages.hasAuxdata(slot)) {
        const at = completeFrame(
          ring.frames,
          begin,
          length,
          messages.auxStatus(slot),
          messages.auxVlan(slot),
        );
        ring.describe(slot, source, at - slot * ring.slotBytes, length + begin - at);
      } else ring.describe(slot, source, tagBytes, length);
    }
    if (ring.publish(got)) tell({ kind: "frames" });
  };

  while (!ring.isClosed) {
    if (c.poll(polledBytes, sockets.length + 1, -1) < 0) continue;
    sockets.forEach((socket, source) => {
      if (polled.getInt16(8 * source + 6, true) === 0) return;
      // The kernel keeps what finds no room here, and counts what finds none there.
      while (ring.waiting >= ring.slots && !ring.isClosed) ring.waitForRoom(100);
      take(source, socket);
    });
  }
}

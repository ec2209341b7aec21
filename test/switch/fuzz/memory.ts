import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

export interface Memory {
  /** Bytes of live objects and of buffers beside the heap. */
  readonly heap: number;
  readonly resident: number;
}

/** What the process holds after a full collection. */
export function memoryNow(): Memory {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  // Twice: what finalizers let go is free only after them.
  if (typeof collect === "function") for (let i = 0; i < 2; i++) collect();
  const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
  return { heap: heapUsed + arrayBuffers, resident: rss };
}

export function describeMemory({ heap, resident }: Memory): string {
  return `heap ${(heap / 1e6).toFixed(1)} MB, resident ${(resident / 1e6).toFixed(0)} MB`;
}

import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { BindingsAnswer, BindingsRequest } from "../backends/bindings/thread.ts";
import type { BindingsMaker } from "../backends/index.ts";

export interface BindingsThread {
  readonly make: BindingsMaker;
  end(): Promise<unknown>;
}

/**
 * Makes bindings in a thread of its own, so that what prints them loads while the program is read and checked. Undefined where modules
 * are TypeScript sources, which a thread does not know; then they are made in this one.
 */
export function bindingsThread(): BindingsThread | undefined {
  if (import.meta.url.endsWith(".ts")) return undefined;
  const worker = new Worker(new URL("../backends/bindings/thread.js", import.meta.url));
  worker.unref();
  let failure: unknown;
  worker.on("error", (error) => {
    failure = error;
  });
  return {
    make: async (info, name) => {
      if (failure !== undefined) throw failure;
      worker.ref();
      worker.postMessage({ info, name } satisfies BindingsRequest);
      const [answer]: BindingsAnswer[] = await once(worker, "message");
      worker.unref();
      if (answer === undefined || "error" in answer) throw new Error(answer?.error ?? "no bindings");
      return answer.text;
    },
    end: () => worker.terminate(),
  };
}

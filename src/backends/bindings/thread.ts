import { parentPort } from "node:worker_threads";
import { p4infoFromBinary } from "../../p4info/index.ts";
import { bindingsModule } from "./index.ts";
import { loadPrinter } from "./print.ts";

/** A thread that makes bindings: it loads ts-morph at once, while others still read the program. */
export interface BindingsRequest {
  readonly info: Uint8Array;
  readonly name: string;
}

export type BindingsAnswer = { readonly text: string } | { readonly error: string };

const port = parentPort;
if (port !== null) {
  port.on("message", ({ info, name }: BindingsRequest) => {
    port.postMessage(answer(info, name));
  });
  loadPrinter();
}

function answer(info: Uint8Array, name: string): BindingsAnswer {
  try {
    return { text: bindingsModule(p4infoFromBinary(info), { name }) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

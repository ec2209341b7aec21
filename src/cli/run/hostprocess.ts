import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { EnvironmentError } from "../exit.ts";

/** What a host of a scenario is given: it runs in a process of its own, and talks with the scenario alone. */
export interface HostContext {
  /** What the scenario gave it. */
  readonly settings: unknown;
  /** Tells the scenario something: whatever can be cloned, arrays of numbers too. */
  tell(message: unknown): void;
  /** What the scenario tells next. */
  heard(): Promise<unknown>;
}

/** A host of a scenario, seen from there. */
export interface RunningHost {
  readonly pid: number;
  tell(message: unknown): void;
  /** What the host tells next. Rejects with EnvironmentError when it has ended instead. */
  heard(): Promise<unknown>;
  kill(signal: NodeJS.Signals): void;
  /** Ends it, and waits for that. */
  stop(): Promise<void>;
}

/** Option of `gradplane run` that makes the process one of the scenario's hosts. */
export const HOST_OPTION = "--as-host";

const executable = fileURLToPath(new URL("../../../bin/gradplane.js", import.meta.url));

/** Messages in the order of coming, for one reader. */
class Mailbox {
  readonly #letters: unknown[] = [];
  readonly #readers: { resolve(letter: unknown): void; reject(error: Error): void }[] = [];
  #end: Error | undefined;

  put(letter: unknown): void {
    const reader = this.#readers.shift();
    if (reader === undefined) this.#letters.push(letter);
    else reader.resolve(letter);
  }

  close(error: Error): void {
    this.#end ??= error;
    for (const { reject } of this.#readers.splice(0)) reject(this.#end);
  }

  next(): Promise<unknown> {
    if (this.#letters.length > 0) return Promise.resolve(this.#letters.shift());
    if (this.#end !== undefined) return Promise.reject(this.#end);
    return new Promise((resolve, reject) => this.#readers.push({ resolve, reject }));
  }
}

/** Starts a host of the scenario in `file`. It ends with this process, even when that ends by force. */
export function startHostProcess(file: string, name: string, settings: unknown): RunningHost {
  const child = spawn(process.execPath, [executable, "run", file, HOST_OPTION, name], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    serialization: "advanced",
  });
  const { pid } = child;
  if (pid === undefined) throw new EnvironmentError(`host ${name} has no process`);
  const mailbox = new Mailbox();
  child.on("message", (message) => mailbox.put(message));
  child.on("error", (error) => mailbox.close(new EnvironmentError(`host ${name}: ${error.message}`)));
  // What it said last comes before.
  child.once("close", (status, signal) =>
    mailbox.close(new EnvironmentError(`host ${name} has ended (${signal ?? status})`)),
  );
  const tell = (message: unknown): void => {
    // A host that has ended hears no more; whoever waits for it is told.
    if (child.connected) child.send({ message }, () => {});
  };
  tell(settings);
  return {
    pid,
    tell,
    heard: () => mailbox.next(),
    kill: (signal) => void child.kill(signal),
    stop: () => stopped(child),
  };
}

function stopped(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) {
      resolve();
      return;
    }
    child.once("exit", () => resolve());
    child.kill("SIGKILL");
  });
}

/** Runs in the host's process until its work is done. @throws EnvironmentError that names the host, when the work fails. */
export async function serveHost(name: string, work: (host: HostContext) => Promise<void>): Promise<void> {
  const mailbox = new Mailbox();
  process.on("message", (envelope: { readonly message: unknown }) => mailbox.put(envelope.message));
  process.once("disconnect", () => process.exit(0));
  const settings = await mailbox.next();
  try {
    await work({
      settings,
      tell: (message) => void process.send?.(message),
      heard: () => mailbox.next(),
    });
  } catch (error) {
    throw new EnvironmentError(`host ${name}: ${error instanceof Error ? error.message : String(error)}`);
  }
  process.disconnect();
}

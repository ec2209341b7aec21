import { once } from "node:events";
import { createWriteStream, type WriteStream } from "node:fs";
import type { TraceEvent } from "../switch/index.ts";
import { traceLine } from "../switch/index.ts";
import { EnvironmentError, UserError } from "./exit.ts";

/** From the most to the least that is said. */
const levels = ["trace", "debug", "info", "warn", "error", "off"] as const;
export type LogLevel = (typeof levels)[number];

/** `warning` and `critical` are simple_switch's words. */
const otherWords: Readonly<Record<string, LogLevel>> = { warning: "warn", critical: "error" };

export function logLevel(text: string): LogLevel {
  const found = levels.find((level) => level === text) ?? otherWords[text];
  if (found === undefined) throw new UserError(`--log-level is "${text}"; it is one of ${levels.join(", ")}`);
  return found;
}

/** What a switch says of itself: lines with time and level, on stderr, in a file, or both. */
export class SwitchLog {
  readonly #level: number;
  readonly #toConsole: boolean;
  readonly #file: WriteStream | undefined;
  #packets = 0;
  #failed: Error | undefined;

  private constructor(level: LogLevel, toConsole: boolean, file: WriteStream | undefined) {
    this.#level = levels.indexOf(level);
    this.#toConsole = toConsole;
    this.#file = file;
    file?.on("error", (error) => {
      this.#failed ??= error;
    });
  }

  /** @throws EnvironmentError when the file cannot be written */
  static async open(options: {
    readonly level: LogLevel;
    readonly toConsole: boolean;
    readonly file: string | undefined;
  }): Promise<SwitchLog> {
    const { level, toConsole, file } = options;
    if (file === undefined) return new SwitchLog(level, toConsole, undefined);
    const stream = createWriteStream(file, { flags: "a" });
    await once(stream, "open").catch((error: unknown) => {
      throw new EnvironmentError(`cannot write ${file}: ${error instanceof Error ? error.message : error}`);
    });
    return new SwitchLog(level, toConsole, stream);
  }

  isOn(level: LogLevel): boolean {
    return levels.indexOf(level) >= this.#level && (this.#toConsole || this.#file !== undefined);
  }

  write(level: Exclude<LogLevel, "off">, message: string): void {
    if (!this.isOn(level)) return;
    const line = `${new Date().toISOString()} ${level.padEnd(5)} ${message}\n`;
    if (this.#toConsole) process.stderr.write(line);
    if (this.#failed === undefined) this.#file?.write(line);
  }

  /** One line for each step of each packet. */
  readonly trace = (event: TraceEvent): void => {
    if (event.kind === "ingress") this.#packets++;
    this.write(
      "trace",
      `${event.kind === "ingress" ? `packet ${this.#packets}: ` : "  "}${traceLine(event)}`,
    );
  };

  /** @throws EnvironmentError when not all could be written */
  async close(): Promise<void> {
    const file = this.#file;
    if (file !== undefined && !file.destroyed) {
      file.end();
      await once(file, "close").catch(() => {});
    }
    if (this.#failed !== undefined)
      throw new EnvironmentError(`the log is not whole: ${this.#failed.message}`);
  }
}

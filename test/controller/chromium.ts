import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { onTestFinished } from "vitest";
import { onPath } from "../../src/backends/onpath.ts";

/** Debian's chromium; undefined when it is not installed. */
export const chromium: string | undefined = ["chromium", "chromium-browser", "google-chrome"]
  .map((name) => onPath(name, process.env.PATH))
  .find((path) => path !== undefined);
if (chromium === undefined)
  console.log("chromium is not here: the controller's page is not opened in a browser");

type Json = Readonly<Record<string, unknown>>;

/** A page in a browser without a window, driven by the DevTools protocol over a pipe. */
export class BrowserPage {
  readonly #to: Writable;
  readonly #waiting = new Map<number, { resolve(value: Json): void; reject(error: Error): void }>();
  /** What the page has thrown, or written as an error. */
  readonly errors: string[] = [];
  #session: string | undefined;
  #calls = 0;

  private constructor(child: ChildProcess, to: Writable, from: Readable) {
    this.#to = to;
    let rest = "";
    from.setEncoding("utf8").on("data", (text: string) => {
      const messages = (rest + text).split("\0");
      rest = messages.pop() ?? "";
      for (const message of messages) this.#heard(JSON.parse(message));
    });
    child.once("exit", () => {
      for (const { reject } of this.#waiting.values()) reject(new Error("the browser has ended"));
    });
  }

  /** Opens a page; the browser ends with the test. */
  static async open(url: string, size = { width: 1280, height: 1100 }): Promise<BrowserPage> {
    const profile = mkdtempSync(join(tmpdir(), "gradplane-chromium-"));
    const child = spawn(
      chromium ?? "chromium",
      [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--remote-debugging-pipe",
        `--user-data-dir=${profile}`,
        `--window-size=${size.width},${size.height}`,
      ],
      { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] },
    );
    const [, , , to, from] = child.stdio;
    if (!(to instanceof Writable) || !(from instanceof Readable)) throw new Error("the browser has no pipe");
    onTestFinished(async () => {
      // Asked to end, it ends its own processes, too, which write into the folder.
      const limit = setTimeout(() => child.kill("SIGKILL"), 10_000);
      to.write(`${JSON.stringify({ id: 0, method: "Browser.close" })}\0`);
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
      clearTimeout(limit);
      rmSync(profile, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
    });
    const page = new BrowserPage(child, to, from);
    const { targetId } = await page.call("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await page.call("Target.attachToTarget", { targetId, flatten: true });
    page.#session = String(sessionId);
    for (const domain of ["Runtime", "Page", "Log"]) await page.call(`${domain}.enable`);
    await page.call("Page.navigate", { url });
    return page;
  }

  call(method: string, params: Json = {}): Promise<Json> {
    const id = ++this.#calls;
    const session = this.#session === undefined ? {} : { sessionId: this.#session };
    this.#to.write(`${JSON.stringify({ id, method, params, ...session })}\0`);
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  /** The value of an expression in the page. */
  async value(expression: string): Promise<unknown> {
    const answer = await this.call("Runtime.evaluate", {
      expression,
      returnByValue: true,
      awaitPromise: true,
    });
    const { result, exceptionDetails } = answer as {
      readonly result: { readonly value?: unknown };
      readonly exceptionDetails?: object;
    };
    if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails));
    return result.value;
  }

  /** What is to be read in the page. */
  async text(selector = "body"): Promise<string> {
    return String(await this.value(`document.querySelector(${JSON.stringify(selector)})?.textContent ?? ""`));
  }

  async click(selector: string): Promise<void> {
    await this.value(`document.querySelector(${JSON.stringify(selector)}).click()`);
  }

  /** Types into a field, as a user does. */
  async type(selector: string, text: string): Promise<void> {
    await this.value(`document.querySelector(${JSON.stringify(selector)}).focus()`);
    await this.call("Input.insertText", { text });
  }

  /** A picture of the page, as PNG. */
  async picture(): Promise<Buffer> {
    const { data } = await this.call("Page.captureScreenshot", {
      format: "png",
      captureBeyondViewport: true,
    });
    return Buffer.from(String(data), "base64");
  }

  #heard(message: Json): void {
    const waiting = typeof message.id === "number" ? this.#waiting.get(message.id) : undefined;
    if (typeof message.id === "number") this.#waiting.delete(message.id);
    if (message.error !== undefined) waiting?.reject(new Error(JSON.stringify(message.error)));
    else waiting?.resolve((message.result ?? {}) as Json);
    const told = JSON.stringify(message.params);
    if (message.method === "Runtime.exceptionThrown") this.errors.push(told);
    if (message.method === "Log.entryAdded" && told.includes('"level":"error"')) this.errors.push(told);
  }
}

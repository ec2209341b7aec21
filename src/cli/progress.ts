/** Progress on stderr: one line that is rewritten; nothing when stderr is no terminal. */
export class Progress {
  readonly #stream = process.stderr;
  #shown = false;
  #last = 0;

  /** Shows a line; at most ten a second, so that the work is not slowed. */
  show(text: string): void {
    const now = Date.now();
    if (!this.#stream.isTTY || now - this.#last < 100) return;
    this.#last = now;
    this.#shown = true;
    this.#stream.write(`\r\x1b[K${text.slice(0, (this.#stream.columns ?? 80) - 1)}`);
  }

  /** A line that stays. */
  note(text: string): void {
    this.clear();
    this.#stream.write(`${text}\n`);
  }

  clear(): void {
    if (this.#shown) this.#stream.write("\r\x1b[K");
    this.#shown = false;
  }
}

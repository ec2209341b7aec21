import { type Rate, type SideChannel, SideChannelError } from "./sidechannel.ts";

/** Milliseconds for one request. */
const patience = 5000;

/** The side channel of the embedded switch: HTTP requests to its `--admin-addr`. */
export class EmbeddedSideChannel implements SideChannel {
  readonly kind = "embedded";
  readonly address: string;
  #last: Promise<unknown> = Promise.resolve();

  /** @param address `host:port` */
  constructor(address: string) {
    this.address = address;
  }

  async setPortRate(port: number | undefined, rate: Rate): Promise<void> {
    await this.#request("PATCH", `/ports/${port ?? "all"}`, { rate: rateText(rate) });
  }

  async setQueueRate(port: number, queue: number, rate: Rate): Promise<void> {
    await this.#request("PATCH", `/ports/${port}`, { queues: { [queue]: { rate: rateText(rate) } } });
  }

  async setQueueDepth(
    { port, queue }: { readonly port?: number; readonly queue?: number },
    packets: number,
  ): Promise<void> {
    await this.#request("PATCH", `/ports/${port ?? "all"}`, {
      queues: { [queue ?? "all"]: { depth: { packets } } },
    });
  }

  async readRegister(name: string, from: number, count: number): Promise<readonly bigint[]> {
    const path = `/registers/${encodeURIComponent(name)}?from=${from}&count=${count}`;
    const answer = await this.#request("GET", path);
    if (typeof answer === "object" && answer !== null && "values" in answer && Array.isArray(answer.values))
      return answer.values.map((value) => BigInt(String(value)));
    throw new SideChannelError("unreachable", this.address, "what answers is no switch");
  }

  async writeRegister(name: string, index: number, value: bigint): Promise<void> {
    await this.#request("PATCH", `/registers/${encodeURIComponent(name)}`, {
      values: { [index]: String(value) },
    });
  }

  async close(): Promise<void> {
    await this.#last.catch(() => {});
  }

  #request(method: string, path: string, body?: object): Promise<unknown> {
    const next = this.#last.catch(() => {}).then(() => this.#send(method, path, body));
    this.#last = next;
    return next;
  }

  async #send(method: string, path: string, body?: object): Promise<unknown> {
    let response: Response;
    let text: string;
    try {
      response = await fetch(`http://${this.address}${path}`, {
        method,
        signal: AbortSignal.timeout(patience),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      text = await response.text();
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      throw new SideChannelError(
        "unreachable",
        this.address,
        cause instanceof Error ? cause.message : String(cause),
      );
    }
    const answer = parsed(text);
    if (response.ok && answer !== undefined) return answer;
    if (typeof answer === "object" && answer !== null && "error" in answer)
      throw new SideChannelError("refused", this.address, String(answer.error));
    throw new SideChannelError("unreachable", this.address, "what answers is no switch");
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function rateText(rate: Rate): string {
  switch (rate.kind) {
    case "unlimited":
      return "unlimited";
    case "packetsPerSecond":
      return `${rate.rate} packets/s`;
    case "bitsPerSecond":
      return `${rate.rate} bit/s`;
  }
}

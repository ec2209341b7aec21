import { Server, ServerCredentials, type ServerWritableStream, status } from "@grpc/grpc-js";
import type { Init } from "../../p4info/message/descriptor.ts";
import type { FleetJobs, JobNews } from "../fleetjobs.ts";
import type { JobStatus, LayoutsRequest, LayoutUpdate, ListResponse } from "./generated/jobs.ts";
import type { JobRecord } from "./jobrecord.ts";
import { layoutMessage, memberOf, refusalMessage, specOf, targetOf } from "./messages.ts";
import { JobRefusal } from "./refusal.ts";
import { type JobsHandlers, JobsService } from "./service.ts";

/** Certificates in PEM. */
export interface JobServerTls {
  readonly certificate: Buffer;
  readonly key: Buffer;
  /** Authorities of clients' certificates, which are then required. */
  readonly clientAuthorities?: Buffer;
}

export interface JobServerOptions {
  /** `host:port`, port 0 for any free one. */
  readonly address: string;
  /** The jobs while this controller steers the switches; undefined while another one does. */
  readonly jobs: () => FleetJobs | undefined;
  /** Plain text unless given. */
  readonly tls?: JobServerTls;
}

/** Layouts that may wait for a host that does not read; then its stream is ended, and it asks again. */
const MOST_UNREAD = 1 << 22;

/** Serves the job service by gRPC. What it is asked is decided by the `JobDesk`; a refusal is an answer, no failure of the call. */
export class JobServer {
  readonly #server: Server;
  readonly #options: JobServerOptions;
  readonly #streams = new Set<ServerWritableStream<LayoutsRequest, Init<LayoutUpdate>>>();
  #port = 0;

  private constructor(options: JobServerOptions) {
    this.#options = options;
    this.#server = new Server({
      "grpc.max_receive_message_length": 16 << 20,
      // Hosts whose machine has lost its power keep nothing here.
      "grpc.keepalive_time_ms": 20_000,
      "grpc.keepalive_timeout_ms": 10_000,
    });
    this.#server.addService(JobsService, this.#handlers());
  }

  /** @throws Error when the address cannot be had */
  static async start(options: JobServerOptions): Promise<JobServer> {
    const server = new JobServer(options);
    const { tls } = options;
    const credentials =
      tls === undefined
        ? ServerCredentials.createInsecure()
        : ServerCredentials.createSsl(
            tls.clientAuthorities ?? null,
            [{ cert_chain: tls.certificate, private_key: tls.key }],
            tls.clientAuthorities !== undefined,
          );
    server.#port = await new Promise((resolve, reject) => {
      server.#server.bindAsync(options.address, credentials, (error, port) =>
        error === null ? resolve(port) : reject(error),
      );
    });
    return server;
  }

  get port(): number {
    return this.#port;
  }

  /** Ends all streams: hosts look for the controller that steers now. */
  dismiss(): void {
    for (const stream of this.#streams) stream.end();
  }

  close(): void {
    this.dismiss();
    this.#server.forceShutdown();
  }

  #jobs(): FleetJobs {
    const jobs = this.#options.jobs();
    if (jobs === undefined)
      throw new JobRefusal("NOT_LEADER", "this controller does not steer the switches now");
    return jobs;
  }

  #handlers(): JobsHandlers {
    return {
      Join: (call, answer) => {
        const { member, spec } = call.request;
        outcome(
          async () => {
            const joined = await this.#jobs().join(
              memberOf(member),
              spec === undefined ? undefined : specOf(spec),
            );
            const { heartbeat, silence } = this.#jobs().desk.times;
            return { outcome: { case: "joined" as const, value: { ...joined, heartbeat, silence } } };
          },
          (refusal) => ({ outcome: { case: "refusal" as const, value: refusalMessage(refusal) } }),
          answer,
        );
      },
      Heartbeat: (call, answer) => {
        const { member, openRound } = call.request;
        unless(answer, () =>
          this.#jobs().heartbeat(memberOf(member), openRound === 0 ? undefined : openRound),
        );
      },
      Leave: (call, answer) => unless(answer, () => this.#jobs().leave(memberOf(call.request.member))),
      Move: (call, answer) =>
        unless(answer, () => this.#jobs().move(call.request.job, targetOf(call.request))),
      Layouts: (call) => this.#stream(call),
      List: (_, answer) =>
        outcome<Init<ListResponse>>(
          async () => ({ jobs: this.#jobs().desk.jobs.map((record) => this.#statusOf(record)) }),
          (refusal) => ({ refusal: refusalMessage(refusal) }),
          answer,
        ),
    };
  }

  #stream(call: ServerWritableStream<LayoutsRequest, Init<LayoutUpdate>>): void {
    const refuse = (error: unknown): void => {
      if (!(error instanceof JobRefusal)) throw error;
      call.write({ update: { case: "refusal", value: refusalMessage(error) } });
      call.end();
    };
    let stop = (): void => {};
    try {
      const member = memberOf(call.request.member);
      const jobs = this.#jobs();
      // Who has not joined, or not by this start, hears nothing of the job.
      jobs.heartbeat(member, undefined);
      this.#streams.add(call);
      stop = jobs.listen(member.job, (news) => {
        call.write(updateOf(news));
        if (news.kind === "ended" || call.writableLength > MOST_UNREAD) call.end();
      });
    } catch (error) {
      refuse(error);
    }
    const over = (): void => {
      stop();
      this.#streams.delete(call);
    };
    call.on("cancelled", over);
    call.on("close", over);
    call.on("error", over);
    call.on("finish", over);
  }

  #statusOf({ name, number, server, workers }: JobRecord): Init<JobStatus> {
    const desk = this.#jobs().desk;
    const placement = desk.placementOf(name);
    return {
      name,
      job: number,
      generation: placement?.generation ?? 0,
      switch: placement?.on ?? "",
      slotBase: placement?.slotBase ?? 0,
      rows: placement?.rows ?? 0,
      openRound: desk.openRoundOf(name),
      members: [server, ...workers].map((member) => {
        const { host, state, life } = member;
        return { host, isServer: member === server, state, life };
      }),
    };
  }
}

type Answer<T> = (error: { code: status; details: string } | null, value?: T) => void;

/** Answers with what the work gives, or with its refusal. Anything else is a fault of the controller, and told as such. */
function outcome<T>(work: () => Promise<T>, refuse: (refusal: JobRefusal) => T, answer: Answer<T>): void {
  work().then(
    (value) => answer(null, value),
    (error: unknown) => {
      if (error instanceof JobRefusal) answer(null, refuse(error));
      else answer({ code: status.INTERNAL, details: error instanceof Error ? error.message : String(error) });
    },
  );
}

/** The same for requests whose answer says nothing but a refusal. */
function unless(answer: Answer<{ refusal?: ReturnType<typeof refusalMessage> }>, work: () => void): void {
  outcome(
    async () => {
      work();
      return {};
    },
    (refusal) => ({ refusal: refusalMessage(refusal) }),
    answer,
  );
}

function updateOf(news: JobNews): Init<LayoutUpdate> {
  return news.kind === "layout"
    ? { update: { case: "layout", value: layoutMessage(news.layout, news.way) } }
    : { update: { case: "ended", value: { reason: news.reason } } };
}

import type { Queue } from "../../ir/index.ts";
import type { TnaProgram } from "./lowered.ts";

/**
 * What a Tofino's control plane has to set beside the program's tables, as entries of BFRuntime's own tables (`bf_rt_tm_tf1.json` of
 * open-p4studio; `$mirror.cfg`). Tofino's queues have no priority by their numbers: without these all of them share a port equally.
 */
interface Settings {
  readonly program: string;
  /** Where the keys of a queue come from, for each port. */
  readonly queueKeys?: { readonly pg_id: string; readonly pg_queue: string };
  readonly queues?: readonly {
    readonly queue: number;
    readonly entries: readonly {
      readonly table: string;
      readonly action?: string;
      readonly data: Readonly<Record<string, string | number | boolean>>;
    }[];
  }[];
  readonly mirrorSessions?: {
    readonly table: string;
    readonly action: string;
    readonly key: string;
    readonly data: Readonly<Record<string, string | number | boolean>>;
  };
}

/** Buffer cells of Tofino 1 are 80 bytes; a full packet of 1500 with its headers takes so many. */
const CELLS_PER_PACKET = 19;
/** Red is the smallest share that the hardware has; what is left is for what must not be lost. */
const RED_SHARE = "12.5%";
const YELLOW_SHARE = "50%";
const SHARES_OF_RED = 8;

/** `bfrt.json`, or undefined when there is nothing to set. */
export function bfrtSettings(program: TnaProgram): string | undefined {
  const queues = program.source.queues ?? [];
  if (queues.length === 0 && program.clone === undefined) return undefined;
  const { clone } = program;
  const settings: Settings = {
    program: program.source.name,
    ...(queues.length === 0
      ? {}
      : {
          queueKeys: {
            pg_id: "tf1.tm.port.cfg, entry of the port: pg_id",
            pg_queue: "tf1.tm.port.cfg, entry of the port: egress_qid_queues[queue]",
          },
          queues: queues.map((q) => ({ queue: q.number, entries: entriesOf(q) })),
        }),
    ...(clone === undefined
      ? {}
      : {
          mirrorSessions: {
            table: "$mirror.cfg",
            action: "$normal",
            key: "$sid: the number of the clone session",
            data: {
              $direction: "INGRESS",
              $session_enable: true,
              $ucast_egress_port_valid: true,
              ...(clone.cut === undefined ? {} : { $max_pkt_len: clone.cut.bytes }),
            },
          },
        }),
  };
  return `${JSON.stringify(settings, null, 2)}\n`;
}

function entriesOf({ priority, keepRed }: Queue) {
  const scheduling =
    priority === undefined
      ? []
      : [
          {
            table: "tf1.tm.queue.sched_cfg",
            data: { scheduling_enable: true, max_priority: String(priority) },
          },
        ];
  const colours =
    keepRed === undefined
      ? []
      : [
          {
            table: "tf1.tm.queue.buffer",
            action: "shared_pool",
            data: {
              pool_id: "EG_APP_POOL_0",
              pool_max_cells: SHARES_OF_RED * keepRed * CELLS_PER_PACKET,
              dynamic_baf: "DISABLE",
              tail_drop_enable: true,
            },
          },
          {
            table: "tf1.tm.queue.color",
            data: { drop_enable: true, drop_limit_red: RED_SHARE, drop_limit_yellow: YELLOW_SHARE },
          },
        ];
  return [...scheduling, ...colours];
}

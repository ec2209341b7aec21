import type { FramePort } from "../ports/port.ts";
import type { Switch } from "../switch.ts";

type Sample = readonly [labels: string, value: number];

/** One family in Prometheus' text format; none without samples. */
function family(
  name: string,
  type: "counter" | "gauge",
  help: string,
  samples: readonly Sample[],
): readonly string[] {
  if (samples.length === 0) return [];
  return [
    `# HELP gradplane_switch_${name} ${help}`,
    `# TYPE gradplane_switch_${name} ${type}`,
    ...samples.map(([labels, value]) => `gradplane_switch_${name}${labels} ${value}`),
  ];
}

/** Figures that the program around the switch has. */
export interface OuterFigures {
  readonly ports: ReadonlyMap<number, FramePort>;
  /** Frames for ports to which nothing is attached. */
  readonly unconnectedFrames: number;
}

/** All figures of a switch in Prometheus' text format. */
export function switchMetrics(core: Switch, outer?: OuterFigures): string {
  const ports = core.usedPorts();
  const perPort = (figure: (port: number) => number): readonly Sample[] =>
    ports.map((port) => [`{port="${port}"}`, figure(port)]);
  const manager = core.trafficManager;
  const queues = manager
    .portNumbers()
    .flatMap((port) =>
      Array.from({ length: manager.options.queues }, (_, queue) => ({ port, queue })).filter(
        ({ queue }) =>
          manager.counters(port, queue).enqueued + manager.counters(port, queue).droppedBytes > 0,
      ),
    );
  type Counters = ReturnType<typeof manager.counters>;
  const perQueue = (figure: (of: Counters, port: number, queue: number) => number): readonly Sample[] =>
    queues.map(({ port, queue }) => [
      `{port="${port}",queue="${queue}"}`,
      figure(manager.counters(port, queue), port, queue),
    ]);
  const queueDrops = queues.flatMap(({ port, queue }) => {
    const { dropped } = manager.counters(port, queue);
    return (["queueFull", "bufferFull", "selectiveDrop"] as const).map(
      (reason): Sample => [`{port="${port}",queue="${queue}",reason="${reason}"}`, dropped[reason]],
    );
  });
  const errors = [...(outer?.ports ?? [])].flatMap(([port, attached]) =>
    Object.entries(attached.statistics().errors).map(
      ([code, count]): Sample => [`{port="${port}",code="${code}"}`, count],
    ),
  );
  const program = core.hasPipeline ? core.engine : undefined;
  const lines = [
    ...family("has_pipeline", "gauge", "1: a program runs", [["", program === undefined ? 0 : 1]]),
    ...family(
      "received_packets_total",
      "counter",
      "packets by port",
      perPort((p) => core.port(p).rxPackets),
    ),
    ...family(
      "received_bytes_total",
      "counter",
      "bytes by port",
      perPort((p) => core.port(p).rxBytes),
    ),
    ...family(
      "sent_packets_total",
      "counter",
      "packets by port",
      perPort((p) => core.port(p).txPackets),
    ),
    ...family(
      "sent_bytes_total",
      "counter",
      "bytes by port",
      perPort((p) => core.port(p).txBytes),
    ),
    ...family(
      "dropped_packets_total",
      "counter",
      "packets that ended inside, by reason",
      Object.entries(core.drops).map(([reason, count]) => [`{reason="${reason}"}`, count]),
    ),
    ...family(
      "port_errors_total",
      "counter",
      "frames that a port could not receive or send, by code",
      errors,
    ),
    ...family(
      "unconnected_frames_total",
      "counter",
      "frames for ports to which nothing is attached",
      outer === undefined ? [] : [["", outer.unconnectedFrames]],
    ),
    ...family(
      "queue_packets",
      "gauge",
      "packets that wait",
      perQueue((_, p, q) => manager.depth(p, q)),
    ),
    ...family(
      "queue_bytes",
      "gauge",
      "bytes that wait",
      perQueue((_, p, q) => manager.depthBytes(p, q)),
    ),
    ...family(
      "queue_highest_packets",
      "gauge",
      "most that waited",
      perQueue((of) => of.highest),
    ),
    ...family(
      "queue_highest_bytes",
      "gauge",
      "most that waited",
      perQueue((of) => of.highestBytes),
    ),
    ...family(
      "queue_enqueued_packets_total",
      "counter",
      "packets taken",
      perQueue((of) => of.enqueued),
    ),
    ...family(
      "queue_enqueued_bytes_total",
      "counter",
      "bytes taken",
      perQueue((of) => of.enqueuedBytes),
    ),
    ...family(
      "queue_marked_packets_total",
      "counter",
      "packets marked CE",
      perQueue((of) => of.marked),
    ),
    ...family("queue_dropped_packets_total", "counter", "packets refused, by reason", queueDrops),
    ...family(
      "queue_dropped_bytes_total",
      "counter",
      "bytes refused",
      perQueue((of) => of.droppedBytes),
    ),
    ...family(
      "table_entries",
      "gauge",
      "entries by table",
      [...(program?.tables.values() ?? [])].map((table) => [`{table="${table.name}"}`, table.size]),
    ),
    ...family(
      "program_faults_total",
      "counter",
      "mistakes of the program that did not stop a packet",
      Object.entries(program?.faults ?? {}).map(([kind, count]) => [`{kind="${kind}"}`, count]),
    ),
  ];
  return `${lines.join("\n")}\n`;
}

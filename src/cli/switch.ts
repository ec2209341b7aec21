import { readFileSync } from "node:fs";
import { p4infoFromFile } from "../p4info/index.ts";
import { Schema } from "../p4runtime/schema.ts";
import { Switch, SwitchConfigError, SwitchRunner, UdpPort, type UdpPortOptions } from "../switch/index.ts";
import { P4RuntimeServer } from "../switch/p4runtime/server.ts";
import { P4RuntimeServerError } from "../switch/p4runtime/server-error.ts";
import { EmbeddedSwitchTarget } from "../switch/p4runtime/switch-target.ts";
import { EnvironmentError, UserError } from "./exit.ts";
import { parse, type Verb, wholeNumber } from "./verb.ts";

export const switchVerb: Verb = {
  help: `Usage: gradplane switch (--json FILE --p4info FILE | --no-p4) -i PORT@udp[:LOCAL[:PEER]] ... [options]

Runs a BMv2 JSON program, or with --no-p4 waits for one over P4Runtime. Prints one line when it is ready:
  ready grpc=HOST:PORT PORT@udp:LOCAL ...
SIGTERM and SIGINT end it.

  -i PORT@udp:LOCAL:PEER   a port: UDP port of 127.0.0.1 to listen on (0: any) and to send to
                           (left out: whoever sent last); one Ethernet frame per datagram
  --json FILE              BMv2 JSON to run from the start
  --p4info FILE            its P4Info (.txtpb or .bin)
  --no-p4                  start without a program
  --device-id N            P4Runtime device id, from 1; default 1
  --cpu-port N             port of packet-in and packet-out
  --drop-port N            default 511
  --priority-queues N      queues per port, 1 to 8; default 8
  --grpc-server-addr A     host:port of the P4Runtime server; default 127.0.0.1:9559

Example:
  gradplane switch --no-p4 -i 0@udp:50000 -i 1@udp:50001 --cpu-port 510`,
  async run(args) {
    // simple_switch_grpc takes its target options after "--"; both places are fine here.
    const { values, positionals } = parse(
      "switch",
      args.filter((a) => a !== "--"),
      {
        interface: { type: "string", short: "i", multiple: true, default: [] },
        json: { type: "string" },
        p4info: { type: "string" },
        "no-p4": { type: "boolean", default: false },
        "device-id": { type: "string", default: "1" },
        "cpu-port": { type: "string" },
        "drop-port": { type: "string", default: "511" },
        "priority-queues": { type: "string", default: "8" },
        "grpc-server-addr": { type: "string", default: "127.0.0.1:9559" },
      },
    );
    if (positionals.length > 0)
      throw new UserError(`"${positionals[0]}" is no option; see gradplane switch --help`);
    if (values["no-p4"] === (values.json !== undefined))
      throw new UserError("give --json FILE and --p4info FILE, or --no-p4");
    if (values.json !== undefined && values.p4info === undefined)
      throw new UserError("--json needs its --p4info FILE");
    const ports = values.interface.map(parseInterface);
    const cpu = values["cpu-port"];
    const engine = new Switch(undefined, {
      ...(cpu === undefined ? {} : { cpuPort: wholeNumber("cpu-port", cpu, 1, 510) }),
      dropPort: wholeNumber("drop-port", values["drop-port"], 0, 511),
      priorityQueues: wholeNumber("priority-queues", values["priority-queues"], 1, 8),
      ports: [...ports.map((p) => p.number), ...(cpu === undefined ? [] : [Number(cpu)])],
    });
    await serve(engine, ports, {
      address: values["grpc-server-addr"],
      deviceId: BigInt(wholeNumber("device-id", values["device-id"], 1, Number.MAX_SAFE_INTEGER)),
      program: values.json === undefined ? undefined : loadFiles(values.json, values.p4info ?? ""),
    });
  },
};

interface PortRequest {
  readonly number: number;
  readonly options: UdpPortOptions;
}

interface Service {
  readonly address: string;
  readonly deviceId: bigint;
  readonly program: { readonly schema: Schema; readonly json: Uint8Array } | undefined;
}

async function serve(engine: Switch, ports: readonly PortRequest[], service: Service): Promise<void> {
  const runner = new SwitchRunner(engine);
  let server: P4RuntimeServer | undefined;
  const stop = async (): Promise<void> => {
    await server?.close();
    await runner.close();
  };
  const opened: (readonly [number, UdpPort])[] = [];
  try {
    for (const { number, options } of ports) {
      const port = await openPort(number, options);
      runner.attach(number, port);
      opened.push([number, port]);
    }
    const target = new EmbeddedSwitchTarget(engine, {
      now: () => runner.now(),
      packetOut: (data) => runner.packetOut(data),
      onPacketIn: (packetIn) => runner.listen({ packetIn }),
    });
    if (service.program !== undefined)
      target.activate(target.prepare(service.program.schema, service.program.json));
    server = await P4RuntimeServer.start({ target, address: service.address, deviceId: service.deviceId });
  } catch (error) {
    await stop();
    if (error instanceof P4RuntimeServerError) throw new EnvironmentError(error.message);
    if (error instanceof SwitchConfigError) throw new UserError(error.message);
    throw error;
  }
  const list = opened.map(([number, port]) => ` ${number}@udp:${port.localPort}`).join("");
  process.stdout.write(`ready grpc=${server.address}${list}\n`);
  await new Promise<void>((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => resolve());
  });
  await stop();
}

async function openPort(number: number, options: UdpPortOptions): Promise<UdpPort> {
  try {
    return await UdpPort.open(`port ${number}`, options);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new EnvironmentError(`port ${number} cannot listen on UDP port ${options.port ?? 0}: ${reason}`);
  }
}

/** `0@udp`, `0@udp:50000`, `0@udp:50000:50010`. */
function parseInterface(text: string): PortRequest {
  const parts = /^(\d+)@udp(?::(\d+)(?::(\d+))?)?$/.exec(text);
  if (parts === null)
    throw new UserError(`-i "${text}": write PORT@udp, PORT@udp:LOCAL or PORT@udp:LOCAL:PEER`);
  const [, number = "", local, peer] = parts;
  return {
    number: wholeNumber("interface", number, 0, 510),
    options: {
      ...(local === undefined ? {} : { port: wholeNumber("interface", local, 0, 65_535) }),
      ...(peer === undefined ? {} : { peer: { port: wholeNumber("interface", peer, 1, 65_535) } }),
    },
  };
}

function loadFiles(json: string, p4info: string): { readonly schema: Schema; readonly json: Uint8Array } {
  const read = (file: string): Uint8Array => {
    try {
      return readFileSync(file);
    } catch (error) {
      throw new UserError(`cannot read ${file}: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  return { schema: new Schema(p4infoFromFile(read(p4info), p4info)), json: read(json) };
}

import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { MessageError, type P4Info, p4infoFromFile } from "../p4info/index.ts";
import {
  type FramePort,
  openLinuxPorts,
  PcapError,
  PcapPort,
  Switch,
  SwitchRunner,
  UdpPort,
  type UdpPortOptions,
} from "../switch/index.ts";
import {
  EmbeddedSwitchTarget,
  ioOf,
  P4RuntimeServer,
  P4RuntimeServerError,
  StatusError,
} from "../switch/p4runtime/index.ts";
import { runBmv2 } from "./bmv2switch.ts";
import { EnvironmentError, UserError } from "./exit.ts";
import { parse, type Verb, wholeNumber } from "./verb.ts";

export const switchVerb: Verb = {
  help: `Usage: gradplane switch (--json FILE --p4info FILE | --no-p4) -i PORT@WHERE ... [options]

Runs a BMv2 JSON program, or with --no-p4 waits for one over P4Runtime. Prints one line when it is ready:
  ready grpc=HOST:PORT PORT@WHERE ...
SIGTERM and SIGINT end it; so does the end of a parent that started it with an IPC channel.

  -i PORT@INTERFACE        a port: a Linux interface such as veth0 (root or CAP_NET_RAW; switch its offloads
                           off: ethtool -K veth0 gro off gso off tso off)
  -i PORT@udp:LOCAL:PEER   a port: UDP port of 127.0.0.1 to listen on (0: any) and to send to
                           (left out: whoever sent last); one Ethernet frame per datagram
  -i PORT@pcap:IN:OUT      a port: frames come from the capture IN once there is a program, and go to the
                           capture OUT; either may be empty
  --pcap-wait SECONDS      time that captures wait for a controller's entries; default 0
  --json FILE              BMv2 JSON to run from the start
  --p4info FILE            its P4Info (.txtpb or .bin)
  --no-p4                  start without a program
  --device-id N            P4Runtime device id, from 1; default 1
  --cpu-port N             port of packet-in and packet-out
  --drop-port N            default 511
  --on embedded|bmv2       which switch: gradplane's own, or simple_switch_grpc (SIMPLE_SWITCH_GRPC or PATH) with the
                           same arguments; it has Linux interfaces only; default embedded
  --priority-queues N      queues per port, 1 to 8; default 8
  --grpc-server-addr A     host:port of the P4Runtime server; default 127.0.0.1:9559

Examples:
  gradplane switch --no-p4 -i 0@udp:50000 -i 1@udp:50001 --cpu-port 510
  gradplane switch --json router.json --p4info p4info.txtpb -i 0@veth0 -i 1@veth2`,
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
        on: { type: "string", default: "embedded" },
        "pcap-wait": { type: "string", default: "0" },
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
    if ((values.json === undefined) !== (values.p4info === undefined))
      throw new UserError("--json FILE and --p4info FILE go together");
    const ports = values.interface.map(parseInterface);
    const cpuPort =
      values["cpu-port"] === undefined ? undefined : wholeNumber("cpu-port", values["cpu-port"], 1, 510);
    const dropPort = wholeNumber("drop-port", values["drop-port"], 0, 511);
    const special = new Map([[dropPort, "the drop port"]]);
    if (cpuPort !== undefined) special.set(cpuPort, "the CPU port");
    for (const { number } of ports) {
      const other = special.get(number);
      if (other !== undefined) throw new UserError(`-i: port ${number} is ${other} already`);
      special.set(number, "given");
    }
    const deviceId = BigInt(wholeNumber("device-id", values["device-id"], 1, Number.MAX_SAFE_INTEGER));
    const priorityQueues = wholeNumber("priority-queues", values["priority-queues"], 1, 8);
    const address = serverAddress(values["grpc-server-addr"]);
    const program = values.json === undefined ? undefined : loadFiles(values.json, values.p4info ?? "");
    if (values.on === "bmv2") {
      const interfaces = ports.map((port) => {
        if (port.kind === "linux") return port;
        throw new UserError(`-i: port ${port.number}: simple_switch_grpc has Linux interfaces only`);
      });
      const request = { ports: interfaces, deviceId, cpuPort, dropPort, priorityQueues, address, program };
      await runBmv2(request, untilEnded());
      return;
    }
    if (values.on !== "embedded") throw new UserError(`--on is "${values.on}"; it is embedded or bmv2`);
    const engine = new Switch(undefined, {
      ...(cpuPort === undefined ? {} : { cpuPort }),
      dropPort,
      priorityQueues,
      ports: [...ports.map((p) => p.number), ...(cpuPort === undefined ? [] : [cpuPort])],
    });
    await serve(engine, ports, {
      pcapWait: wholeNumber("pcap-wait", values["pcap-wait"], 0, 86_400),
      address,
      deviceId,
      program,
    });
  },
};

type PortRequest = { readonly number: number } & (
  | { readonly kind: "udp"; readonly options: UdpPortOptions }
  | { readonly kind: "linux"; readonly name: string }
  | { readonly kind: "pcap"; readonly input: string | undefined; readonly output: string | undefined }
);

interface StartProgram {
  readonly p4info: P4Info;
  readonly deviceConfig: Uint8Array;
}

interface Service {
  /** Seconds before captures are played. */
  readonly pcapWait: number;
  readonly address: string;
  readonly deviceId: bigint;
  readonly program: StartProgram | undefined;
}

async function serve(engine: Switch, ports: readonly PortRequest[], service: Service): Promise<void> {
  const ended = untilEnded();
  const runner = new SwitchRunner(engine);
  let server: P4RuntimeServer | undefined;
  try {
    const opened = await openPorts(ports);
    for (const { number, port } of opened) runner.attach(number, port);
    const { program, pcapWait, ...where } = service;
    const target = new EmbeddedSwitchTarget(engine, ioOf(runner));
    server = await P4RuntimeServer.start({ target, ...where, ...(program === undefined ? {} : { program }) });
    const places = opened.map(({ where }) => ` ${where}`).join("");
    process.stdout.write(`ready grpc=${server.address}${places}\n`);
    await Promise.race([ended, play(engine, opened, pcapWait)]);
    await ended;
  } catch (error) {
    if (error instanceof P4RuntimeServerError) throw new EnvironmentError(error.message);
    if (error instanceof StatusError) throw new UserError(`the program cannot run: ${error.message}`);
    throw error;
  } finally {
    await server?.close();
    await runner.close().catch((error: unknown) => {
      throw new EnvironmentError(messageOf(error));
    });
    // An open channel would keep the process.
    if (process.connected) process.disconnect();
  }
}

/** Until SIGTERM or SIGINT, or until a parent that keeps a channel to this process is gone, however it went. */
function untilEnded(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => resolve());
    process.once("disconnect", () => resolve());
    // Undefined without a channel; false when the parent was gone before this process listened.
    if (process.connected === false) resolve();
  });
}

interface OpenPort {
  readonly number: number;
  /** As the ready line says it. */
  readonly where: string;
  readonly port: FramePort;
}

async function openPorts(requests: readonly PortRequest[]): Promise<readonly OpenPort[]> {
  const opened: OpenPort[] = [];
  const linux = requests.filter((request) => request.kind === "linux");
  try {
    // One thread receives for all of them.
    const linuxPorts = openLinuxPorts(linux.map(({ name }) => name));
    for (const request of requests) {
      const { number } = request;
      if (request.kind === "linux") {
        const port = linuxPorts[linux.indexOf(request)];
        if (port !== undefined) opened.push({ number, where: `${number}@${request.name}`, port });
      } else if (request.kind === "udp") {
        const port = await UdpPort.open(`port ${number}`, request.options).catch((error: unknown) => {
          throw new Error(
            `port ${number} cannot listen on UDP port ${request.options.port ?? 0}: ${messageOf(error)}`,
          );
        });
        opened.push({ number, where: `${number}@udp:${port.localPort}`, port });
      } else {
        const port = await PcapPort.open(`port ${number}`, request.input, request.output);
        opened.push({ number, where: `${number}@pcap`, port });
      }
    }
    return opened;
  } catch (error) {
    await Promise.all(opened.map(({ port }) => port.close()));
    if (error instanceof PcapError) throw new UserError(error.message);
    throw new EnvironmentError(messageOf(error));
  }
}

/** Lets captures in, when there is a program and the time to wait is over. */
async function play(engine: Switch, opened: readonly OpenPort[], wait: number): Promise<void> {
  const captures = opened.map(({ port }) => port).filter((port) => port instanceof PcapPort);
  if (captures.length === 0) return;
  const begin = Date.now() + wait * 1000;
  while (!engine.hasPipeline || Date.now() < begin) await sleep(20, undefined, { ref: false });
  await Promise.all(captures.map((port) => port.play()));
}

/** `0@udp`, `0@udp:50000`, `0@udp:50000:50010`, `0@pcap:in.pcap:out.pcap`, `0@veth0`. */
function parseInterface(text: string): PortRequest {
  const [, digits = "", where = ""] = /^(\d+)@(.+)$/.exec(text) ?? [];
  const udp = /^udp(?::(\d+)(?::(\d+))?)?$/.exec(where);
  const pcap = /^pcap:([^:]*)(?::([^:]*))?$/.exec(where);
  const isInterface = /^[^\s/:]{1,15}$/.test(where);
  if (udp === null && pcap === null && !isInterface)
    throw new UserError(
      `-i "${text}": write PORT@INTERFACE, PORT@udp, PORT@udp:LOCAL, PORT@udp:LOCAL:PEER or PORT@pcap:IN:OUT`,
    );
  const number = wholeNumber("interface", digits, 0, 510);
  if (udp !== null) {
    const [, local, peer] = udp;
    return {
      number,
      kind: "udp",
      options: {
        ...(local === undefined ? {} : { port: wholeNumber("interface", local, 0, 65_535) }),
        ...(peer === undefined ? {} : { peer: { port: wholeNumber("interface", peer, 1, 65_535) } }),
      },
    };
  }
  if (pcap === null) return { number, kind: "linux", name: where };
  return { number, kind: "pcap", input: pcap[1] || undefined, output: pcap[2] || undefined };
}

function serverAddress(text: string): string {
  const port = /^(?:[^:\s]+|\[[\da-fA-F:.]+\]):(\d{1,5})$/.exec(text)?.[1];
  if (port === undefined || Number(port) > 65_535)
    throw new UserError(`--grpc-server-addr is "${text}"; write HOST:PORT, for example 127.0.0.1:9559`);
  return text;
}

function loadFiles(json: string, p4info: string): StartProgram {
  const read = (file: string): Uint8Array => {
    try {
      return readFileSync(file);
    } catch (error) {
      throw new UserError(`cannot read ${file}: ${messageOf(error)}`);
    }
  };
  const text = read(p4info);
  try {
    return { p4info: p4infoFromFile(text, p4info), deviceConfig: read(json) };
  } catch (error) {
    if (error instanceof MessageError)
      throw new UserError(`--p4info ${p4info} is no P4Info: ${error.message}`);
    throw error;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

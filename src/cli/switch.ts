import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { MessageError, p4infoFromFile } from "../p4info/index.ts";
import { isFrontPort, Switch, SwitchConfigError, type SwitchOptions } from "../switch/index.ts";
import { type GrpcTls, isServerProfile } from "../switch/p4runtime/index.ts";
import { runBmv2 } from "./bmv2switch.ts";
import { UserError } from "./exit.ts";
import { logLevel, SwitchLog } from "./switchlog.ts";
import { parseInterface } from "./switchports.ts";
import { type StartProgram, serve, untilEnded } from "./switchservice.ts";
import { applyTraffic, trafficSetup } from "./switchtraffic.ts";
import { parse, type Verb, wholeNumber } from "./verb.ts";

/** Options of simple_switch_grpc for things that are not here, so that its command lines work. */
const passedOver = {
  "thrift-port": { type: "string" },
  nanolog: { type: "string" },
  "log-flush": { type: "boolean" },
  "log-max-size": { type: "string" },
  "log-max-files": { type: "string" },
  pcap: { type: "string" },
  "use-files": { type: "string" },
  "restore-state": { type: "string" },
  "dump-packet-data": { type: "string" },
  "max-port-count": { type: "string" },
  "notifications-addr": { type: "string" },
  debugger: { type: "boolean" },
  "debugger-addr": { type: "string" },
} as const;

export const switchVerb: Verb = {
  help: `Usage: gradplane switch (--json FILE --p4info FILE | FILE.json | --no-p4) -i PORT@WHERE ... [options]

Runs a BMv2 JSON program (or with --personality tna a Tofino one), or with --no-p4 waits for one over P4Runtime. Prints one line when it is ready:
  ready grpc=HOST:PORT [dataplane=HOST:PORT] [admin=HOST:PORT] [metrics=HOST:PORT] PORT@WHERE ...
simple_switch_grpc's options that have no meaning here (--thrift-port, --pcap, ...) are taken and passed over.
SIGTERM and SIGINT end it; so does the end of a parent that started it with an IPC channel.

  -i PORT@INTERFACE        a port: a Linux interface such as veth0 (root or CAP_NET_RAW; switch its offloads
                           off: ethtool -K veth0 gro off gso off tso off)
  -i PORT@udp:LOCAL:PEER   a port: UDP port of 127.0.0.1 to listen on (0: any) and to send to
                           (left out: whoever sent last); one Ethernet frame per datagram
  -i PORT@pcap:IN:OUT      a port: frames come from the capture IN once there is a program, and go to the
                           capture OUT; either may be empty
  --pcap-wait SECONDS      time that captures wait for a controller's entries; default 0
  --json FILE              BMv2 JSON to run from the start; for the tna personality tna/NAME.json of gradplane build
  --p4info FILE            its P4Info (.txtpb or .bin)
  --no-p4                  start without a program
  FILE.json                a program without its P4Info: it runs, and P4Runtime knows of none until one is pushed
  --device-id N            P4Runtime device id, from 1 (from 0 by --profile bmv2 and --on bmv2); default 1
  --profile spec|bmv2      whose ways the P4Runtime server has: the specification's, or those of simple_switch_grpc, which
                           takes device id 0 (the tutorials' controllers want that), elects, refuses and reports errors
                           in its own way; default spec
  --cpu-port N             port of packet-in and packet-out
  --drop-port N            default 511
  --personality v1model|tna
                           what the embedded switch behaves as: simple_switch, or a Tofino 1 as far as gradplane models it
                           (it is not the vendor's model); default v1model
  --pipes 2|4              pipes of a Tofino, each with registers of its own; default 2. Ports are device ports: the pipe
                           in bits 8 and 7, 0 to 63 within it
  --on embedded|bmv2       which switch: gradplane's own, or simple_switch_grpc (SIMPLE_SWITCH_GRPC or PATH) with the
                           same arguments; its ports are all Linux interfaces or none; default embedded
  --priority-queues N      queues per port, 1 to 8; default 8
  --queue-depth N          packets that a queue holds, or bytes ("96 KiB"); default 64
  --port-rate PORT=RATE    speed of a port, or of all: 3="100 Mbit/s", all="5000 packets/s"; default unlimited
  --traffic FILE           speeds, depths and thresholds of ports and queues (YAML or JSON; docs/queues.md)
  --pacing port|queue      a port's rate is shared by its queues, or each queue's own as in BMv2; default port
  --admin-addr HOST:PORT   changes queues and registers at run time by HTTP (docs/queues.md)
  --metrics HOST:PORT      figures for Prometheus at /metrics
  --dp-grpc-server-addr A  host:port of p4.bm.DataplaneInterface: ports by gRPC, all that have no -i
  --snapshot FILE          state between two lives: read at the start if it is there, written at the end, on SIGUSR1
                           and on the admin address's request. Meters and idle times begin anew
  --log-console            what happens, on stderr; --log-file FILE likewise, appended
  --log-level LEVEL        trace, debug, info (default), warn, error or off; trace tells each packet's way
  --trace                  --log-console --log-level trace
  --grpc-server-addr A     host:port of the P4Runtime server; default 127.0.0.1:9559
  --grpc-server-ssl        by TLS, with --grpc-server-cert FILE and --grpc-server-key FILE (PEM)
  --grpc-server-cacert F   authorities of clients' certificates; --grpc-server-with-client-auth refuses clients without one

Examples:
  gradplane switch --no-p4 -i 0@udp:50000 -i 1@udp:50001 --cpu-port 510
  gradplane switch --json router.json --p4info p4info.txtpb -i 0@veth0 -i 1@veth2`,
  async run(args) {
    // simple_switch_grpc takes its target options after "--"; both places are fine here.
    const { values, positionals } = parse(
      "switch",
      args.filter((a) => a !== "--" && a !== "--pcap"),
      {
        interface: { type: "string", short: "i", multiple: true, default: [] },
        json: { type: "string" },
        p4info: { type: "string" },
        "no-p4": { type: "boolean", default: false },
        on: { type: "string", default: "embedded" },
        personality: { type: "string", default: "v1model" },
        pipes: { type: "string" },
        "pcap-wait": { type: "string", default: "0" },
        "device-id": { type: "string", default: "1" },
        profile: { type: "string", default: "spec" },
        "cpu-port": { type: "string" },
        "drop-port": { type: "string", default: "511" },
        "priority-queues": { type: "string", default: "8" },
        "queue-depth": { type: "string" },
        "port-rate": { type: "string", multiple: true, default: [] },
        traffic: { type: "string" },
        pacing: { type: "string" },
        "admin-addr": { type: "string" },
        metrics: { type: "string" },
        "dp-grpc-server-addr": { type: "string" },
        snapshot: { type: "string" },
        "log-console": { type: "boolean", default: false },
        "log-file": { type: "string" },
        "log-level": { type: "string", short: "L", default: "info" },
        trace: { type: "boolean", default: false },
        ...passedOver,
        "grpc-server-addr": { type: "string", default: "127.0.0.1:9559" },
        "grpc-server-ssl": { type: "boolean", default: false },
        "grpc-server-cert": { type: "string" },
        "grpc-server-key": { type: "string" },
        "grpc-server-cacert": { type: "string" },
        "grpc-server-with-client-auth": { type: "boolean", default: false },
      },
    );
    const [bare, ...more] = positionals;
    if (more.length > 0 || (bare !== undefined && !bare.endsWith(".json")))
      throw new UserError(`"${more[0] ?? bare}" is no option; see gradplane switch --help`);
    if ([values["no-p4"], values.json !== undefined, bare !== undefined].filter(Boolean).length !== 1)
      throw new UserError("give --json FILE and --p4info FILE, or --no-p4");
    if (bare !== undefined && (values.snapshot !== undefined || values.on !== "embedded"))
      throw new UserError("a program without its P4Info runs on the embedded switch, and has no snapshots");
    if ((values.json === undefined) !== (values.p4info === undefined))
      throw new UserError("--json FILE and --p4info FILE go together");
    const ports = values.interface.map(parseInterface);
    const hardware = hardwareOf(values.personality, values.pipes);
    const cpuPort =
      values["cpu-port"] === undefined ? undefined : wholeNumber("cpu-port", values["cpu-port"], 1, 510);
    const dropPort = wholeNumber("drop-port", values["drop-port"], 0, 511);
    const special = new Map(hardware.personality === "tna" ? [] : [[dropPort, "the drop port"]]);
    if (cpuPort !== undefined) special.set(cpuPort, "the CPU port");
    for (const { number } of ports) {
      if (hardware.personality === "tna" && !isFrontPort(number, hardware.pipes))
        throw new UserError(
          `-i: a Tofino with ${hardware.pipes} pipes has no port ${number}; the pipe is in bits 8 and 7, and 0 to 63 are its ports`,
        );
      const other = special.get(number);
      if (other !== undefined) throw new UserError(`-i: port ${number} is ${other} already`);
      special.set(number, "given");
    }
    const { profile } = values;
    if (!isServerProfile(profile)) throw new UserError(`--profile is "${profile}"; it is spec or bmv2`);
    const lowestId = profile === "bmv2" || values.on === "bmv2" ? 0 : 1;
    const deviceId = BigInt(wholeNumber("device-id", values["device-id"], lowestId, Number.MAX_SAFE_INTEGER));
    const priorityQueues = wholeNumber("priority-queues", values["priority-queues"], 1, 8);
    const address = serverAddress("grpc-server-addr", values["grpc-server-addr"]);
    const addressOf = (option: "admin-addr" | "metrics" | "dp-grpc-server-addr"): string | undefined => {
      const text = values[option];
      return text === undefined ? undefined : serverAddress(option, text);
    };
    const [adminAddress, metricsAddress] = [addressOf("admin-addr"), addressOf("metrics")];
    const dataplaneAddress = addressOf("dp-grpc-server-addr");
    const level = values.trace ? "trace" : logLevel(values["log-level"]);
    const traffic = trafficSetup({
      file: values.traffic,
      rates: values["port-rate"],
      depth: values["queue-depth"],
      pacing: values.pacing,
      queues: priorityQueues,
    });
    const program = values.json === undefined ? undefined : loadFiles(values.json, values.p4info ?? "");
    const tls = tlsFiles({
      isOn: values["grpc-server-ssl"],
      cert: values["grpc-server-cert"],
      key: values["grpc-server-key"],
      cacert: values["grpc-server-cacert"],
      needsClientCertificate: values["grpc-server-with-client-auth"],
    });
    if (hardware.personality === "tna" && bare !== undefined)
      throw new UserError("--personality tna: no program without its P4Info");
    if (values.on === "bmv2" && hardware.personality !== "v1model")
      throw new UserError("--on bmv2: simple_switch_grpc is v1model only");
    if (values.on === "bmv2") {
      for (const option of ["queue-depth", "traffic", "pacing", "admin-addr", "metrics", "snapshot"] as const)
        if (values[option] !== undefined)
          throw new UserError(
            `--${option}: simple_switch_grpc has no such thing; its Thrift port sets queues`,
          );
      if (tls !== undefined)
        throw new UserError(
          "--grpc-server-ssl: start simple_switch_grpc by hand for TLS; --on bmv2 has none",
        );
      const isLinux = ports[0]?.kind === "linux";
      const other = ports.find(({ kind }) => (kind === "linux") !== isLinux);
      if (other !== undefined)
        throw new UserError(
          `-i: port ${other.number}: simple_switch_grpc has Linux interfaces, or none of them; give all ports one way`,
        );
      const request = { ports, deviceId, cpuPort, dropPort, priorityQueues, address, program };
      await runBmv2(request, untilEnded());
      return;
    }
    if (values.on !== "embedded") throw new UserError(`--on is "${values.on}"; it is embedded or bmv2`);
    const log = await SwitchLog.open({
      level,
      toConsole: values["log-console"] || values.trace,
      file: values["log-file"],
    });
    const engine = switchWith(bare, {
      ...hardware,
      ...(cpuPort === undefined ? {} : { cpuPort }),
      dropPort,
      priorityQueues,
      pacing: traffic.pacing,
      ...(traffic.droppableDscp === undefined ? {} : { droppableDscp: traffic.droppableDscp }),
      log: (message) => log.write("info", `program: ${message}`),
      // By gRPC every port is there.
      ...(dataplaneAddress === undefined
        ? { ports: [...ports.map((p) => p.number), ...(cpuPort === undefined ? [] : [cpuPort])] }
        : {}),
    });
    applyTraffic(engine, traffic);
    await serve(engine, ports, {
      dataplaneAddress,
      adminAddress,
      metricsAddress,
      snapshot: values.snapshot,
      log,
      pcapWait: wholeNumber("pcap-wait", values["pcap-wait"], 0, 86_400),
      address,
      deviceId,
      profile,
      program,
      tls,
    });
  },
};

type Hardware = { readonly personality: "v1model" } | { readonly personality: "tna"; readonly pipes: 2 | 4 };

/** @throws UserError */
function hardwareOf(personality: string, pipes: string | undefined): Hardware {
  if (personality === "tna") {
    if (pipes === undefined || pipes === "2" || pipes === "4")
      return { personality, pipes: pipes === "4" ? 4 : 2 };
    throw new UserError(`--pipes is "${pipes}"; a Tofino has 2 or 4`);
  }
  if (personality !== "v1model")
    throw new UserError(`--personality is "${personality}"; it is v1model or tna`);
  if (pipes !== undefined) throw new UserError("--pipes: only a Tofino (--personality tna) has pipes");
  return { personality };
}

/** A switch with the program in a file, without P4Info. */
function switchWith(file: string | undefined, options: SwitchOptions): Switch {
  if (file === undefined) return new Switch(undefined, options);
  const json = readFile(file);
  try {
    return new Switch(json, options);
  } catch (error) {
    if (error instanceof SwitchConfigError) throw new UserError(`${file} cannot run: ${error.message}`);
    throw error;
  }
}

function serverAddress(option: string, text: string): string {
  const port = /^(?:[^:\s]+|\[[\da-fA-F:.]+\]):(\d{1,5})$/.exec(text)?.[1];
  if (port === undefined || Number(port) > 65_535)
    throw new UserError(`--${option} is "${text}"; write HOST:PORT, for example 127.0.0.1:9559`);
  return text;
}

interface TlsFiles {
  readonly isOn: boolean;
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly cacert: string | undefined;
  readonly needsClientCertificate: boolean;
}

/** Certificates from their files; undefined without TLS. @throws UserError */
function tlsFiles({ isOn, cert, key, cacert, needsClientCertificate }: TlsFiles): GrpcTls | undefined {
  if (!isOn) {
    if (cert !== undefined || key !== undefined || cacert !== undefined || needsClientCertificate)
      throw new UserError("certificates have no effect without --grpc-server-ssl");
    return undefined;
  }
  if (cert === undefined || key === undefined)
    throw new UserError("--grpc-server-ssl needs --grpc-server-cert FILE and --grpc-server-key FILE");
  if (needsClientCertificate && cacert === undefined)
    throw new UserError("--grpc-server-with-client-auth needs --grpc-server-cacert FILE");
  const [certificate, privateKey] = [readFile(cert), readFile(key)];
  try {
    createSecureContext({ cert: Buffer.from(certificate), key: Buffer.from(privateKey) });
  } catch (error) {
    throw new UserError(`${cert} and ${key} are no certificate and its key in PEM: ${messageOf(error)}`);
  }
  return {
    certificate,
    key: privateKey,
    ...(cacert === undefined ? {} : { clientAuthorities: readFile(cacert) }),
    requiresClientCertificate: needsClientCertificate,
  };
}

function readFile(file: string): Uint8Array {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new UserError(`cannot read ${file}: ${messageOf(error)}`);
  }
}

function loadFiles(json: string, p4info: string): StartProgram {
  const text = readFile(p4info);
  try {
    return { p4info: p4infoFromFile(text, p4info), deviceConfig: readFile(json) };
  } catch (error) {
    if (error instanceof MessageError)
      throw new UserError(`--p4info ${p4info} is no P4Info: ${error.message}`);
    throw error;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

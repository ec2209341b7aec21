/** The ports of `gradplane switch`: what `-i` says, and opening it. */
import { setTimeout as sleep } from "node:timers/promises";
import {
  type FramePort,
  openLinuxPorts,
  PcapError,
  PcapPort,
  type Switch,
  UdpPort,
  type UdpPortOptions,
} from "../switch/index.ts";
import { EnvironmentError, UserError } from "./exit.ts";
import { wholeNumber } from "./verb.ts";

export type PortRequest = { readonly number: number } & (
  | { readonly kind: "udp"; readonly options: UdpPortOptions }
  | { readonly kind: "linux"; readonly name: string }
  | { readonly kind: "pcap"; readonly input: string | undefined; readonly output: string | undefined }
);

export interface OpenPort {
  readonly number: number;
  /** As the ready line says it. */
  readonly where: string;
  readonly port: FramePort;
}

export async function openPorts(requests: readonly PortRequest[]): Promise<readonly OpenPort[]> {
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
export async function play(engine: Switch, opened: readonly OpenPort[], wait: number): Promise<void> {
  const captures = opened.map(({ port }) => port).filter((port) => port instanceof PcapPort);
  if (captures.length === 0) return;
  const begin = Date.now() + wait * 1000;
  while (!engine.hasPipeline || Date.now() < begin) await sleep(20, undefined, { ref: false });
  await Promise.all(captures.map((port) => port.play()));
}

/** `0@udp`, `0@udp:50000`, `0@udp:50000:50010`, `0@pcap:in.pcap:out.pcap`, `0@veth0`. */
export function parseInterface(text: string): PortRequest {
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

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

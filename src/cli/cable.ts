import { type FramePort, openLinuxPorts, UdpPort } from "../switch/index.ts";
import { EnvironmentError, UserError } from "./exit.ts";
import { parse, type Verb, wholeNumber } from "./verb.ts";

export const cable: Verb = {
  help: `Usage: gradplane cable INTERFACE --local PORT --peer PORT

Joins a Linux interface (root or CAP_NET_RAW) with a UDP port of 127.0.0.1, one Ethernet frame per datagram: so a host that speaks
by UDP (gradplane worker, gradplane server) is on a real network, for example in a host of Mininet. Prints one line when
it is ready. SIGTERM and SIGINT end it.

  --local PORT   UDP port to listen on
  --peer PORT    UDP port to send to: the --bind of the host

Example:
  gradplane cable h1-eth0 --local 50001 --peer 50002 &
  gradplane worker training.ts --controller 10.0.0.9:9561 --host h1 --cable leaf1=127.0.0.1:50001 --bind 127.0.0.1:50002`,
  async run(args) {
    const { values, positionals } = parse("cable", args, {
      local: { type: "string" },
      peer: { type: "string" },
    });
    const [name, ...more] = positionals;
    if (name === undefined || more.length > 0)
      throw new UserError("name one interface: gradplane cable INTERFACE --local PORT --peer PORT");
    const { local, peer } = values;
    if (local === undefined || peer === undefined)
      throw new UserError("--local PORT and --peer PORT are needed; see gradplane cable --help");
    const port = wholeNumber("local", local, 1, 65_535);
    const ends: FramePort[] = [];
    try {
      ends.push(...openLinuxPorts([name]));
      ends.push(await UdpPort.open("cable", { port, peer: { port: wholeNumber("peer", peer, 1, 65_535) } }));
    } catch (error) {
      await Promise.all(ends.map((end) => end.close()));
      if (error instanceof UserError) throw error;
      throw new EnvironmentError(error instanceof Error ? error.message : String(error));
    }
    const [real, udp] = ends;
    real?.onFrame((frame) => udp?.send(Uint8Array.from(frame)));
    udp?.onFrame((frame) => real?.send(frame));
    process.stdout.write(`ready ${name} udp:${port}\n`);
    await new Promise<void>((resolve) => {
      for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => resolve());
    });
    await Promise.all(ends.map((end) => end.close()));
  },
};

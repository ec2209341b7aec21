import { Fleet, type FleetNotice } from "../controller/fleet.ts";
import { WebPage } from "../controller/webpage.ts";
import { EnvironmentError, UserError } from "./exit.ts";
import { loadNetwork, reportingNetwork } from "./network.ts";
import { parse, type Verb, wholeNumber } from "./verb.ts";

export const controllerVerb: Verb = {
  help: `Usage: gradplane controller --topology FILE [--listen HOST:PORT] [options]

Keeps the switches of a topology as it says: loads the program, fills the tables, routes around switches that are lost,
takes them into use when they come back, and looks for what somebody else changed. Prints one JSON object for each
event, and first one line: ready http=ADDRESS token=TOKEN. SIGTERM and SIGINT end it; the switches stay as they are.

  --topology FILE   switches, hosts, links and program, in YAML
  --state FILE      what is remembered over restarts; default: beside the topology
  --listen ADDR     web page, /status, /events and /metrics; default 127.0.0.1:9560
  --token TEXT      for draining and restoring by the page; made up when it is not given
  --undo-drift      delete what somebody else wrote
  --inspect SECONDS between two looks at each switch, default 30

Example:
  gradplane controller --topology network.yaml --listen 127.0.0.1:9560`,
  async run(args) {
    const { values } = parse("controller", args, {
      topology: { type: "string" },
      state: { type: "string" },
      listen: { type: "string", default: "127.0.0.1:9560" },
      token: { type: "string" },
      "undo-drift": { type: "boolean", default: false },
      inspect: { type: "string", default: "30" },
    });
    if (!/^\S+:\d{1,5}$/.test(values.listen))
      throw new UserError(`--listen is "${values.listen}"; write HOST:PORT, for example 127.0.0.1:9560`);
    const inspect = wholeNumber("inspect", values.inspect, 1, 86_400) * 1000;
    await reportingNetwork(async () => {
      const network = await loadNetwork(values.topology, "controller", values.state);
      const { topology, aggregation, room, everywhere, own } = network;
      const ended = untilEnded();
      let page: WebPage | undefined;
      const onNotice = (notice: FleetNotice): void => {
        page?.notice(notice);
        process.stdout.write(`${JSON.stringify({ time: new Date().toISOString(), ...notice })}\n`);
      };
      const fleet = await Fleet.start({
        topology,
        program: network.loadable,
        everywhere,
        own,
        state: network.state,
        undoDrift: values["undo-drift"],
        inspect,
        onNotice,
        ...(aggregation === undefined ? {} : { aggregation }),
        ...(room === undefined ? {} : { room }),
      });
      try {
        const { listen: address, token } = values;
        page = await WebPage.start({ fleet, topology, address, ...(token === undefined ? {} : { token }) });
        const host = address.slice(0, address.lastIndexOf(":"));
        process.stdout.write(`ready http=${host}:${page.port} token=${page.token}\n`);
        await ended;
      } catch (error) {
        if (error instanceof Error && "syscall" in error) throw new EnvironmentError(error.message);
        throw error;
      } finally {
        await page?.close();
        await fleet.close();
      }
    });
  },
};

function untilEnded(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => resolve());
  });
}

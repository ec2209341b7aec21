/**
 * Packets that the lab carries over a cable per second of computing, hosts included: one push of gradients by DCTCP and by DLCP on 24 hosts.
 * Run: npm run bench lab
 */
import { dctcp, dlcp, pushGradients } from "../../src/lab/experiments/gradientflows.ts";
import { resnet50 } from "../../src/lab/experiments/models.ts";
import { leafSpine, MLT_PORT_BUFFER } from "../../src/lab/topology.ts";

const link = { rate: 100e9, delay: 0.003 };
const setting = {
  topology: leafSpine({ leaves: 3, spines: 2, hostsPerLeaf: 8, hostLink: link, uplink: link }),
  ...{ model: resnet50(), scale: 128, chunk: 1_000_000, serverEvery: 4, lineRate: 100e9, backward: 20 },
};

for (const [name, scheme] of [
  ["DCTCP", dctcp(MLT_PORT_BUFFER, 10)],
  ["DLCP", dlcp(MLT_PORT_BUFFER, { bound: 0.1, gradientAware: true, spray: true })],
] as const) {
  // The first run is for the compiler.
  pushGradients({ ...setting, scheme, seed: 1 });
  const start = process.cpuUsage();
  const { hops } = pushGradients({ ...setting, scheme, seed: 2 });
  const { user, system } = process.cpuUsage(start);
  console.log(
    `${name.padEnd(6)} ${Math.round((hops / (user + system)) * 1e6).toLocaleString("en")} packet-hops/s`,
  );
}

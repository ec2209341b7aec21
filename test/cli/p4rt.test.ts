import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { tableContents } from "../../src/backends/tables.ts";
import { completions } from "../../src/cli/p4rt/completion.ts";
import { parseUpdate } from "../../src/cli/p4rt/statement.ts";
import { describeUpdate, EntityBuilder, P4RuntimeClient, Schema } from "../../src/p4runtime/index.ts";
import { startSwitch } from "../abuse/switches.ts";
import { ir, loadable } from "../controller/fabric.ts";
import { PROGRAM } from "../p4runtime/program.ts";
import { folderWith } from "./folder.ts";
import { executable, gradplane, root } from "./gradplane.ts";

const schema = new Schema(PROGRAM);
const entities = new EntityBuilder(schema);

describe("statements", () => {
  test.each([
    [
      "insert ipv4_lpm dst=10.0.0.0/8 do forward port=1 dst=1",
      "INSERT table ingress.ipv4_lpm {hdr.ipv4.dst = 10.0.0.0/8}",
    ],
    ["delete acl protocol=6 priority=3", "DELETE table ingress.acl {hdr.ipv4.protocol = 6} priority 3"],
    ["modify default ipv4_lpm do drop", "MODIFY table ingress.ipv4_lpm default entry"],
    ["insert member selector 3 do drop", "INSERT member 3 of ingress.selector"],
    ["insert group selector 1 3=1 4=2", "INSERT group 1 of ingress.selector"],
    ["insert ecmp group=1 do group 1", "INSERT table ingress.ecmp {meta.group = 1}"],
    ["insert multicast 5 port=1 port=2/7", "INSERT multicast group 5"],
    ["insert clone 5 port=1", "INSERT clone session 5"],
    ["modify counter packets 2 packets=9", "MODIFY counter ingress.packets[2]"],
    ["modify meter meter 0 cir=1 cburst=2 pir=3 pburst=4", "MODIFY meter ingress.meter[0]"],
    ["modify register sums 1 value=0xff", "MODIFY register ingress.sums[1]"],
    ["insert digest learn_t timeout=1000", "INSERT digest learn_t"],
  ])("%s", (text, meaning) => {
    expect(describeUpdate(parseUpdate(text.split(" "), entities), schema)).toBe(meaning);
  });

  test.each([
    ["insert ipv4_lpm", /needs an action/],
    ["insert ipv4_lp dst=1 do drop", /did you mean "ipv4_lpm"/],
    ["insert ipv4_lpm 10.0.0.0/8 do drop", /"10.0.0.0\/8" is no NAME=VALUE/],
    ["insert multicast x port=1", /its number is "x"/],
    ["upsert ipv4_lpm", /none of insert, modify, delete/],
  ])("%s is refused", (text, message) => {
    expect(() => parseUpdate(text.split(" "), entities)).toThrow(message);
  });

  test("are completed from the P4Info", () => {
    expect(completions("ins", schema)).toEqual(["insert"]);
    expect(completions("insert ipv", schema)).toEqual(["ipv4_lpm"]);
    expect(completions("insert acl hdr.ipv4.protocol=6 ", schema)).toEqual([
      "hdr.ethernet.ether_type=",
      "standard_metadata.ingress_port=",
      "priority=",
      "do",
    ]);
    expect(completions("insert acl priority=1 do forward port=1 ", schema)).toEqual(["dst="]);
    expect(completions("insert ecmp meta.group=1 do ", schema)).toEqual(["member", "group"]);
    expect(completions("read counter ", schema)).toEqual(["packets"]);
  });
});

describe("gradplane p4rt", { timeout: 240_000 }, () => {
  let address = "";
  beforeAll(async () => {
    const { p4info, deviceConfig } = loadable();
    // Kept for the whole file: ended with the process.
    const { P4RuntimeServer, EmbeddedSwitchTarget, ioOf } = await import(
      "../../src/switch/p4runtime/index.ts"
    );
    const { Switch, SwitchRunner } = await import("../../src/switch/index.ts");
    const engine = new Switch(undefined, { cpuPort: 100, ports: [0, 1, 2, 3, 100] });
    const target = new EmbeddedSwitchTarget(engine, ioOf(new SwitchRunner(engine)));
    const server = await P4RuntimeServer.start({ target, address: "127.0.0.1:0" });
    address = server.address;
    const client = await P4RuntimeClient.connect({ address });
    await client.arbitrate(1n);
    await client.pushPipeline(p4info, deviceConfig);
    await client.close();
    return () => server.close();
  }, 120_000);

  const p4rt = (what: string, ...args: string[]) => gradplane(["p4rt", what, "--target", address, ...args]);
  const STATEMENT =
    "insert forwarding.route dst_addr=10.0.0.1/32 do to_port port=1 dst_mac=02:00:00:00:00:01";

  test("writes, reads for people and for programs, and tells what is refused", async () => {
    expect(await p4rt("write", ...STATEMENT.split(" "))).toEqual({
      status: 0,
      stdout: "1 update written\n",
      stderr: "",
    });
    const read = await p4rt("read", "forwarding.route");
    expect(read.stdout).toBe(
      "table forwarding.route\n  dst_addr=10.0.0.1/32  -> forwarding.to_port(port=1, dst_mac=02:00:00:00:00:01)  packets 0, bytes 0\n",
    );
    const json = await p4rt("read", "--json", "route");
    expect(JSON.parse(json.stdout)).toMatchObject({
      kind: "entry",
      match: { dst_addr: "10.0.0.1/32" },
      params: { port: "1" },
    });
    const again = await p4rt("write", ...STATEMENT.split(" "));
    expect(again).toMatchObject({ status: 1, stdout: "" });
    expect(again.stderr).toContain("INSERT table forwarding.route {dst_addr = 10.0.0.1/32}: ALREADY_EXISTS");
    const wrong = await p4rt("write", ..."insert route dst_addr=10.0.0.1/32 do to_prt port=1".split(" "));
    expect(wrong).toMatchObject({ status: 1 });
    expect(wrong.stderr).toContain('did you mean "to_port"');
  });

  test("writes a file of statements, or nothing of it when one is wrong", async () => {
    const folder = folderWith({ good: "insert multicast 7 port=1 port=2 # two\n\ninsert clone 9 port=1\n" });
    writeFileSync(join(folder, "bad"), "insert multicast 8 port=1\ninsert clon 9\n");
    expect((await p4rt("write", "--file", join(folder, "bad"))).status).toBe(1);
    expect((await p4rt("read", "multicast")).stdout).toBe("\n".slice(1));
    expect((await p4rt("write", "--file", join(folder, "good"))).stdout).toBe("2 updates written\n");
    expect((await p4rt("read", "multicast")).stdout).toContain(
      "group 7, replicas [{port=1, instance=0} {port=2, instance=0}]",
    );
  });

  test("fills a switch with what the program's tables.json says, once", async () => {
    const file = join(folderWith({ "tables.json": tableContents(ir) }), "tables.json");
    expect((await p4rt("fill", file, "--ports", "0,1")).stdout).toBe(
      "2 inserted, 0 modified, 0 unchanged (0 table entries, 2 clone sessions)\n",
    );
    expect(await p4rt("fill", file, "--json", "--ports", "0,1,2")).toEqual({
      status: 0,
      stdout: `${JSON.stringify({ inserted: 1, modified: 0, unchanged: 2 })}\n`,
      stderr: "",
    });
    expect((await p4rt("read", "clone")).stdout).toContain("session 3, replicas [{port=2, instance=1}]");
    expect((await p4rt("fill")).stderr).toContain("gradplane p4rt fill p4out/NAME/tables.json");
    expect((await p4rt("fill", join(root, "package.json"))).stderr).toMatch(
      /tables is no list; .*tables\.json/,
    );
  });

  test("shows the program, and has a shell", async () => {
    const info = await p4rt("info");
    expect(info.stdout).toMatch(/P4Runtime 1\.\d\.\d, cookie \d+\ntables\n/);
    expect(info.stdout).toMatch(/forwarding\.route +dst_addr: bit<32> lpm/);
    const child = spawn(process.execPath, [executable, "p4rt", "shell", "--target", address], { cwd: root });
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    child.stdin.end("insert clone 11 port=3\ninsert clone x\nread clone 11\nexit\n");
    await once(child, "close");
    expect(child.exitCode).toBe(0);
    expect(said).toContain("done");
    expect(said).toContain('its number is "x"');
    expect(said).toContain("session 11, replicas [{port=3, instance=0}]");
  });

  test("says in time what is wrong with the way to the switch, and ends with 2", async () => {
    const closed = await gradplane(["p4rt", "info", "--target", "127.0.0.1:1"]);
    expect(closed).toMatchObject({ status: 2, stdout: "" });
    expect(closed.stderr).toContain("127.0.0.1:1: UNAVAILABLE");
    const sockets = new Set<Socket>();
    const silent = createServer((socket) => void sockets.add(socket)).listen(0, "127.0.0.1");
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      silent.close();
    });
    await once(silent, "listening");
    const at = silent.address();
    const port = typeof at === "object" && at !== null ? at.port : 0;
    const waited = await gradplane(["p4rt", "info", "--target", `127.0.0.1:${port}`]);
    expect(waited).toMatchObject({ status: 2, stdout: "" });
    expect(waited.stderr).toContain("DEADLINE_EXCEEDED");
    const device = await p4rt("read", "--device-id", "9");
    expect(device).toMatchObject({ status: 2 });
    expect(device.stderr).toContain("there is no device 9");
    const tls = await p4rt("info", "--ca", join(root, "package.json"));
    expect(tls.status).toBe(2);
    expect((await p4rt("info", "--p4info", join(root, "package.json"))).status).toBe(1);
  });

  test("does not push another controller aside unless its election id is higher", async () => {
    const other = await startSwitch(1);
    const client = await P4RuntimeClient.connect({ address: other.server.address });
    onTestFinished(() => client.close());
    await client.arbitrate(2n ** 100n);
    const { p4info, deviceConfig } = loadable();
    await client.pushPipeline(p4info, deviceConfig);
    const refused = await gradplane([
      "p4rt",
      "write",
      "--target",
      other.server.address,
      "insert",
      "clone",
      "1",
      "port=1",
    ]);
    expect(refused).toMatchObject({ status: 2 });
    expect(refused.stderr).toContain(`another controller has the election id ${2n ** 100n}`);
  });
});

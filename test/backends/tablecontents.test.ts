import { describe, expect, it } from "vitest";
import allInOne from "../../examples/all-in-one/program.ts";
import allreduce from "../../examples/allreduce/program.ts";
import libra from "../../examples/libra/program.ts";
import { generate, loadableOf } from "../../src/backends/index.ts";
import { IntentBook } from "../../src/controller/intent.ts";
import type { Placement } from "../../src/controller/jobs.ts";
import type { HostNode, Topology } from "../../src/controller/topology.ts";
import {
  bf16,
  bit,
  contentsOf,
  exactly,
  fp16,
  fp32,
  hotAggregation,
  ipv4Forwarding,
  isAggregation,
  type NumericMode,
  program,
  type SwitchProgram,
} from "../../src/dsl/index.ts";
import { fileNames } from "../../src/ir/reservedwords.ts";
import {
  contentEntities,
  EntityBuilder,
  EntityError,
  entityKey,
  nameEntity,
  Schema,
  tableContentsFromFile,
} from "../../src/p4runtime/index.ts";

const hosts = Array.from(
  { length: 4 },
  (_, port): HostNode => ({
    name: `h${port}`,
    mac: `02:00:00:00:00:0${port}`,
    ipv4: `10.0.0.${port + 1}`,
    attachments: [{ switch: "s1", port }],
  }),
);

const topology: Topology = {
  hosts,
  switches: [{ name: "s1", target: "127.0.0.1:1", deviceId: 1n, mac: "02:00:00:00:01:01", ipv4: "10.0.1.1" }],
};

const codes = (mode: NumericMode) =>
  program("codes", {
    ports: 8,
    cpuPort: 100,
    features: [ipv4Forwarding(), hotAggregation({ workers: 4, lanes: 2, rows: 16, mode, result: "ps" })],
  });

function made({ ir, name }: SwitchProgram) {
  const files = generate(ir);
  const text = String(files.get("tables.json"));
  const schema = new Schema(loadableOf(files, name).p4info);
  return { text, schema, file: tableContentsFromFile(text, "tables.json") };
}

/** What a controller puts on a switch with hosts at its first ports. */
function written({ ir, features }: SwitchProgram, schema: Schema, placements: readonly Placement[] = []) {
  const aggregation = features.find(isAggregation);
  const book = new IntentBook({
    topology,
    everywhere: contentsOf(ir),
    placements,
    ...(aggregation === undefined ? {} : { aggregation }),
  });
  return book.intentOf("s1", schema).entities;
}

describe("tables.json", () => {
  it.each([
    ["fp32", codes(fp32())],
    ["fp16", codes(fp16())],
    ["bf16", codes(bf16())],
    ["libra", libra],
    ["allreduce", allreduce],
    ["all in one", allInOne],
  ])("%s: says what the controller writes on every switch", (_, switchProgram) => {
    const { schema, file } = made(switchProgram);
    const ports = new Set(hosts.map((_host, port) => port));
    const fromFile = contentEntities(file, new EntityBuilder(schema), ports);
    const text = (entity: (typeof fromFile)[number]) =>
      JSON.stringify({ ...nameEntity(schema, entity), metadata: undefined }, (_key, v: unknown) =>
        typeof v === "bigint" ? `${v}` : v,
      );
    const byController = written(switchProgram, schema);
    // Routes are the network's.
    const same = byController.filter(
      (e) =>
        e.entity?.case !== "tableEntry" || !schema.tables.get(e.entity.value.tableId).name.endsWith(".route"),
    );
    expect(fromFile.map(text).sort()).toEqual(same.map(text).sort());
    const keys = fromFile.map((e) => entityKey(e, schema));
    expect(new Set(keys).size).toBe(keys.length);
  });

  it("has each lookup table, lists shared by the lanes, in a file that can be read", () => {
    const { text, file } = made(codes(fp32()));
    const { tables, contents } = JSON.parse(text);
    expect(contents.map((c: { name: string }) => c.name)).toEqual(
      [0, 1, 2, 3].map((slice) => `float_lookup.slice_${slice}`),
    );
    expect(tables.filter((t: object) => "contents" in t)).toHaveLength(2 * 4);
    expect(tables.find((t: { name: string }) => t.name === "float_lookup.lane_01_slice_2")).toMatchObject({
      filledBy: "control plane, from contents in tables.json",
      contents: {
        list: "float_lookup.slice_2",
        match: ["sign", "rel", "bits"],
        action: "float_lookup.lane_01_slice_2_part",
        parameters: ["part"],
      },
    });
    expect(file.count).toBe([...contentsOf(codes(fp32()).ir)].length);
    expect(text.length).toBeLessThan(400_000);
  });

  it("tells clone sessions by port, and who is in a multicast group", () => {
    expect(made(libra).file.cloneSessions.slice(0, 2)).toEqual([
      { session: 1, port: 0 },
      { session: 2, port: 1 },
    ]);
    expect(made(allreduce).file.cloneSessions).toEqual([]);
    expect(JSON.parse(made(allreduce).text).multicastGroups.doc).toContain("group = slot / 16 + 1");
  });

  it.each([
    ["{", /JSON/],
    ["[]", /the file is no object/],
    ['{"program": "p"}', /tables is no list/],
    ['{"program": "p", "tables": [{"name": "t", "contents": {"list": "l"}}]}', /match is no list/],
    [
      '{"program": "p", "tables": [{"name": "t", "contents": {"list": "l", "match": [], "action": "a", "parameters": []}}]}',
      /contents of t: there is no list/,
    ],
    ['{"program": "p", "tables": [], "cloneSessions": {"rows": ["1 x"]}}', /row "1 x"/],
  ])("%s is refused", (text, message) => {
    expect(() => tableContentsFromFile(text, "tables.json")).toThrow(EntityError);
    expect(() => tableContentsFromFile(text, "tables.json")).toThrow(message);
  });
});

describe("files beside those that have the program's name", () => {
  it("are names that programs cannot have", () => {
    const files = generate(allInOne.ir, { targets: ["v1model", "tna"] });
    const beside = [...files.keys()].flatMap((path) => {
      const [, folder = "", name = ""] = /^(.*\/)?([^/.]+)\.(?:p4|json)$/.exec(path) ?? [];
      return name === "" || folder.endsWith("controls/") || name === allInOne.ir.name ? [] : [name];
    });
    for (const name of beside) expect([...fileNames.keys()]).toContain(name);
    expect(new Set(beside)).toContain("tables");
  });
});

describe("contents of a table", () => {
  const withRows = (rows: readonly (readonly number[])[], options: { size?: number; other?: boolean } = {}) =>
    program("filled", {
      ports: 4,
      features: [
        ipv4Forwarding(),
        {
          name: "own",
          build(p) {
            const field = p.metadata("field", bit(4));
            const c = p.control("own", "ingress");
            const set = c.action("set", { to: bit(4) }, (a, { to }) => a.set(field, to));
            const never = c.action("other", { to: bit(4) }, (a, { to }) => a.set(field, to.add(1)));
            const table = c.table("t", {
              key: { field: exactly(field) },
              actions: options.other === true ? [never] : [set, never],
              size: options.size ?? 16,
              contents: { run: set, list: { name: "own.list", rows } },
            });
            c.apply((s) => s.apply(table));
            p.ingress("deliver", (s) => s.invoke(c));
          },
        },
      ],
    });

  it("of a user's own table go where the others go", () => {
    const own = withRows([[1, 2]]);
    expect([...contentsOf(own.ir)]).toEqual([
      { table: "own.t", match: { field: 1 }, action: "own.set", params: { to: 2 } },
    ]);
    expect(made(own).file.count).toBe(1);
  });

  it.each([
    [[[1]], {}, /GP1405: contents of table own.t: row 1 \(1\) has 1 values for field, to/],
    [[[16, 1]], {}, /GP1405: .* row 1 \(16 1\): 16 is not a value for field, which is bit<4>/],
    [[[1, 1.5]], {}, /1.5 is not a value for to/],
    [
      [
        [1, 1],
        [1, 2],
      ],
      {},
      /row 2 \(1 2\) matches what row 1 matches/,
    ],
    [
      [
        [1, 1],
        [2, 2],
      ],
      { size: 1 },
      /GP1401: .* 2 entries, and room for 1/,
    ],
    [[[1, 1]], { other: true }, /GP1403: .* own.set is not among its actions/],
  ])("%j %j is refused", (rows, options, message) => {
    expect(() => withRows(rows, options)).toThrow(message);
  });
});

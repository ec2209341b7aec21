import { describe, expect, it } from "vitest";
import { BackendError } from "../../src/backends/backenderror.ts";
import { lower } from "../../src/backends/v1model/lower.ts";
import { p4Files } from "../../src/backends/v1model/text/files.ts";
import type { Program } from "../../src/ir/index.ts";
import { bit } from "../../src/ir/index.ts";
import { externs } from "./externsprogram.ts";
import {
  action,
  apply,
  assign,
  constant,
  control,
  field,
  intrinsic,
  parameter,
  program,
  register,
  table,
  update,
} from "./nodes.ts";
import { forwarding, zoo } from "./programs.ts";

const files = (p: Program): ReadonlyMap<string, string> => p4Files(lower(p));
const all = (p: Program): string => [...files(p).values()].join("");

describe("the P4 text of v1model", () => {
  for (const p of [forwarding(), zoo(), externs()]) {
    it(`is as reviewed for ${p.name}`, async () => {
      for (const [path, text] of files(p))
        await expect(text).toMatchFileSnapshot(`golden/${p.name}/v1model/${path}`);
    });

    it(`has no line over 100 columns, no tabs, no spaces at line ends and one line end at the end (${p.name})`, () => {
      for (const text of files(p).values()) {
        for (const line of text.split("\n")) {
          expect(line.length).toBeLessThanOrEqual(100);
          expect(line).not.toMatch(/\t|\s$/);
        }
        expect(text).toMatch(/[^\n]\n$/);
        expect(text).not.toContain("\n\n\n");
      }
    });
  }

  it("comes out the same each time", () => {
    expect([...files(zoo())]).toEqual([...files(zoo())]);
  });

  it("is not escaped for HTML (pitfall 55)", () => {
    expect(all(zoo())).not.toMatch(/&(lt|gt|amp|quot|#x?[0-9a-fA-F]+);/);
    expect(all(zoo())).toContain("<angle> brackets & 'quotes'");
  });

  it("does not let a comment swallow the next line, whatever the documentation ends with", () => {
    const ends = ["a path C:\\", "two \\\\", "a space behind \\ ", "first \\\nsecond \\"];
    const p = program("p", {
      metadata: ends.map((doc, i) => ({ name: `m${i}`, type: bit(8), doc })),
      headerTypes: [
        { name: "h", doc: "of h \\", fields: ends.map((doc, i) => ({ name: `f${i}`, type: bit(8), doc })) },
      ],
      headers: [{ name: "h", headerType: "h" }],
    });
    for (const [path, text] of files(p)) expect(text, path).not.toMatch(/\\[ \t]*$/m);
  });

  it("keeps zeros (pitfall 56)", () => {
    const p = program("zeros", {
      headerTypes: [{ name: "h", fields: [{ name: "k", type: bit(8) }] }],
      headers: [{ name: "h", headerType: "h" }],
      controls: [
        control("c", {
          actions: [
            action(
              "c.set_port",
              [{ name: "port", type: bit(9) }],
              [assign(intrinsic("egress_port"), parameter("port", bit(9)))],
            ),
          ],
          tables: [
            table("c.t", [["k", field("h", "k", bit(8)), "exact"]], ["c.set_port"], {
              defaultAction: { action: "c.set_port", arguments: [0n], constant: false },
              constEntries: [{ action: "c.set_port", arguments: [0n], keys: [{ kind: "value", value: 0n }] }],
            }),
          ],
          apply: [apply("c.t")],
        }),
      ],
      ingress: [{ kind: "applyControl", control: "c" }],
    });
    expect(all(p)).toContain("default_action = set_port(0);");
    expect(all(p)).toContain("0: set_port(0);");
  });

  it("gives two objects of one name in a control different identifiers and keeps the names of the control plane", () => {
    const text = files(zoo()).get("controls/memory.p4") ?? "";
    expect(text).toContain('@name(".memory.slot") register<bit<8>>(1) slot_register;');
  });

  it("reads, computes and writes a register inside one atomic block", () => {
    const text = files(zoo()).get("controls/memory.p4") ?? "";
    const block = text.slice(text.indexOf("action add"), text.indexOf("events.count("));
    expect(block.match(/@atomic/g)).toHaveLength(1);
    expect(block).toContain("total.read(total_old, total_index);");
    expect(block).toContain("total.write(total_index, total_next);");
  });

  it("declares signed registers and parameters unsigned and casts them, since BMv2 keeps them so", () => {
    const text = all(zoo());
    expect(text).toContain("register<bit<16>>(300) level;");
    expect(text).toContain("action signs(bit<16> step, bit<1> raise)");
    expect(text).toContain("(int<16>)step");
  });

  it("refuses an object of another control", () => {
    const p = program("foreign", {
      controls: [
        control("a", { registers: [register("a.r", bit(8), 1)] }),
        control("b", { apply: [update("a.r", constant(0, bit(32)), constant(1, bit(8)))] }),
      ],
    });
    expect(() => lower(p)).toThrow(BackendError);
    expect(() => lower(p)).toThrow(/b uses the register a\.r/);
  });
});

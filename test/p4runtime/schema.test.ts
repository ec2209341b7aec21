import { describe, expect, it } from "vitest";
import { create, P4Info } from "../../src/p4info/index.ts";
import { Schema } from "../../src/p4runtime/schema.ts";
import { ID, PROGRAM } from "./program.ts";

describe("a schema", () => {
  const schema = new Schema(PROGRAM);

  it("finds objects by id, full name, alias and last part of the name", () => {
    for (const key of [ID.ipv4Lpm, "ingress.ipv4_lpm", "ipv4_lpm"])
      expect(schema.tables.get(key).name).toBe("ingress.ipv4_lpm");
    const { fields } = schema.tables.get("ipv4_lpm");
    for (const key of ["hdr.ipv4.dst", "dst"]) expect(fields.byName(key).id).toBe(1);
    expect(schema.actions.get("forward").params.byName("dst").id).toBe(2);
  });

  it("says what may have been meant", () => {
    expect(() => schema.tables.get("ipv4_lmp")).toThrow(
      'there is no table "ipv4_lmp" (did you mean "ipv4_lpm"?)',
    );
    expect(() => schema.tables.get("ipv4_lpm").fields.byName("dts")).toThrow(
      'table ingress.ipv4_lpm: there is no match field "dts" (did you mean "dst"?)',
    );
    expect(() => schema.actions.get("forward").params.byName("prot")).toThrow('did you mean "port"');
    expect(() => schema.tables.get(0x02ffffff)).toThrow("there is no table with id 50331647 (0x2ffffff)");
  });

  it("refuses a short name that several fields have", () => {
    const info = create(P4Info, {
      tables: [
        {
          preamble: { id: 0x02000001, name: "t" },
          matchFields: [
            { id: 1, name: "hdr.inner.dst", bitwidth: 8, match: { case: "matchType", value: "EXACT" } },
            { id: 2, name: "hdr.outer.dst", bitwidth: 8, match: { case: "matchType", value: "EXACT" } },
          ],
        },
      ],
    });
    const { fields } = new Schema(info).tables.get("t");
    expect(() => fields.byName("dst")).toThrow(/give the full name/);
    expect(fields.byName("hdr.outer.dst").id).toBe(2);
  });

  it("knows which tables need a priority", () => {
    const needs = schema.tables.all.filter((table) => table.needsPriority).map((table) => table.alias);
    expect(needs).toEqual(["acl"]);
  });

  it("follows direct resources, implementations and action scopes", () => {
    const acl = schema.tables.get("acl");
    expect(acl.directCounter?.name).toBe("ingress.acl_counter");
    expect(acl.directMeter?.unit).toBe("BYTES");
    expect(acl.actions.get(ID.forward)?.scope).toBe("TABLE_ONLY");
    expect(schema.tables.get("ecmp").implementation?.name).toBe("ingress.selector");
    expect(schema.packetOut?.byteLength).toBe(2);
  });

  it("refuses a P4Info that contradicts itself", () => {
    const twice = create(P4Info, {
      tables: [{ preamble: { id: 5, name: "a" } }],
      actions: [{ preamble: { id: 5, name: "b" } }],
    });
    expect(() => new Schema(twice)).toThrow(/b: it has the id 0x5, which a has already/);
    const dangling = create(P4Info, {
      tables: [{ preamble: { id: 5, name: "a" }, actionRefs: [{ id: 9 }] }],
    });
    expect(() => new Schema(dangling)).toThrow(/no action with id 9/);
    expect(() => new Schema(create(P4Info, { tables: [{}] }))).toThrow(/no id/);
  });

  it("works with ids above 2^31 (pitfall 106)", () => {
    const info = create(P4Info, { registers: [{ preamble: { id: 0xffff_fff0, name: "r" } }] });
    expect(new Schema(info).registers.get(0xffff_fff0).name).toBe("r");
  });
});

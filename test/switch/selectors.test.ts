import { describe, expect, it } from "vitest";
import { Switch, SwitchRuntimeError } from "../../src/switch/index.ts";
import { assign, bytes, extract, field, program, runtimeData, sm } from "./fixtures/builder.ts";

/** Table t points every packet to a group; the member is chosen by a hash of h.flow and sets the port. */
function ecmp(selector = true): Switch {
  return new Switch(
    program({
      types: { h_t: [["flow", 16]] },
      headers: { h: "h_t" },
      parser: { start: { ops: [extract("h")] } },
      actions: { to: { parameters: [["port", 9]], primitives: [assign(sm("egress_spec"), runtimeData(0))] } },
      ingress: {
        init: "init",
        tables: {
          init: { actions: ["NoAction"], default: { action: "NoAction" }, next: "t" },
          t: {
            key: [{ field: "standard_metadata.ingress_port", kind: "exact" }],
            actions: ["to", "NoAction"],
            profile: { name: "ap", selector },
          },
        },
        profiles: [
          {
            name: "ap",
            id: 0,
            max_size: 8,
            ...(selector ? { selector: { algo: "crc16", input: [field("h.flow")] } } : {}),
          },
        ],
      },
    }),
  );
}

const to = (port: number) => ({ action: "to", parameters: [BigInt(port)] });
const member = (id: number, weight = 1, watchPort?: number) =>
  watchPort === undefined ? { member: id, weight } : { member: id, weight, watchPort };
const codeOf = (action: () => unknown): string => {
  try {
    action();
  } catch (error) {
    if (error instanceof SwitchRuntimeError) return error.code;
    throw error;
  }
  return "OK";
};

function portsOf(sw: Switch): readonly (number | undefined)[] {
  return Array.from(
    { length: 300 },
    (_, flow) => sw.inject(1, bytes(flow.toString(16).padStart(4, "0")))[0]?.port,
  );
}

function threeMembers(): Switch {
  const sw = ecmp();
  const profile = sw.profile("ap");
  for (const port of [1, 2, 3]) profile.insertMember(port, to(port));
  profile.insertGroup(1, [member(1), member(2), member(3)]);
  sw.table("t").insert([{ kind: "exact", value: 1n }], { kind: "group", group: 1 });
  return sw;
}

describe("an action selector", () => {
  it("spreads flows over all members and keeps each flow on one", () => {
    const sw = threeMembers();
    const first = portsOf(sw);
    expect(new Set(first)).toEqual(new Set([1, 2, 3]));
    expect(portsOf(sw)).toEqual(first);
  });

  it("sends nothing to a member that left the group", () => {
    const sw = threeMembers();
    sw.profile("ap").modifyGroup(1, [member(1), member(3)]);
    expect(new Set(portsOf(sw))).toEqual(new Set([1, 3]));
    sw.profile("ap").deleteMember(2);
  });

  it("with an empty group does nothing, and the packet goes on", () => {
    const sw = threeMembers();
    sw.profile("ap").modifyGroup(1, []);
    expect(new Set(portsOf(sw))).toEqual(new Set([0]));
  });

  it("leaves out members whose port is down", () => {
    const sw = threeMembers();
    sw.profile("ap").modifyGroup(1, [member(1, 1, 1), member(2, 1, 2), member(3, 1, 3)]);
    sw.setPortUp(2, false);
    expect(new Set(portsOf(sw))).toEqual(new Set([1, 3]));
    sw.setPortUp(2, true);
    expect(new Set(portsOf(sw))).toEqual(new Set([1, 2, 3]));
  });

  it("follows weights", () => {
    const sw = threeMembers();
    sw.profile("ap").modifyGroup(1, [member(1, 5), member(2, 1)]);
    const ports = portsOf(sw);
    const share = ports.filter((port) => port === 1).length / ports.length;
    expect(share).toBeGreaterThan(0.7);
    expect(share).toBeLessThan(0.95);
  });

  it("takes a changed member at once", () => {
    const sw = threeMembers();
    sw.profile("ap").modifyMember(2, to(7));
    expect(new Set(portsOf(sw))).toEqual(new Set([1, 3, 7]));
  });

  it("refuses to delete what is in use, and unknown or too many members", () => {
    const sw = threeMembers();
    const profile = sw.profile("ap");
    expect(codeOf(() => profile.deleteMember(1))).toBe("FAILED_PRECONDITION");
    expect(codeOf(() => profile.deleteGroup(1))).toBe("FAILED_PRECONDITION");
    expect(codeOf(() => profile.modifyGroup(1, [member(9)]))).toBe("NOT_FOUND");
    expect(codeOf(() => profile.insertGroup(2, [member(1, 2), member(2, 2)], 3))).toBe("RESOURCE_EXHAUSTED");
    expect(codeOf(() => profile.insertGroup(1, []))).toBe("ALREADY_EXISTS");
    expect(codeOf(() => profile.insertMember(1, to(1)))).toBe("ALREADY_EXISTS");
    for (let id = 10; id < 15; id++) profile.insertMember(id, to(1));
    expect(codeOf(() => profile.insertMember(20, to(1)))).toBe("RESOURCE_EXHAUSTED");
    expect(
      codeOf(() => sw.table("t").insert([{ kind: "exact", value: 2n }], { kind: "group", group: 5 })),
    ).toBe("NOT_FOUND");
    expect(
      codeOf(() => sw.table("t").insert([{ kind: "exact", value: 2n }], { kind: "action", ...to(1) })),
    ).toBe("INVALID_ARGUMENT");
  });
});

describe("an action profile without selector", () => {
  it("is pointed to by member; a member in use can't be deleted", () => {
    const sw = ecmp(false);
    sw.profile("ap").insertMember(1, to(4));
    sw.table("t").insert([{ kind: "exact", value: 1n }], { kind: "member", member: 1 });
    expect(sw.inject(1, bytes("0000"))[0]?.port).toBe(4);
    expect(codeOf(() => sw.profile("ap").deleteMember(1))).toBe("FAILED_PRECONDITION");
    sw.table("t").delete([{ kind: "exact", value: 1n }]);
    sw.profile("ap").deleteMember(1);
    expect(codeOf(() => sw.profile("ap").insertGroup(1, []))).toBe("INVALID_ARGUMENT");
  });
});

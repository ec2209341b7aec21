import type { FieldReference, Program } from "../../src/ir/index.ts";
import { bit } from "../../src/ir/index.ts";
import {
  action,
  apply,
  arithmetic,
  assign,
  binary,
  constant,
  control,
  extract,
  field,
  intrinsic,
  meta,
  program,
  table,
  when,
} from "./nodes.ts";

const u8 = bit(8);
const x = (name: "kind" | "hops" | "a" | "kept" | "lost"): FieldReference => field("op", name, u8);
const [tag, other] = [meta("tag", u8), meta("other", u8)];
const to = (port: number) => assign(intrinsic("egress_port"), constant(port, bit(9)));

/** What kinds of packets do in it. */
export const kinds = { forwarded: 0, resubmitted: 1, recirculated: 2, resubmittedAfterDrop: 3 } as const;

/**
 * Packets that go through ingress more than once. Resubmitted ones bring `tag` and lose what was done to them; recirculated ones
 * are as egress left them.
 *
 * @param recirculateKeeps recirculated packets bring their tag too, which only v1model can.
 */
export function passes(recirculateKeeps = false): Program {
  return program(recirculateKeeps ? "keeping_passes" : "passes", {
    ports: 8,
    headerTypes: [
      {
        name: "op",
        fields: ["kind", "hops", "a", "kept", "lost"].map((name) => ({ name, type: u8 })),
      },
    ],
    headers: [{ name: "op", headerType: "op" }],
    metadata: [
      { name: "tag", type: u8, doc: "brought along" },
      { name: "other", type: u8, doc: "left behind" },
    ],
    parser: [{ name: "start", steps: [extract("op")], transition: { kind: "goto", next: "accept" } }],
    controls: [
      control("passes", {
        actions: [
          action(
            "passes.again",
            [],
            [
              assign(tag, x("a")),
              assign(other, x("a")),
              assign(x("lost"), constant(0xee, u8)),
              { kind: "resubmit", keep: [tag] },
            ],
          ),
          action("passes.away", [], [{ kind: "drop" }]),
        ],
        tables: [
          table("passes.dropped", [["kind", x("kind"), "exact"]], ["passes.away"], {
            constEntries: [{ keys: [{ kind: "value", value: 3n }], action: "passes.away", arguments: [] }],
          }),
        ],
        apply: [
          to(2),
          apply("passes.dropped"),
          when(
            intrinsic("is_resubmitted"),
            [assign(x("kept"), tag), assign(x("lost"), arithmetic(x("lost"), "+", other)), to(3)],
            [
              when(
                binary(
                  binary(x("kind"), "==", constant(1, u8)),
                  "||",
                  binary(x("kind"), "==", constant(3, u8)),
                ),
                [{ kind: "callAction", action: "passes.again", arguments: [] }],
              ),
            ],
          ),
          when(
            binary(binary(x("kind"), "==", constant(2, u8)), "&&", binary(x("hops"), "<", constant(3, u8))),
            [
              assign(x("hops"), arithmetic(x("hops"), "+", constant(1, u8))),
              assign(tag, x("hops")),
              { kind: "recirculate", keep: recirculateKeeps ? [tag] : [] },
            ],
            [
              when(intrinsic("is_recirculated"), [
                assign(x("kept"), recirculateKeeps ? tag : constant(0x77, u8)),
              ]),
            ],
          ),
        ],
      }),
      control("leaving", {
        gress: "egress",
        apply: [assign(x("a"), arithmetic(x("a"), "+", constant(1, u8)))],
      }),
    ],
    ingress: [
      when(intrinsic("parser_failed"), [{ kind: "drop" }, { kind: "exit" }]),
      { kind: "applyControl", control: "passes" },
    ],
    egress: [{ kind: "applyControl", control: "leaving" }],
    deparser: ["op"],
  });
}

/** What the program does with a packet, in plain numbers: output port and bytes. */
export function passesModel(
  [kind = 0, hops = 0, a = 0, kept = 0, lost = 0]: readonly number[],
  recirculateKeeps = false,
): { readonly port: number; readonly bytes: readonly number[] } | undefined {
  const byte = (n: number): number => n & 0xff;
  // A resubmitted packet of kind 3 meets the table again, and is sent to port 3 by what comes after.
  if (kind === kinds.resubmitted || kind === kinds.resubmittedAfterDrop)
    return { port: 3, bytes: [kind, hops, byte(a + 1), a, lost] };
  if (kind !== kinds.recirculated || hops >= 3)
    return { port: 2, bytes: [kind, hops, byte(a + 1), kept, lost] };
  const passesLeft = 3 - hops;
  return {
    port: 2,
    bytes: [kind, 3, byte(a + passesLeft + 1), recirculateKeeps ? 3 : 0x77, lost],
  };
}

import { generate } from "../../src/backends/index.ts";
import type { IntentBook } from "../../src/controller/intent.ts";
import { ecmp, ipv4Forwarding, probe, program } from "../../src/dsl/index.ts";
import { p4infoFromBinary, Schema } from "../../src/p4runtime/index.ts";
import { bigintOf } from "../../src/p4runtime/values.ts";

const { ir } = program("flows", {
  ports: 16,
  cpuPort: 100,
  features: [ipv4Forwarding(), ecmp({ groups: 16, members: 8, spray: "none" }), probe()],
});

/** The groups of flows that a book wants on a switch: watched port and weight of each member. */
export function groupsOf(book: IntentBook, name: string) {
  const info = generate(ir).get("p4info.bin");
  if (!(info instanceof Uint8Array)) throw new Error("no P4Info");
  const { entities } = book.intentOf(name, new Schema(p4infoFromBinary(info)));
  return entities.flatMap(({ entity }) =>
    entity?.case !== "actionProfileGroup"
      ? []
      : [
          {
            group: entity.value.groupId,
            members: entity.value.members.map(({ weight, watchKind }) => [
              watchKind?.case === "watchPort" ? Number(bigintOf(watchKind.value)) : -1,
              weight,
            ]),
          },
        ],
  );
}

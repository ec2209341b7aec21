import { expect, it } from "vitest";
import { create, P4Info } from "../../src/p4info/index.ts";
import { EntityBuilder, Schema } from "../../src/p4runtime/index.ts";

const schema = new Schema(create(P4Info, {}));

function portKind(apiVersion: string): string | undefined {
  const { entity } = new EntityBuilder(schema, apiVersion).cloneSession(1, [{ port: 0 }]);
  if (entity?.case !== "packetReplicationEngineEntry" || entity.value.type?.case !== "cloneSessionEntry")
    return undefined;
  return entity.value.type.value.replicas[0]?.portKind?.case;
}

it.each([
  ["1.3.0", "egressPort"],
  ["1.0", "egressPort"],
  ["1.4.1", "port"],
  ["2.0.0", "port"],
])(
  "a server of version %s is told ports of replicas as %s: PI refuses port 0 in the newer field",
  (version, kind) => {
    expect(portKind(version)).toBe(kind);
  },
);

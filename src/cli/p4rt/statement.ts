import {
  type ActionInput,
  type Entity,
  type EntityBuilder,
  insert,
  type MatchInputs,
  modify,
  type Params,
  type ReplicaInput,
  remove,
  type Update,
} from "../../p4runtime/index.ts";
import { UserError } from "../exit.ts";

/** What statements begin with. */
export const UPDATE_WORDS = ["insert", "modify", "delete"] as const;

/** What may be spoken of beside tables. */
export const KINDS = [
  "table",
  "default",
  "counter",
  "direct-counter",
  "meter",
  "direct-meter",
  "register",
  "member",
  "group",
  "multicast",
  "clone",
  "digest",
  "value-set",
] as const;

export const STATEMENTS = `  insert TABLE FIELD=VALUE ... [priority=N] do ACTION PARAM=VALUE ...
  modify TABLE ... do ACTION ...            delete TABLE FIELD=VALUE ... [priority=N]
  modify default TABLE do ACTION ...        modify default TABLE            (back to the program's own)
  insert member PROFILE N do ACTION ...     insert group PROFILE N MEMBER=WEIGHT ...
  insert multicast N port=P[/INSTANCE] ...  insert clone N port=P[/INSTANCE] ...
  modify counter NAME INDEX packets=N bytes=N
  modify meter NAME INDEX cir=N cburst=N pir=N pburst=N
  modify register NAME INDEX value=N        insert digest NAME [timeout=NS] [size=N] [ack=NS]`;

/** `insert ipv4_lpm dst=10.0.0.0/8 do forward port=1`, in words. @throws UserError, EntityError */
export function parseUpdate(words: readonly string[], entities: EntityBuilder): Update {
  const [type, ...rest] = words;
  switch (type) {
    case "insert":
      return insert(parseEntity(rest, entities, true));
    case "modify":
      return modify(parseEntity(rest, entities, true));
    case "delete":
      return remove(parseEntity(rest, entities, false));
    default:
      throw new UserError(
        `"${type ?? ""}" is none of ${UPDATE_WORDS.join(", ")}. Statements are\n${STATEMENTS}`,
      );
  }
}

function parseEntity(words: readonly string[], entities: EntityBuilder, hasData: boolean): Entity {
  const [first = "", ...rest] = words;
  switch (first) {
    case "default": {
      const [table, ...more] = rest;
      const { action, params } = splitCall(more);
      return entities.defaultEntry(needed(table, "the name of a table"), action, params);
    }
    case "counter": {
      const { name, index, values } = cell(rest);
      return entities.counter(name, index, {
        packetCount: BigInt(values.packets ?? 0),
        byteCount: BigInt(values.bytes ?? 0),
      });
    }
    case "meter": {
      const { name, index, values } = cell(rest);
      const rates = Object.entries(values).map(([key, value]) => [key, BigInt(value)] as const);
      return entities.meter(name, index, rates.length === 0 ? undefined : Object.fromEntries(rates));
    }
    case "register": {
      const { name, index, values } = cell(rest);
      return entities.register(name, index, needed(values.value, "value=N"));
    }
    case "member": {
      const [profile, id, ...more] = rest;
      const { action, params } = splitCall(more);
      return entities.member(
        needed(profile, "the name of an action profile"),
        whole(id, "its number"),
        action,
        params,
      );
    }
    case "group": {
      const [profile, id, ...more] = rest;
      const members = Object.entries(pairs(more)).map(([member, weight]) => ({
        member: whole(member, "a member"),
        weight: whole(weight, "a weight"),
      }));
      return entities.group(
        needed(profile, "the name of an action profile"),
        whole(id, "its number"),
        members,
      );
    }
    case "multicast":
      return entities.multicastGroup(whole(rest[0], "its number"), replicas(rest.slice(1)));
    case "clone":
      return entities.cloneSession(whole(rest[0], "its number"), replicas(rest.slice(1)));
    case "digest": {
      const [name, ...more] = rest;
      const { timeout = "0", size = "1", ack = "0" } = pairs(more);
      const config = { maxTimeoutNs: BigInt(timeout), maxListSize: Number(size), ackTimeoutNs: BigInt(ack) };
      return entities.digest(needed(name, "the name of a digest"), hasData ? config : undefined);
    }
    case "table":
      return entry(rest, entities);
    default:
      return entry(words, entities);
  }
}

function entry(words: readonly string[], entities: EntityBuilder): Entity {
  const [table, ...rest] = words;
  const at = rest.indexOf("do");
  const { priority, ...match } = pairs(at < 0 ? rest : rest.slice(0, at));
  const { action, params } = splitCall(rest);
  const choice: ActionInput | undefined =
    action === "member" || action === "group"
      ? action === "member"
        ? { member: whole(rest[at + 2], "a member") }
        : { group: whole(rest[at + 2], "a group") }
      : action === undefined
        ? undefined
        : { action, params };
  const options = priority === undefined ? {} : { priority: whole(priority, "priority") };
  const inputs: MatchInputs = match;
  return entities.tableEntry(needed(table, "the name of a table"), inputs, choice, {}, options);
}

/** What is behind `do`. */
function splitCall(words: readonly string[]): {
  readonly action: string | undefined;
  readonly params: Params;
} {
  const at = words.indexOf("do");
  if (at < 0) return { action: undefined, params: {} };
  const [action, ...params] = words.slice(at + 1);
  const isReference = action === "member" || action === "group";
  return { action: needed(action, "an action behind do"), params: isReference ? {} : pairs(params) };
}

function pairs(words: readonly string[]): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const word of words) {
    const at = word.indexOf("=");
    if (at <= 0) throw new UserError(`"${word}" is no NAME=VALUE`);
    const name = word.slice(0, at);
    if (name in found) throw new UserError(`${name} is given twice`);
    found[name] = word.slice(at + 1);
  }
  return found;
}

function cell(words: readonly string[]): {
  readonly name: string;
  readonly index: number;
  readonly values: Readonly<Record<string, string>>;
} {
  const [name, index, ...values] = words;
  return { name: needed(name, "a name"), index: whole(index, "an index"), values: pairs(values) };
}

function replicas(words: readonly string[]): readonly ReplicaInput[] {
  return words.map((word) => {
    const parts = /^port=(\d+)(?:\/(\d+))?$/.exec(word);
    if (parts === null) throw new UserError(`"${word}" is no port=P or port=P/INSTANCE`);
    return { port: Number(parts[1]), instance: Number(parts[2] ?? 0) };
  });
}

function whole(text: string | undefined, what: string): number {
  if (text === undefined || !/^\d+$/.test(text))
    throw new UserError(`${what} is ${text === undefined ? "missing" : `"${text}"`}; it is a whole number`);
  return Number(text);
}

function needed(text: string | undefined, what: string): string {
  if (text === undefined) throw new UserError(`${what} is missing. Statements are\n${STATEMENTS}`);
  return text;
}

/** What to read: nothing for all tables, else a table or a kind and a name. @throws UserError, EntityError */
export function parseQuestion(words: readonly string[], entities: EntityBuilder): readonly Entity[] {
  const [first, name, index, ...more] = words;
  if (first === undefined) return [entities.allEntries()];
  const only = (most: number): void => {
    if (words.length > most) throw new UserError(`"${words.slice(most).join(" ")}" is too much`);
  };
  const at = (): number | undefined => {
    if (more.length > 0) throw new UserError(`"${more.join(" ")}" is too much`);
    return index === undefined ? undefined : whole(index, "an index");
  };
  const all = (
    found: readonly { readonly name: string }[],
    make: (name: string) => Entity,
  ): readonly Entity[] => {
    only(2);
    return name === undefined ? found.map((object) => make(object.name)) : [make(name)];
  };
  const { schema } = entities;
  switch (first) {
    case "default":
      return all(schema.tables.all, (table) => entities.defaultEntry(table));
    case "counter":
      return name === undefined
        ? schema.counters.all.map((c) => entities.counter(c.name))
        : [entities.counter(name, at())];
    case "meter":
      return name === undefined
        ? schema.meters.all.map((m) => entities.meter(m.name))
        : [entities.meter(name, at())];
    case "register":
      return name === undefined
        ? schema.registers.all.map((r) => entities.register(r.name))
        : [entities.register(name, at())];
    case "direct-counter":
      return all(
        schema.tables.all.filter((t) => t.directCounter !== undefined),
        (table) => entities.directCounter(table),
      );
    case "direct-meter":
      return all(
        schema.tables.all.filter((t) => t.directMeter !== undefined),
        (table) => entities.directMeter(table),
      );
    case "member":
      return all(schema.actionProfiles.all, (profile) => entities.member(profile, 0));
    case "group":
      return all(
        schema.actionProfiles.all.filter((p) => p.withSelector),
        (profile) => entities.group(profile, 0),
      );
    case "multicast":
      only(2);
      return [entities.multicastGroup(name === undefined ? 0 : whole(name, "its number"))];
    case "clone":
      only(2);
      return [entities.cloneSession(name === undefined ? 0 : whole(name, "its number"))];
    case "digest":
      return all(schema.digests.all, (digest) => entities.digest(digest));
    case "value-set":
      return all(schema.valueSets.all, (set) => entities.valueSet(set));
    case "table":
      only(2);
      return [entities.allEntries(name)];
    default: {
      only(1);
      const table = schema.tables.get(first);
      return [entities.allEntries(table.name, { counters: table.directCounter !== undefined })];
    }
  }
}

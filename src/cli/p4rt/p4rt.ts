import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { readDifference } from "../../controller/reconcile.ts";
import { didYouMean } from "../../p4info/suggest.ts";
import {
  contentEntities,
  insert,
  modify,
  type NamedEntity,
  nameEntity,
  type P4RuntimeClient,
  tableContentsFromFile,
} from "../../p4runtime/index.ts";
import { EnvironmentError, UserError } from "../exit.ts";
import { parse, type Verb, wholeNumber } from "../verb.ts";
import { completions } from "./completion.ts";
import { programData, programLines } from "./info.ts";
import { entityLine, entityLines } from "./lines.ts";
import { parseQuestion, parseUpdate, STATEMENTS } from "./statement.ts";
import {
  becomePrimary,
  connectTarget,
  reporting,
  TARGET_HELP,
  TARGET_OPTIONS,
  type TargetValues,
} from "./target.ts";

export const p4rt: Verb = {
  help: `Usage: gradplane p4rt read|write|fill|watch|info|shell --target HOST:PORT ...

P4Runtime by hand, with the names of the program.

  info                  what the switch is, and what its program has
  read [WHAT]           all entries, those of a table, or another kind: default, counter, direct-counter, meter,
                        direct-meter, register, member, group, multicast, clone, digest; with a name, and an index
  write STATEMENT       or --file FILE with one statement a line:
${STATEMENTS}
  fill TABLES.json      what build wrote of the contents that every switch of the program has: lookup tables, thresholds,
                        clone sessions (for --ports 0,1,2 alone); only what is not there yet is written
  watch                 packets, digests and notifications as they come (only the primary gets most of them:
                        add --primary), or a counter, meter or register again and again: watch counter NAME
  shell                 statements and reads one after the other, with completion

  --json                one JSON object a line
  --every MS            how often watch reads, default 1000
${TARGET_HELP}

Examples:
  gradplane p4rt write --target 127.0.0.1:9559 insert forwarding.route dst_addr=10.0.0.1/32 do to_port port=1 dst_mac=02:00:00:00:00:01
  gradplane p4rt read forwarding.route --target 127.0.0.1:9559
  gradplane p4rt fill p4out/libra/tables.json --target 127.0.0.1:9559`,
  async run(args) {
    const { values, positionals } = parse("p4rt", args, {
      ...TARGET_OPTIONS,
      json: { type: "boolean", default: false },
      file: { type: "string" },
      primary: { type: "boolean", default: false },
      ports: { type: "string" },
      every: { type: "string", default: "1000" },
    });
    const [what, ...words] = positionals;
    const out = new Output(values.json);
    switch (what) {
      case "info":
        return reporting(() => info(values, out));
      case "read":
        return reporting(() => read(values, words, out));
      case "write":
        return reporting(() => write(values, words, out));
      case "fill":
        return reporting(() => fill(values, words, out));
      case "watch":
        return reporting(() => watch(values, words, out, wholeNumber("every", values.every, 10, 3_600_000)));
      case "shell":
        return reporting(() => shell(values));
      default:
        throw new UserError(
          `${what === undefined ? "say what to do" : `"${what}" is nothing to do${didYouMean(what, WORDS)}`}: read, write, fill, watch, info or shell; see gradplane p4rt --help`,
        );
    }
  },
};

const WORDS = ["read", "write", "fill", "watch", "info", "shell"];

/** Lines for people, or JSON for programs. */
class Output {
  readonly #json: boolean;

  constructor(json: boolean) {
    this.#json = json;
  }

  data(value: object, lines: readonly string[]): void {
    process.stdout.write(this.#json ? `${JSON.stringify(value, bigints)}\n` : `${lines.join("\n")}\n`);
  }

  entities(entities: readonly NamedEntity[]): void {
    if (this.#json)
      for (const entity of entities) process.stdout.write(`${JSON.stringify(entity, bigints)}\n`);
    else for (const line of entityLines(entities)) process.stdout.write(`${line}\n`);
  }
}

function bigints(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? value.toString() : value;
}

async function withClient(
  values: TargetValues,
  work: (client: P4RuntimeClient) => Promise<void>,
): Promise<void> {
  const client = await connectTarget("p4rt", values);
  try {
    await work(client);
  } finally {
    await client.close();
  }
}

async function info(values: TargetValues, out: Output): Promise<void> {
  await withClient(values, async (client) => {
    const cookie = await client.getCookie();
    const { title } = client.server;
    const about = {
      address: client.address,
      p4runtime: client.apiVersion,
      cookie: cookie?.toString(),
      server: title,
    };
    out.data({ ...about, program: programData(client.schema) }, [
      `${client.address}: P4Runtime ${client.apiVersion}, cookie ${cookie ?? "none"}`,
      ...programLines(client.schema),
    ]);
  });
}

async function read(values: TargetValues, words: readonly string[], out: Output): Promise<void> {
  await withClient(values, async (client) => {
    const found = await client.readAll(parseQuestion(words, client.entities));
    out.entities(found.map((entity) => nameEntity(client.schema, entity)));
  });
}

async function write(
  values: TargetValues & { readonly file?: string | undefined },
  words: readonly string[],
  out: Output,
): Promise<void> {
  const statements = values.file === undefined ? [words] : statementsOf(values.file);
  if (values.file !== undefined && words.length > 0)
    throw new UserError("give one statement, or --file FILE, not both");
  await withClient(values, async (client) => {
    // All are understood before any is carried out.
    const updates = statements.map((statement) => parseUpdate(statement, client.entities));
    await becomePrimary(client, values);
    await client.write(updates);
    out.data({ written: updates.length }, [
      `${updates.length} ${updates.length === 1 ? "update" : "updates"} written`,
    ]);
  });
}

/** Writes what a program's `tables.json` says that all its switches have. */
async function fill(
  values: TargetValues & { readonly ports?: string | undefined },
  words: readonly string[],
  out: Output,
): Promise<void> {
  const [file, ...more] = words;
  if (file === undefined || more.length > 0)
    throw new UserError("name one file: gradplane p4rt fill p4out/NAME/tables.json --target HOST:PORT");
  const contents = tableContentsFromFile(textOf(file), file);
  const ports = values.ports?.split(",").map((port) => wholeNumber("ports", port, 0, 0xffff_ffff));
  await withClient(values, async (client) => {
    const entities = contentEntities(contents, client.entities, ports && new Set(ports));
    const { missing, changed, same } = await readDifference(client, { entities, tableRank: new Map() });
    await becomePrimary(client, values);
    await client.write([...missing.map(insert), ...changed.map(({ wanted }) => modify(wanted))]);
    const counts = { inserted: missing.length, modified: changed.length, unchanged: same };
    const kinds = `${contents.count} table entries, ${entities.length - contents.count} clone sessions`;
    out.data(counts, [
      `${missing.length} inserted, ${changed.length} modified, ${same} unchanged (${kinds})`,
    ]);
  });
}

function textOf(file: string): string {
  try {
    return readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (error) {
    throw new UserError(`cannot read ${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** One statement a line; empty lines and what is behind # is nothing. */
function statementsOf(file: string): readonly (readonly string[])[] {
  return textOf(file)
    .split("\n")
    .map((line) => line.replace(/#.*/, "").trim())
    .filter((line) => line !== "")
    .map((line) => line.split(/\s+/));
}

async function watch(
  values: TargetValues & { readonly primary: boolean; readonly json: boolean },
  words: readonly string[],
  out: Output,
  every: number,
): Promise<void> {
  const say = (value: object, line: string): void => out.data(value, [line]);
  let ended = (_: Error | undefined): void => {};
  const end = new Promise<Error | undefined>((resolve) => {
    ended = resolve;
  });
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => ended(undefined));
  const client = await connectTarget("p4rt", values, {
    onDisconnect: (error) => ended(error),
    onArbitration: (state) => {
      const who = state.isPrimary
        ? "this is the primary"
        : state.hasPrimary
          ? "another is the primary"
          : "there is no primary";
      say(
        { kind: "arbitration", ...state },
        `arbitration: ${who}; highest election id ${state.highestElectionId ?? "none"}`,
      );
    },
  });
  try {
    if (words.length > 0) {
      const question = parseQuestion(words, client.entities);
      let isOver = false;
      void end.then(() => {
        isOver = true;
      });
      while (!isOver) {
        const found = await client.readAll(question);
        out.entities(found.map((entity) => nameEntity(client.schema, entity)));
        await Promise.race([sleep(every), end]);
      }
      return;
    }
    if (values.primary) await becomePrimary(client, values);
    else await client.arbitrate(undefined, { timeout: Number(values.timeout) });
    const stop = new AbortController();
    const { signal } = stop;
    void quietly(async () => {
      for await (const { payload, metadata } of client.packets({ signal }))
        say(
          { kind: "packet", metadata, payload: Buffer.from(payload).toString("hex") },
          `packet: ${payload.length} bytes ${JSON.stringify(metadata, bigints)} ${Buffer.from(payload.subarray(0, 32)).toString("hex")}`,
        );
    });
    void quietly(async () => {
      for await (const list of client.digests({ signal })) {
        const name = client.schema.digests.find(list.digestId)?.name ?? `${list.digestId}`;
        say({ kind: "digest", name, data: list.data }, `digest ${name}: ${list.data.length} messages`);
        client.ackDigest(list);
      }
    });
    void quietly(async () => {
      for await (const { tableEntry } of client.idleTimeouts({ signal }))
        for (const value of tableEntry) {
          const entity = nameEntity(client.schema, { entity: { case: "tableEntry", value } });
          say({ ...entity, kind: "idle" }, `idle: ${entityLine(entity)}`);
        }
    });
    const error = await end;
    stop.abort();
    if (error !== undefined) throw new EnvironmentError(error.message);
  } finally {
    await client.close();
  }
}

/** A loop over a stream that ends with the connection; why that ended is told elsewhere. */
async function quietly(loop: () => Promise<void>): Promise<void> {
  await loop().catch(() => {});
}

async function shell(values: TargetValues): Promise<void> {
  await withClient(values, async (client) => {
    const { schema } = client;
    const lines = createInterface({
      input: process.stdin,
      output: process.stdout,
      terminal: process.stdin.isTTY === true,
      prompt: `${client.address}> `,
      completer: (line: string) => [[...completions(line, schema)], line.split(/\s+/).at(-1) ?? ""],
    });
    if (process.stdin.isTTY)
      process.stdout.write(`${schema.info.pkgInfo?.name ?? ""}: help tells what can be said\n`);
    lines.prompt();
    for await (const line of lines) {
      const words = line
        .trim()
        .split(/\s+/)
        .filter((word) => word !== "");
      if (words[0] === "exit" || words[0] === "quit") break;
      try {
        for (const text of await perform(client, values, words)) process.stdout.write(`${text}\n`);
      } catch (error) {
        // A mistake ends the line and not the shell.
        process.stdout.write(`${error instanceof Error ? error.message : String(error)}\n`);
      }
      lines.prompt();
    }
    lines.close();
  });
}

async function perform(
  client: P4RuntimeClient,
  values: TargetValues,
  words: readonly string[],
): Promise<readonly string[]> {
  const [command, ...rest] = words;
  switch (command) {
    case undefined:
      return [];
    case "help":
      return [STATEMENTS, "  read [WHAT [NAME [INDEX]]]    info    exit"];
    case "info":
      return programLines(client.schema);
    case "read": {
      const found = await client.readAll(parseQuestion(rest, client.entities));
      return entityLines(found.map((entity) => nameEntity(client.schema, entity)));
    }
    default: {
      const update = parseUpdate(words, client.entities);
      if (!client.isPrimary) await becomePrimary(client, values);
      await client.write([update]);
      return ["done"];
    }
  }
}

import { readFileSync } from "node:fs";
import {
  type ClientOptions,
  EntityError,
  MessageError,
  type P4Info,
  P4RuntimeClient,
  P4RuntimeError,
  P4RuntimeWriteError,
  p4infoFromFile,
} from "../../p4runtime/index.ts";
import { EnvironmentError, UserError } from "../exit.ts";

/** Options of all verbs that talk to one switch. */
export const TARGET_OPTIONS = {
  target: { type: "string" },
  "device-id": { type: "string", default: "1" },
  "election-id": { type: "string" },
  role: { type: "string" },
  p4info: { type: "string" },
  ca: { type: "string" },
  cert: { type: "string" },
  key: { type: "string" },
  "passphrase-file": { type: "string" },
  "server-name": { type: "string" },
  timeout: { type: "string", default: "2000" },
} as const;

export const TARGET_HELP = `  --target HOST:PORT    the P4Runtime server
  --device-id N         default 1; simple_switch_grpc's own default is 0
  --election-id N       default: the clock, so that the one who comes last wins
  --role NAME           default: the default role
  --p4info FILE         names of the program, text or binary; default: those of the switch's own
  --ca FILE             use TLS, and trust this authority; --cert and --key for a certificate of one's own
  --passphrase-file F   opens the key, where that is encrypted
  --server-name NAME    the name in the server's certificate, when it is not the host's
  --timeout MS          for connecting, default 2000`;

export interface TargetValues {
  readonly target?: string | undefined;
  readonly "device-id": string;
  readonly "election-id"?: string | undefined;
  readonly role?: string | undefined;
  readonly p4info?: string | undefined;
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly "passphrase-file"?: string | undefined;
  readonly "server-name"?: string | undefined;
  readonly timeout: string;
}

/** Connects, and learns the names of the program. @throws UserError, EnvironmentError */
export async function connectTarget(
  verb: string,
  values: TargetValues,
  more: Partial<ClientOptions> = {},
): Promise<P4RuntimeClient> {
  const { target } = values;
  if (target === undefined)
    throw new UserError(`--target HOST:PORT is missing; see gradplane ${verb} --help`);
  if (!/:\d{1,5}$/.test(target))
    throw new UserError(`--target is "${target}"; write HOST:PORT, for example 127.0.0.1:9559`);
  if (!/^\d+$/.test(values["device-id"]))
    throw new UserError(`--device-id is "${values["device-id"]}"; it is a whole number`);
  const info = values.p4info === undefined ? undefined : readP4Info(values.p4info);
  const usesTls = values.ca !== undefined || values.cert !== undefined;
  const timeout = wholeMs(values.timeout);
  const client = await P4RuntimeClient.connect(
    {
      address: target,
      deviceId: BigInt(values["device-id"]),
      ...(values.role === undefined ? {} : { role: values.role }),
      ...(usesTls
        ? {
            tls: {
              ...(values.ca === undefined ? {} : { ca: readPem(values.ca) }),
              ...(values.cert === undefined ? {} : { certificate: readPem(values.cert) }),
              ...(values.key === undefined ? {} : { key: readPem(values.key) }),
              ...(values["passphrase-file"] === undefined
                ? {}
                : { passphrase: secretOf(values["passphrase-file"]) }),
              ...(values["server-name"] === undefined ? {} : { serverName: values["server-name"] }),
            },
          }
        : {}),
      ...more,
    },
    { timeout },
  );
  try {
    if (info !== undefined) await checkProgram(client, info, values.p4info ?? "", timeout);
    await client.useProgram(info, { timeout });
    return client;
  } catch (error) {
    await client.close();
    throw error;
  }
}

/**
 * Names of another program would be ids of other things on the switch, or of nothing.
 * @throws EnvironmentError that names something that the switch has not
 */
async function checkProgram(
  client: P4RuntimeClient,
  info: P4Info,
  file: string,
  timeout: number,
): Promise<void> {
  const loaded = (await client.getPipeline("P4INFO_AND_COOKIE", { timeout }))?.p4info;
  if (loaded === undefined) return;
  const names = (of: P4Info): ReadonlyMap<number, string> =>
    new Map(
      [of.tables, of.actions, of.actionProfiles, of.counters, of.meters, of.registers]
        .flat()
        .flatMap(({ preamble }) => (preamble === undefined ? [] : [[preamble.id, preamble.name]])),
    );
  const there = names(loaded);
  for (const [id, name] of names(info))
    if (there.get(id) !== name)
      throw new EnvironmentError(
        `${client.address} has another program than ${file} is of: there is no ${name} with id ${id} on the switch`,
      );
}

/** Becomes the primary, or says who is. */
export async function becomePrimary(client: P4RuntimeClient, values: TargetValues): Promise<void> {
  const given = values["election-id"];
  if (given !== undefined && !/^\d+$/.test(given))
    throw new UserError(`--election-id is "${given}"; it is a whole number`);
  const id = given === undefined ? BigInt(Date.now()) : BigInt(given);
  const state = await client.arbitrate(id, { timeout: wholeMs(values.timeout) });
  if (!state.isPrimary)
    throw new EnvironmentError(
      `${client.address}: another controller has the election id ${state.highestElectionId}; to take over, give a higher --election-id`,
    );
}

function wholeMs(text: string): number {
  if (!/^\d+$/.test(text)) throw new UserError(`--timeout is "${text}"; it is a number of milliseconds`);
  return Number(text);
}

function readPem(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new UserError(`cannot read ${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** What a file holds that is to stay off the command line, which everybody on a machine can see. @throws UserError */
export function secretOf(file: string): string {
  return readPem(file)
    .toString("utf8")
    .replace(/\r?\n$/, "");
}

export function readP4Info(file: string): P4Info {
  try {
    return p4infoFromFile(readFileSync(file), file);
  } catch (error) {
    if (error instanceof MessageError) throw new UserError(`${file} is no P4Info: ${error.message}`);
    throw new UserError(`cannot read ${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Runs what a verb does; what goes wrong there is the user's mistake or the network's, and never a fault of gradplane. */
export async function reporting<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof EntityError) throw new UserError(error.message);
    // The switch answered, and refused.
    if (error instanceof P4RuntimeWriteError && error.updates !== undefined)
      throw new UserError(error.message);
    if (error instanceof P4RuntimeError) throw new EnvironmentError(error.message);
    throw error;
  }
}

import type { P4Info } from "../p4info/index.ts";
import { AdminServer, AdminService, DataplaneServer, type Switch, SwitchRunner } from "../switch/index.ts";
import {
  EmbeddedSwitchTarget,
  type GrpcTls,
  ioOf,
  P4RuntimeServer,
  P4RuntimeServerError,
  type ServerProfile,
  StateSnapshotError,
  StatusError,
} from "../switch/p4runtime/index.ts";
import { EnvironmentError, UserError } from "./exit.ts";
import type { SwitchLog } from "./switchlog.ts";
import { openPorts, type PortRequest, play } from "./switchports.ts";
import { readSnapshot, refusal, restoreQueues, restoreTofino, writeSnapshot } from "./switchsnapshot.ts";

export interface StartProgram {
  readonly p4info: P4Info;
  readonly deviceConfig: Uint8Array;
}

/** What `gradplane switch` serves beside its ports. Addresses are `host:port`. */
export interface Service {
  /** Seconds before captures are played. */
  readonly pcapWait: number;
  readonly address: string;
  readonly dataplaneAddress: string | undefined;
  readonly adminAddress: string | undefined;
  readonly metricsAddress: string | undefined;
  readonly deviceId: bigint;
  readonly profile: ServerProfile;
  readonly program: StartProgram | undefined;
  readonly tls: GrpcTls | undefined;
  /** File for the state between two lives. */
  readonly snapshot: string | undefined;
  readonly log: SwitchLog;
}

interface Closable {
  readonly address: string;
  close(): Promise<void>;
}

/**
 * Runs a switch until the process is asked to end.
 *
 * @throws UserError, EnvironmentError
 */
export async function serve(engine: Switch, ports: readonly PortRequest[], service: Service): Promise<void> {
  const ended = untilEnded();
  const { log, snapshot: file } = service;
  const runner = new SwitchRunner(engine);
  const beside: Closable[] = [];
  let server: P4RuntimeServer | undefined;
  /** Its part of the ready line. */
  const listen = async (
    word: string,
    address: string | undefined,
    start: (address: string) => Promise<Closable>,
  ): Promise<string> => {
    if (address === undefined) return "";
    const started = await start(address).catch((error: unknown) => {
      throw new EnvironmentError(`cannot listen on ${address}: ${messageOf(error)}`);
    });
    beside.push(started);
    return ` ${word}=${started.address}`;
  };
  try {
    const opened = await openPorts(ports);
    for (const { number, port } of opened) runner.attach(number, port);
    server = await startServer(engine, runner, service);
    const device = server;
    const save = (): string => {
      writeSnapshot(file ?? "", device, engine);
      log.write("info", `snapshot ${file}`);
      return file ?? "";
    };
    const admin = (isReadOnly: boolean) => (address: string) =>
      AdminServer.start(
        new AdminService({
          runner,
          isReadOnly,
          onChange: (what) => log.write("info", `admin ${what}`),
          ...(file === undefined ? {} : { snapshot: save }),
        }),
        address,
      );
    const words = [
      await listen("dataplane", service.dataplaneAddress, (address) =>
        DataplaneServer.start({ runner, deviceId: service.deviceId, address }),
      ),
      await listen("admin", service.adminAddress, admin(false)),
      await listen("metrics", service.metricsAddress, admin(true)),
      ...opened.map(({ where }) => ` ${where}`),
    ].join("");
    if (file !== undefined) process.on("SIGUSR1", () => void attempt(save, log));
    const ready = `ready grpc=${server.address}${words}`;
    log.write("info", ready);
    process.stdout.write(`${ready}\n`);
    await Promise.race([ended, play(engine, opened, service.pcapWait)]);
    await ended;
    log.write("info", "ending");
    if (file !== undefined) save();
  } catch (error) {
    log.write("error", messageOf(error));
    if (error instanceof P4RuntimeServerError) throw new EnvironmentError(error.message);
    if (error instanceof StatusError) throw new UserError(`the program cannot run: ${error.message}`);
    throw error;
  } finally {
    await Promise.all(beside.map((one) => one.close()));
    await server?.close();
    await runner.close().catch((error: unknown) => {
      throw new EnvironmentError(messageOf(error));
    });
    await log.close();
    // An open channel would keep the process.
    if (process.connected) process.disconnect();
  }
}

async function startServer(engine: Switch, runner: SwitchRunner, service: Service): Promise<P4RuntimeServer> {
  const { program, tls, address, deviceId, profile, snapshot: file, log } = service;
  const snapshot = file === undefined ? undefined : readSnapshot(file);
  if (snapshot !== undefined) restoreQueues(engine, file ?? "", snapshot);
  if (log.isOn("trace")) engine.trace(log.trace);
  try {
    const server = await P4RuntimeServer.start({
      target: new EmbeddedSwitchTarget(engine, ioOf(runner)),
      address,
      deviceId,
      profile,
      onEvent: ({ level, message }) => log.write(level, message),
      ...(snapshot === undefined ? {} : { snapshot }),
      ...(program === undefined ? {} : { program }),
      ...(tls === undefined ? {} : { tls }),
    });
    try {
      if (snapshot !== undefined) restoreTofino(engine, file ?? "", snapshot, runner.now());
    } catch (error) {
      await server.close();
      throw error;
    }
    return server;
  } catch (error) {
    if (error instanceof StateSnapshotError) throw new UserError(refusal(file ?? "", error.message));
    throw error;
  }
}

/** What fails at run time is said and does not end the switch. */
function attempt(work: () => unknown, log: SwitchLog): void {
  try {
    work();
  } catch (error) {
    process.stderr.write(`gradplane: ${messageOf(error)}\n`);
    log.write("error", messageOf(error));
  }
}

/** Until SIGTERM or SIGINT, or until a parent that keeps a channel to this process is gone, however it went. */
export function untilEnded(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => resolve());
    process.once("disconnect", () => resolve());
    // Undefined without a channel; false when the parent was gone before this process listened.
    if (process.connected === false) resolve();
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The P4Runtime server of the embedded switch. */
export {
  API_VERSION,
  P4RuntimeServer,
  type P4RuntimeServerCounters,
  type P4RuntimeServerOptions,
} from "./server.ts";
export { P4RuntimeServerError, type P4RuntimeServerErrorCode } from "./server-error.ts";
export { StatusError } from "./status.ts";
export { EmbeddedSwitchTarget, ioOf, type SwitchIo } from "./switch-target.ts";
export * from "./target.ts";

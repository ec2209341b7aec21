export { generateAll } from "./all.ts";
export { BackendError, type BackendErrorCode } from "./backenderror.ts";
export {
  checkTna,
  checkTna2,
  type GeneratedFiles,
  type GenerateOptions,
  generate,
  notesOf,
  type TargetName,
} from "./build.ts";
export { dissector } from "./dissector/index.ts";
export { loadableOf } from "./loadable.ts";

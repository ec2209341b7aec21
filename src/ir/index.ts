export * from "./diagnostics.ts";
export * from "./expressions.ts";
export * from "./externs.ts";
export * from "./parserstates.ts";
export * from "./program.ts";
export * from "./source.ts";
export * from "./statements.ts";
export { type TnaCode, tnaRules } from "./tnarules.ts";
export * from "./types.ts";

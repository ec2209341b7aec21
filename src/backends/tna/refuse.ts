import type { SourceLocation, TnaCode } from "../../ir/index.ts";

/** Notes one thing that keeps a program off Tofino. */
export type Refuse = (code: TnaCode, message: string, at?: SourceLocation) => void;

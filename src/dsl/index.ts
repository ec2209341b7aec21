export {
  type BitType,
  bit,
  bool,
  type ContentEntry,
  type ContentList,
  colours,
  colourType,
  contentsOf,
  type Diagnostic,
  int,
  type RuleCode,
  rules,
  type SourceLocation,
  severityOf,
} from "../ir/index.ts";
export { wireHeader, withVarbit } from "../wire/header.ts";
export type { About, AboutOptions, AnnotationOptions, PartAbout, TargetAnnotations } from "./about.ts";
export type {
  ActionAbout,
  ActionProfileOptions,
  ActionSelectorOptions,
  Contents,
  ControlBuilder,
  TableOptions,
} from "./control.ts";
export { type DropReasons, PASSED, REPLICATED } from "./dropreasons.ts";
export * from "./features/aggregation/index.ts";
export { controllerPort } from "./features/controllerport.ts";
export * from "./features/drop.ts";
export * from "./features/ecmp.ts";
export * from "./features/ecmpentries.ts";
export { flow } from "./features/flow.ts";
export * from "./features/forwarding.ts";
export * from "./features/forwarding6.ts";
export * from "./features/internet.ts";
export { internet6 } from "./features/internet6.ts";
export * from "./features/priority.ts";
export * from "./features/probe.ts";
export * from "./features/telemetry.ts";
export { classNames, isPriority, type PriorityFeature, trafficClass } from "./features/trafficclass.ts";
export type { Header, HeaderStack, HeaderUnion } from "./headers.ts";
export {
  accept,
  lookahead,
  type ParserBuilder,
  reject,
  type StateBuilder,
  type ValueSet,
  type ValueSetFields,
  type ValueSetOptions,
} from "./parser.ts";
export * from "./program.ts";
export { describe, ProgramError } from "./programerror.ts";
export * from "./steps.ts";
export {
  type Bool,
  type Literal,
  mux,
  type NamedConstant,
  type Num,
  type Operand,
  type Variable,
  value,
} from "./value.ts";

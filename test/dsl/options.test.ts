import { expect, test } from "vitest";
import {
  hotAggregation,
  int32,
  ipv4Forwarding,
  type Phase,
  ProgramError,
  program,
} from "../../src/dsl/index.ts";

/** What `build` throws, as code and message. */
function refusal(build: () => unknown): string {
  try {
    build();
  } catch (error) {
    if (error instanceof ProgramError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return "nothing";
}

const aggregation = { workers: 2, lanes: 2, rows: 16, mode: int32, result: "ps" } as const;
/** As a program without a type checker may have it. */
const untyped = (options: object): never => options as never;

test.each([
  [
    "a misspelt option of a feature",
    () => ipv4Forwarding(untyped({ routs: 1 })),
    "ipv4Forwarding has no option routs; its options are routes",
  ],
  [
    "a misspelt option of a program",
    () => program("p", untyped({ port: 8, features: [] })),
    "program p has no option port",
  ],
  ["a program without ports", () => program("p", untyped({ features: [] })), "ports is missing"],
  ["a program without features", () => program("p", untyped({ ports: 8 })), "features is missing"],
  [
    "something that is no feature",
    () => program("p", { ports: 8, features: [untyped({})] }),
    "features[0] is not a feature",
  ],
  [
    "a feature listed twice",
    () => program("p", { ports: 8, features: [ipv4Forwarding(), ipv4Forwarding()] }),
    "feature ipv4Forwarding is listed twice; remove one",
  ],
  [
    "a mode by its name",
    () => hotAggregation(untyped({ ...aggregation, mode: "int32" })),
    'mode is "int32"; write int32, block, fp32(), fp16() or bf16()',
  ],
  [
    "a result that does not exist",
    () => hotAggregation(untyped({ ...aggregation, result: "multicast" })),
    'result is "multicast"; it may be "ps"',
  ],
  [
    "rows that are no multiple of the chunk",
    () => hotAggregation({ ...aggregation, rows: 65 }),
    "rows is 65; it must be a multiple of chunk (16), for example 80",
  ],
])("%s is refused with what to write", (_, build, message) => {
  expect(refusal(build)).toMatch(/^GP1701: /);
  expect(refusal(build)).toContain(message);
});

test("a phase that does not exist is refused with those that do", () => {
  const feature = {
    name: "f",
    build: (p: { ingress(phase: Phase, steps: () => void): void }) =>
      p.ingress(untyped(Object("x")), () => {}),
  };
  expect(refusal(() => program("p", { ports: 8, features: [feature] }))).toContain(
    "the phases are receive, classify, route, aggregate, deliver",
  );
});

import allInOne from "../../examples/all-in-one/program.ts";
import allreduce from "../../examples/allreduce/program.ts";
import dlcp from "../../examples/dlcp/program.ts";
import fabric from "../../examples/fabric/program.ts";
import libra from "../../examples/libra/program.ts";
import lp from "../../examples/lp/program.ts";
import ownFeature from "../../examples/own-feature/program.ts";
import p3 from "../../examples/p3/program.ts";
import router from "../../examples/router/program.ts";
import type { SwitchProgram } from "../../src/dsl/program.ts";

/** Every example, by the folder that it stands in. */
export const examples: Readonly<Record<string, SwitchProgram>> = {
  "all-in-one": allInOne,
  allreduce,
  dlcp,
  fabric,
  libra,
  lp,
  "own-feature": ownFeature,
  p3,
  router,
};

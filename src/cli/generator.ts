import * as backends from "../backends/index.ts";
import * as dsl from "../dsl/index.ts";
import * as numeric from "../numeric/index.ts";
import * as wire from "../wire/index.ts";
import { ownDoors } from "./userscript.ts";

/**
 * The command line for verbs that generate, and the modules that users' programs import, as one: bin/bundle.js puts them together into
 * a single script, for which V8's code is kept between starts. These verbs take no time but that of starting.
 */
export const doors = { dsl, backends, numeric, wire };

for (const [name, door] of Object.entries(doors)) ownDoors.set(`gradplane/${name}`, door);
ownDoors.set("gradplane", dsl);

export { ended } from "./main.ts";

/** Makes the pages that come from the code. Run: npm run docs */
import { writeFileSync } from "node:fs";
import { errorPage } from "../src/ir/errorpage.ts";

writeFileSync(new URL("errors.md", import.meta.url), errorPage());

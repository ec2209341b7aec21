// Teaches Node TypeScript for the programs of users, and that "gradplane" in them is the copy that runs them.
import { register as registerHooks } from "node:module";
import { register as registerTypeScript } from "tsx/esm/api";

/** `root`: URL of the folder with gradplane's modules; `extension`: theirs. */
export function learnTypeScript({ root, extension }) {
  process.setSourceMapsEnabled(true);
  registerTypeScript();
  registerHooks("./resolve.js", import.meta.url, { data: { root, extension } });
}

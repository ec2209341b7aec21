// A program that imports "gradplane" gets the copy that runs it, wherever the program lies: two copies in one process
// would not recognise each other's values.
let own = { root: "", extension: "" };

export function initialize(data) {
  own = data;
}

export async function resolve(specifier, context, next) {
  const part = /^gradplane(?:\/(.+))?$/.exec(specifier);
  if (part !== null && part[1] !== "package.json") {
    const folder = part[1] === undefined ? "" : `${part[1]}/`;
    return next(`${own.root}${folder}index.${own.extension}`, context);
  }
  const found = await next(specifier, context);
  // Programs are modules, also in a folder whose package.json does not say so, or that has none.
  return isTypeScript(found.url) ? { ...found, format: "module" } : found;
}

function isTypeScript(url) {
  return /\.tsx?(?:\?.*)?$/.test(url) && !url.includes("/node_modules/");
}

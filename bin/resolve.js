// A program that imports "gradplane" gets the copy that runs it, wherever the program lies: two copies in one process
// would not recognise each other's values.
let own = { root: "", extension: "" };

export function initialize(data) {
  own = data;
}

export function resolve(specifier, context, next) {
  const part = /^gradplane(?:\/(.+))?$/.exec(specifier);
  if (part === null) return next(specifier, context);
  const folder = part[1] === undefined ? "" : `${part[1]}/`;
  return next(`${own.root}${folder}index.${own.extension}`, context);
}

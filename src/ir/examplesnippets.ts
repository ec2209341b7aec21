/** Parts of the examples of docs/errors.md. */
export const mark = 'const mark = p.metadata("mark", bit(8));\n';
export const key =
  'const c = p.control("sorter", "ingress");\nconst go = c.action("go", { port: bit(9) }, (a, d) => a.set(intrinsic.egress_port, d.port));\n';
export const use = '\nc.apply((s) => s.apply(t));\np.ingress("route", (s) => s.invoke(c));';
export const inIngress = '\np.ingress("route", (s) => s.invoke(c));';
export const byPort = "key: { port: exactly(intrinsic.ingress_port) }";
export const note = 'const note = p.header(wireHeader("note", { kind: 8, size: 8 }));\n';
export const optionalNote = `${note}const more = p.parser.state("parse_note").extract(note);\np.parser.state("start").select(intrinsic.ingress_port).on(1, more);\n`;
export const cellOf = (type: string): string =>
  `const c = p.control("memory", "ingress");\nconst r = c.register("r", ${type}, 4);\n`;

/**
 * A reader of P4_16 expressions for tests, written from the language's table of operators and independent of the printer. It
 * answers the fully parenthesised form, so that two texts can be compared for their structure.
 */
const binaryLevels: readonly (readonly string[])[] = [
  ["||"],
  ["&&"],
  ["==", "!="],
  ["<", "<=", ">", ">="],
  ["|"],
  ["^"],
  ["&"],
  ["<<", ">>"],
  ["+", "-", "++", "|+|", "|-|"],
  ["*"],
];

export function structure(text: string): string {
  const tokens =
    text.match(
      /\|\+\||\|-\||\+\+|&&|\|\||==|!=|<=|>=|<<|>>|[A-Za-z_][\w.]*|\d+[ws](?:0x)?[0-9a-f]+|0x[0-9a-f]+|\d+|\S/g,
    ) ?? [];
  let at = 0;
  const peek = (): string => tokens[at] ?? "";
  const take = (wanted?: string): string => {
    const token = tokens[at++] ?? "";
    if (wanted !== undefined && token !== wanted)
      throw new Error(`expected ${wanted}, got ${token} in ${text}`);
    return token;
  };

  const mux = (): string => {
    const condition = binary(0);
    if (peek() !== "?") return condition;
    take("?");
    const whenTrue = mux();
    take(":");
    return `(${condition} ? ${whenTrue} : ${mux()})`;
  };
  const binary = (level: number): string => {
    const operators = binaryLevels[level];
    if (operators === undefined) return prefix();
    let left = binary(level + 1);
    while (operators.includes(peek())) left = `(${left} ${take()} ${binary(level + 1)})`;
    return left;
  };
  const type = (): string => {
    const name = take();
    if (name === "bool") return name;
    take("<");
    const width = take();
    take(">");
    return `${name}<${width}>`;
  };
  const prefix = (): string => {
    if (["-", "~", "!"].includes(peek())) return `(${take()} ${prefix()})`;
    const next = tokens[at + 1] ?? "";
    if (peek() === "(" && ["bit", "int", "bool"].includes(next)) {
      take("(");
      const to = type();
      take(")");
      return `(${to} ${prefix()})`;
    }
    return postfix();
  };
  const postfix = (): string => {
    let e = primary();
    for (;;) {
      if (peek() === "[") {
        take("[");
        const high = take();
        take(":");
        const low = take();
        take("]");
        e = `(${e} [${high}:${low}])`;
      } else if (peek() === "(" && e.endsWith(".isValid")) {
        take("(");
        take(")");
      } else return e;
    }
  };
  const primary = (): string => {
    if (peek() !== "(") return take();
    take("(");
    const e = mux();
    take(")");
    return e;
  };
  const result = mux();
  if (at !== tokens.length) throw new Error(`${tokens.slice(at).join(" ")} is left over in ${text}`);
  return result;
}

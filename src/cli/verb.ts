import { type ParseArgsConfig, parseArgs } from "node:util";
import { didYouMean } from "../p4info/suggest.ts";
import { UserError } from "./exit.ts";

type Options = NonNullable<ParseArgsConfig["options"]>;

type Parsed<O extends Options> = ReturnType<
  typeof parseArgs<{ options: O; allowPositionals: true; strict: true }>
>;

/** One verb of the command line. */
export interface Verb {
  /** Usage, options and an example. */
  readonly help: string;
  /** What there is to say besides about what is named in front of --help; undefined when nothing is. */
  helpAbout?(args: readonly string[]): Promise<string | undefined>;
  /** Resolves when done; throws UserError (exit 1) or EnvironmentError (exit 2). */
  run(args: readonly string[]): Promise<void>;
}

/** Parses a verb's arguments; a wrong one is a UserError that names it. */
export function parse<const O extends Options>(verb: string, args: readonly string[], options: O): Parsed<O> {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    // Node's text goes on about positional arguments that begin with a dash.
    const unknown = /^Unknown option '([^']*)'/.exec(reason)?.[1];
    const text =
      unknown === undefined
        ? reason.replace(/\. To specify a positional argument .*$/, "")
        : `there is no option ${unknown}${didYouMean(
            unknown,
            [...Object.keys(options), "help"].map((name) => `--${name}`),
          )}`;
    throw new UserError(`${text}\nSee gradplane ${verb} --help.`);
  }
}

/** The one file that a verb is given. */
export function onlyFile(verb: string, positionals: readonly string[]): string {
  const [file, ...more] = positionals;
  if (file === undefined || more.length > 0)
    throw new UserError(`name one program: gradplane ${verb} PROGRAM.ts`);
  return file;
}

/** A whole number from an option, within bounds. */
export function wholeNumber(option: string, text: string, low: number, high: number): number {
  const n = Number(text);
  if (!/^\d+$/.test(text.trim()) || n < low || n > high) {
    throw new UserError(`--${option} is "${text}"; it is a whole number from ${low} to ${high}.`);
  }
  return n;
}

/** A fraction 0..1 from an option. */
export function fraction(option: string, text: string): number {
  const n = Number(text);
  if (text.trim() === "" || !(n >= 0 && n <= 1)) {
    throw new UserError(`--${option} is "${text}"; it is a number from 0 to 1, for example 0.1.`);
  }
  return n;
}

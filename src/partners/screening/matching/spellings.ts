import type { ListEntry, ScreenedPerson } from "../port.ts";
import { wordsOfName } from "./words-of-name.ts";

/** One way to read a name, and the entries that are compared with it. */
type Spelling = { words: readonly string[]; is_compared: (entry: ListEntry) => boolean };

/** Between the holders of one bank account, or a holder and what the account is for. */
const BETWEEN_HOLDERS = new RegExp(
  "[&/;+]|\\b(?:and|und|et|or|oder|ou|for|c/o|care of|on behalf of|obo|" +
    "t/a|trading as|d/b/a|dba|a/k/a|aka)\\b",
  "iu",
);
/** A single word of a longer name says little. */
const HOLDER_WORDS_MIN = 2;

/**
 * The words of each name, and of each holder that it names: whoever adds another holder to the name
 * of an account is still one of them. Whether it is a person's or a company's is what the caller
 * says: with entries of the other kind it is also compared as that kind is written.
 */
export function spellingsOf({ kind, names }: ScreenedPerson): Spelling[] {
  const is_company = kind === "business";
  const isOther = (entry: ListEntry) => (entry.kind === "individual") === is_company;
  const found = new Map<string, Spelling>();
  const add = (words: readonly string[], is_compared: Spelling["is_compared"]) => {
    const key = words.join(" ");
    if (!found.has(key)) found.set(key, { words, is_compared });
  };
  for (const text of names.flatMap(holdersIn)) {
    add(wordsOfName(text, is_company), () => true);
    add(wordsOfName(text, !is_company), isOther);
  }
  return [...found.values()];
}

/** The name as it is, then its parts. */
function holdersIn(name: string): string[] {
  const parts = name.normalize("NFKC").split(BETWEEN_HOLDERS);
  if (parts.length === 1) return [name];
  const holders = parts.filter((part) => wordsOfName(part, true).length >= HOLDER_WORDS_MIN);
  return [name, ...holders];
}

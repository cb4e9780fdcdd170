import { distance } from "fastest-levenshtein";
import { consonantsOf } from "./words-of-name.ts";

/** Below it two words are taken for different ones. */
export const SIMILARITY_MIN = 0.7;
/** A letter stands for a word that begins with it. */
export const INITIAL_SIMILARITY = 0.75;

const SAME_CONSONANTS = 0.92;
const FEW_CONSONANTS = 0.85;
const CONSONANTS_MIN = 2;
/** How much an edit of all letters would cost; an edit of one letter in six costs a sixth of it. */
const EDIT_COST = 0.6;

/** How many edits a word of this length may have and still be the same. */
function editsMax(length: number): number {
  if (length <= 3) return 0;
  return length <= 7 ? 1 : length <= 12 ? 2 : 3;
}

/** A word with its consonants, which are compared many times. */
export type PreparedWord = {
  text: string;
  consonants: readonly [string, string];
  /** Without the Arabic article that it may begin with: `zahrani` for `alzahrani`. */
  stem: PreparedWord | null;
};

/** A shorter rest is more often part of another name: `albert`. */
const ARTICLE = /^[ae]l(?=[^aeiou].{4})/;
const WITH_ARTICLE = 0.98;

export function prepareWord(text: string): PreparedWord {
  const stem = ARTICLE.test(text) ? prepareWord(text.replace(ARTICLE, "")) : null;
  return { text, consonants: consonantsOf(text), stem };
}

/** From 0 (different words) to 1 (the same word). */
export function compareWords(word: PreparedWord, other: PreparedWord): number {
  const as_written = compareWritten(word, other);
  if ((word.stem === null) === (other.stem === null)) return as_written;
  return Math.max(
    as_written,
    WITH_ARTICLE * compareWritten(word.stem ?? word, other.stem ?? other),
  );
}

function compareWritten(word: PreparedWord, other: PreparedWord): number {
  const [a, b] = [word.text, other.text];
  if (a === b) return 1;
  if (a.length === 1 || b.length === 1) return a[0] === b[0] ? INITIAL_SIMILARITY : 0;
  const length = Math.max(a.length, b.length);
  const edits = editsBetween(a, b);
  const by_edits = edits <= editsMax(length) ? 1 - (EDIT_COST * edits) / length : 0;
  if (by_edits >= SAME_CONSONANTS) return by_edits;
  const shared = sharedConsonants(word, other);
  if (shared < CONSONANTS_MIN) return by_edits;
  // Short words share their consonants by chance.
  return Math.max(by_edits, shared > CONSONANTS_MIN ? SAME_CONSONANTS : FEW_CONSONANTS);
}

/** How many consonants the words have, if they are the same ones. */
function sharedConsonants(a: PreparedWord, b: PreparedWord): number {
  return a.consonants.find((form) => b.consonants.includes(form))?.length ?? 0;
}

/** Whole names without their spaces, for words that one of the two joins. */
export function compareJoined({ text: a }: PreparedWord, { text: b }: PreparedWord): number {
  if (a === b) return 1;
  const length = Math.max(a.length, b.length);
  const edits = editsBetween(a, b);
  return edits <= 2 && length >= 8 ? 1 - (2 * EDIT_COST * edits) / length : 0;
}

/** Two neighbouring letters exchanged are one edit. */
function editsBetween(a: string, b: string): number {
  const edits = distance(a, b);
  if (edits !== 2 || a.length !== b.length) return edits;
  let at = 0;
  while (a[at] === b[at]) at += 1;
  const is_swap = a[at] === b[at + 1] && a[at + 1] === b[at] && a.slice(at + 2) === b.slice(at + 2);
  return is_swap ? 1 : edits;
}

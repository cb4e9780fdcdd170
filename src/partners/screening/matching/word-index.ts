import { doubleMetaphone } from "double-metaphone";
import { type PreparedWord, prepareWord, SIMILARITY_MIN } from "./compare-words.ts";

/** The words of a list that a word may mean, by their ids, each with its similarity. */
export type SimilarWords = ReadonlyMap<number, number>;

const CACHED_WORDS_MAX = 50_000;
const ENDS_LENGTH = 4;
const LONG_WORD = 8;
/** Every letter left out is a key: one letter of some scripts is fifteen in ours. */
const LETTERS_MAX = 120;
/** A key and a word share one double: 32 bits of hash, 21 bits of id. */
const WORD_IDS = 2 ** 21;

/**
 * The distinct words of a list, found by similar ones: words that may be similar share a key (the
 * word with a letter left out, its sound, its consonants, the ends of a long one). Keys are hashes
 * in one sorted array, which takes a fifth of the memory of a map of texts.
 */
export class WordIndex {
  readonly #words: readonly PreparedWord[];
  readonly #keys: Float64Array;
  readonly #compare: Compare;
  readonly #keysOf: KeysOf;
  readonly #cache = new Map<string, SimilarWords>();

  constructor(words: readonly string[], compare: Compare, keysOf: KeysOf) {
    if (words.length > WORD_IDS) {
      throw new Error(`The lists have more than ${WORD_IDS} different words.`);
    }
    this.#words = words.map((word) => prepareWord(word.slice(0, LETTERS_MAX)));
    this.#compare = compare;
    this.#keysOf = keysOf;
    const keys: number[] = [];
    this.#words.forEach((word, id) => {
      for (const hash of keysOf(word)) keys.push(hash * WORD_IDS + id);
    });
    this.#keys = Float64Array.from(keys).sort();
  }

  similar(text: string): SimilarWords {
    const word = text.slice(0, LETTERS_MAX);
    const known = this.#cache.get(word);
    if (known) return known;
    const found = this.#search(word);
    if (this.#cache.size >= CACHED_WORDS_MAX) this.#cache.clear();
    this.#cache.set(word, found);
    return found;
  }

  #search(text: string): SimilarWords {
    const word = prepareWord(text);
    const seen = new Set<number>();
    const found = new Map<number, number>();
    for (const hash of this.#keysOf(word)) {
      for (let at = this.#first(hash * WORD_IDS); at < this.#keys.length; at += 1) {
        const key = this.#keys[at]!;
        if (Math.floor(key / WORD_IDS) !== hash) break;
        const word_id = key % WORD_IDS;
        if (seen.has(word_id)) continue;
        seen.add(word_id);
        const similarity = this.#compare(word, this.#words[word_id]!);
        if (similarity >= SIMILARITY_MIN) found.set(word_id, similarity);
      }
    }
    return found;
  }

  /** The place of the first key that is not smaller. */
  #first(key: number): number {
    let low = 0;
    let high = this.#keys.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#keys[middle]! < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

type Compare = (a: PreparedWord, b: PreparedWord) => number;
type KeysOf = (word: PreparedWord) => Set<number>;

/** The word itself, and with a letter left out: finds words that differ in one letter. */
export function letterKeys({ text: word }: PreparedWord): Set<number> {
  const keys = new Set<number>([hashOf("=", word)]);
  if (word.length > 3) {
    for (let at = 0; at < word.length; at += 1) {
      keys.add(hashOf("=", word.slice(0, at) + word.slice(at + 1)));
    }
  }
  return keys;
}

/** Also by sound, by consonants, by the ends of a long word, and without an article. */
export function wordKeys(prepared: PreparedWord): Set<number> {
  const word = prepared.text;
  const keys = letterKeys(prepared);
  if (word.length > 1) {
    for (const consonants of prepared.consonants) {
      if (consonants.length > 1) keys.add(hashOf("c", consonants));
    }
    const [sound] = doubleMetaphone(word);
    if (sound.length > 2) keys.add(hashOf("s", sound));
  }
  if (word.length >= LONG_WORD) {
    keys.add(hashOf("b", word.slice(0, ENDS_LENGTH)));
    keys.add(hashOf("e", word.slice(-ENDS_LENGTH)));
  }
  if (prepared.stem) for (const key of wordKeys(prepared.stem)) keys.add(key);
  return keys;
}

/** FNV-1a: it need not resist anybody, since words that share a key are compared. */
function hashOf(kind: string, text: string): number {
  let hash = 0x811c9dc5 ^ kind.charCodeAt(0);
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return hash >>> 0;
}

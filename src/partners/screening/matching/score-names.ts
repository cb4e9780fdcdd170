import { INITIAL_SIMILARITY } from "./compare-words.ts";
import type { NameIndex } from "./name-index.ts";
import { MISSING_WEIGHT } from "./score-bound.ts";
import type { SimilarWords } from "./word-index.ts";

type Listed = { words: readonly string[]; word_ids: readonly number[] };

/** A word of the person's name with what does not depend on the name it is compared with. */
type PersonWord = { text: string; similar: SimilarWords; weight: number };

/** A name of one word must be nearly the same: nothing else confirms it. */
const ONE_WORD_MIN = 0.9;

export function preparePerson(index: NameIndex, words: readonly string[]): readonly PersonWord[] {
  return words.map((text) => ({
    text,
    similar: index.similar(text),
    weight: index.weightOf(text),
  }));
}

/**
 * How similar two names are, from 0 to 1: each word is paired with the most similar one of the
 * other name, whatever the order; rare words count more; a word without a pair lowers the score.
 * At least two words must pair, unless both names have one. A person with frequent names is
 * compared with tens of thousands: this allocates little.
 */
export function scoreNames(
  index: NameIndex,
  person: readonly PersonWord[],
  { words: listed, word_ids }: Listed,
): number {
  const pairs = possiblePairs(person, { words: listed, word_ids });
  const paired_a = new Uint8Array(person.length);
  const paired_b = new Uint8Array(listed.length);
  let [count, matched, similar, full_pairs] = [0, 0, 0, 0];
  // The best pair first, then the best of the remaining words.
  for (const { a, b, similarity } of pairs) {
    if (paired_a[a] === 1 || paired_b[b] === 1) continue;
    paired_a[a] = 1;
    paired_b[b] = 1;
    count += 1;
    const weight = pairWeight(person[a]!, index.weightOf(listed[b]!));
    matched += weight;
    similar += weight * similarity;
    if (similarity > INITIAL_SIMILARITY && weight > 0.2) full_pairs += 1;
  }
  if (full_pairs === 0) return 0;
  // A rare word that is left over says no more than the ones that pair, and a letter nothing.
  const weight_max = matched / count;
  let missing = 0;
  for (let a = 0; a < person.length; a += 1) {
    const { text, weight } = person[a]!;
    if (paired_a[a] === 0 && text.length > 1) missing += Math.min(weight, weight_max);
  }
  for (let b = 0; b < listed.length; b += 1) {
    const text = listed[b]!;
    if (paired_b[b] === 0 && text.length > 1) missing += Math.min(index.weightOf(text), weight_max);
  }
  const score = similar / (matched + MISSING_WEIGHT * missing);
  if (full_pairs >= 2) return score;
  const is_one_word = person.length === 1 && listed.length === 1;
  if (is_one_word) return score >= ONE_WORD_MIN ? score : 0;
  // One word and an initial: only where no word is left over.
  const is_covered = count === person.length && count === listed.length;
  return is_covered && count > 1 ? score : 0;
}

type Pair = { a: number; b: number; similarity: number };

/** The best first. */
function possiblePairs(person: readonly PersonWord[], { words: listed, word_ids }: Listed): Pair[] {
  const all: Pair[] = [];
  for (let a = 0; a < person.length; a += 1) {
    const { text, similar } = person[a]!;
    for (let b = 0; b < listed.length; b += 1) {
      const similarity = similar.get(word_ids[b]!) ?? initialSimilarity(text, listed[b]!);
      if (similarity > 0) all.push({ a, b, similarity });
    }
  }
  return all.sort((x, y) => y.similarity - x.similarity);
}

function initialSimilarity(a: string, b: string): number {
  const has_initial = a.length === 1 || b.length === 1;
  return has_initial && a[0] === b[0] ? INITIAL_SIMILARITY : 0;
}

/** An initial confirms little; otherwise the word of the list decides. */
function pairWeight({ text, weight }: PersonWord, listed_weight: number): number {
  return Math.min(text.length === 1 ? weight : 1, listed_weight);
}

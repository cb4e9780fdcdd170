import { INITIAL_SIMILARITY } from "./compare-words.ts";
import type { NameIndex } from "./name-index.ts";

type Weigh = (word: string) => number;
type Listed = { words: readonly string[]; word_ids: readonly number[] };

/** What a word counts that only one of the two names has: people leave middle names out. */
const MISSING_WEIGHT = 0.3;
/** A name of one word must be nearly the same: nothing else confirms it. */
const ONE_WORD_MIN = 0.9;

/**
 * How similar two names are, from 0 to 1: each word is paired with the most similar one of the
 * other name, whatever the order; rare words count more; a word without a pair lowers the score.
 * At least two words must pair, unless both names have one.
 */
export function scoreNames(
  index: NameIndex,
  person: readonly string[],
  { words: listed, word_ids }: Listed,
): number {
  const weightOf: Weigh = (word) => index.weightOf(word);
  const pairs = pairWords(index, person, { words: listed, word_ids });
  let matched = 0;
  let similar = 0;
  let full_pairs = 0;
  for (const { a, b, similarity } of pairs) {
    const weight = pairWeight(person[a]!, listed[b]!, weightOf);
    matched += weight;
    similar += weight * similarity;
    if (similarity > INITIAL_SIMILARITY && weight > 0.2) full_pairs += 1;
  }
  if (full_pairs === 0) return 0;
  // A rare word that is left over says no more than the ones that pair, and a letter nothing.
  const weight_max = matched / pairs.length;
  const missingOf = (words: readonly string[], paired: readonly number[]) =>
    words.reduce((sum, word, at) => {
      const is_silent = word.length === 1 || paired.includes(at);
      return is_silent ? sum : sum + Math.min(weightOf(word), weight_max);
    }, 0);
  const missing =
    missingOf(
      person,
      pairs.map(({ a }) => a),
    ) +
    missingOf(
      listed,
      pairs.map(({ b }) => b),
    );
  const score = similar / (matched + MISSING_WEIGHT * missing);
  if (full_pairs >= 2) return score;
  const is_one_word = person.length === 1 && listed.length === 1;
  if (is_one_word) return score >= ONE_WORD_MIN ? score : 0;
  // One word and an initial: only where no word is left over.
  const is_covered = pairs.length === person.length && pairs.length === listed.length;
  return is_covered && pairs.length > 1 ? score : 0;
}

type Pair = { a: number; b: number; similarity: number };

/** The best pair first, then the best of the remaining words. */
function pairWords(
  index: NameIndex,
  person: readonly string[],
  { words: listed, word_ids }: Listed,
): Pair[] {
  const all: Pair[] = [];
  for (const [a, word] of person.entries()) {
    const similar = index.similar(word);
    for (const [b, word_id] of word_ids.entries()) {
      const similarity = similar.get(word_id) ?? initialSimilarity(word, listed[b]!);
      if (similarity > 0) all.push({ a, b, similarity });
    }
  }
  all.sort((x, y) => y.similarity - x.similarity);
  const taken_a = new Set<number>();
  const taken_b = new Set<number>();
  return all.filter(({ a, b }) => {
    if (taken_a.has(a) || taken_b.has(b)) return false;
    taken_a.add(a);
    taken_b.add(b);
    return true;
  });
}

function initialSimilarity(a: string, b: string): number {
  const has_initial = a.length === 1 || b.length === 1;
  return has_initial && a[0] === b[0] ? INITIAL_SIMILARITY : 0;
}

/** An initial confirms little; otherwise the word of the list decides. */
function pairWeight(word: string, listed: string, weightOf: Weigh): number {
  return Math.min(word.length === 1 ? weightOf(word) : 1, weightOf(listed));
}

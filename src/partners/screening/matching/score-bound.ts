import { INITIAL_SIMILARITY } from "./compare-words.ts";

/** What a word counts that only one of the two names has: people leave middle names out. */
export const MISSING_WEIGHT = 0.3;
export const INITIAL_WEIGHT = 0.3;
/** No word weighs less. */
export const PARTICLE_WEIGHT = 0.15;

/** What is known of two names before their words are paired. */
type Overlap = {
  /** Of the person's words, without initials; the smallest first. */
  weights: readonly number[];
  person_initials: number;
  /** How many words the listed name has, and how many of them are initials. */
  listed: number;
  listed_initials: number;
  /** How many of the person's words are similar to a listed one, and the most that one weighs. */
  shared: number;
  shared_weight: number;
};

/**
 * No score of `scoreNames` is higher. It is cheap: somebody may have ten frequent names, which tens
 * of thousands share, and nearly all of those cannot be meant.
 */
export function scoreMax(overlap: Overlap): number {
  const { weights, person_initials, listed, listed_initials, shared, shared_weight } = overlap;
  const words = weights.length + person_initials;
  const initials_max = person_initials + listed_initials;
  // Two initials may be the same letter, which is as good as a word.
  const may_be_same = person_initials > 0 && listed_initials > 0;
  const similarity = may_be_same ? 1 : INITIAL_SIMILARITY;
  let max = 0;
  for (let full = 0; full <= Math.min(shared, weights.length, listed); full += 1) {
    for (let initials = 0; initials <= initials_max; initials += 1) {
      const pairs = full + initials;
      if (pairs > words || pairs > listed) break;
      const is_covered = pairs === words && pairs === listed;
      if (full < 2 && !is_covered && !may_be_same) continue;
      const similar = full * shared_weight + initials * INITIAL_WEIGHT * similarity;
      const mean_min = (full * shared_weight + initials * PARTICLE_WEIGHT) / pairs;
      const left = weights.length - full - Math.min(initials, listed_initials);
      let missing = 0;
      for (let at = 0; at < left; at += 1) missing += Math.min(weights[at]!, mean_min);
      if (similar > 0) max = Math.max(max, similar / (similar + MISSING_WEIGHT * missing));
    }
  }
  return max;
}

import { compareJoined, compareWords } from "./compare-words.ts";
import { INITIAL_WEIGHT, PARTICLE_WEIGHT, scoreMax } from "./score-bound.ts";
import { letterKeys, type SimilarWords, WordIndex, wordKeys } from "./word-index.ts";
import { withoutForm } from "./words-of-name.ts";

/** A name of a list, as it is compared. */
export type IndexedName = {
  entry: number;
  text: string;
  is_weak: boolean;
  words: readonly string[];
};

type Candidate = {
  name: IndexedName;
  word_ids: readonly number[];
  /** How similar the names are when written without spaces; 0 if they are not. */
  joined: number;
};

/** Shorter ones share too many letters by chance. */
const JOINED_LENGTH_MIN = 6;
const WEIGHT_MIN = 0.25;

const PARTICLES = new Set(
  (
    "al el ul bin ibn bint abu abd umm ben de da do dos das del della di la le van von der den " +
    "ter zu y e i the of and for und et"
  ).split(" "),
);

/** The names of all lists, found by words that are similar to a person's. */
export class NameIndex {
  readonly #names: readonly IndexedName[];
  /** The words of each name, by their ids. */
  readonly #word_ids: readonly (readonly number[])[];
  readonly #words: WordIndex;
  readonly #joined: WordIndex;
  /** For each word, the names that have it. */
  readonly #names_of_word: readonly Uint32Array[];
  readonly #names_of_joined: readonly Uint32Array[];
  readonly #is_one_word: Uint8Array;
  /** How many words of each name are initials. */
  readonly #initials: Uint8Array;
  readonly #weights: Map<string, number>;
  readonly #word_weights: Float64Array;
  /** Marks what the present question has seen, so that nothing needs to be cleared. */
  readonly #seen: Uint32Array;
  readonly #last_word: Uint8Array;
  readonly #shared: Uint8Array;
  /** The largest weight of the words that a name shares. */
  readonly #shared_weight: Float64Array;
  #question = 0;

  constructor(names: readonly IndexedName[]) {
    this.#names = names;
    const of_word = groupNames(names, ({ words }) => [...new Set(words)]);
    const of_joined = groupNames(names, ({ words }) => {
      // A list writes the family name first or last; a person who joins words, in either order.
      const turned = words.map((_, at) => [...words.slice(at), ...words.slice(0, at)].join(""));
      return words.join("").length >= JOINED_LENGTH_MIN ? [...new Set(turned)] : [];
    });
    const ids = new Map([...of_word.keys()].map((word, id) => [word, id]));
    this.#word_ids = names.map(({ words }) => words.map((word) => ids.get(word)!));
    this.#words = new WordIndex([...of_word.keys()], compareWords, wordKeys);
    this.#joined = new WordIndex([...of_joined.keys()], compareJoined, letterKeys);
    this.#names_of_word = [...of_word.values()].map((ids) => Uint32Array.from(ids));
    this.#names_of_joined = [...of_joined.values()].map((ids) => Uint32Array.from(ids));
    this.#is_one_word = Uint8Array.from(names, ({ words }) => (isNearlyOneWord(words) ? 1 : 0));
    this.#initials = Uint8Array.from(names, ({ words }) => countInitials(words));
    this.#weights = weigh(of_word, names.length);
    this.#seen = new Uint32Array(names.length);
    this.#last_word = new Uint8Array(names.length);
    this.#shared = new Uint8Array(names.length);
    this.#shared_weight = new Float64Array(names.length);
    this.#word_weights = Float64Array.from(of_word.keys(), (word) => this.weightOf(word));
  }

  /** How much a word says about who is meant: rare ones most. */
  weightOf(word: string): number {
    return this.#weights.get(word) ?? weightOfUnknown(word);
  }

  similar(word: string): SimilarWords {
    return this.#words.similar(word);
  }

  /**
   * Names that share two words with this one, or all of one that has a single word; not those whose
   * words say too little for this score.
   */
  candidates(words: readonly string[], score_min: number): Candidate[] {
    this.#question += 1;
    const touched: number[] = [];
    words.forEach((word, at) => {
      if (word.length === 1) return;
      for (const word_id of this.similar(word).keys()) {
        const weight = this.#word_weights[word_id]!;
        for (const id of this.#names_of_word[word_id]!) this.#touch(id, at, weight, touched);
      }
    });
    const joined = this.#findJoined(words);
    const is_one_word = isNearlyOneWord(words);
    const long = words.filter((word) => word.length > 1);
    const weights = long.map((word) => this.weightOf(word)).sort((a, b) => a - b);
    const initials = words.length - long.length;
    const found: Candidate[] = [];
    for (const id of touched) {
      const is_near = this.#shared[id]! >= 2 || is_one_word || this.#is_one_word[id] === 1;
      if (!is_near || this.#scoreMax(id, weights, initials) < score_min) continue;
      if (!joined.has(id))
        found.push({ name: this.#names[id]!, word_ids: this.#word_ids[id]!, joined: 0 });
    }
    for (const [id, similarity] of joined) {
      found.push({ name: this.#names[id]!, word_ids: this.#word_ids[id]!, joined: similarity });
    }
    return found;
  }

  #scoreMax(id: number, weights: readonly number[], person_initials: number): number {
    return scoreMax({
      weights,
      person_initials,
      listed: this.#word_ids[id]!.length,
      listed_initials: this.#initials[id]!,
      shared: this.#shared[id]!,
      shared_weight: this.#shared_weight[id]!,
    });
  }

  #touch(id: number, at: number, weight: number, touched: number[]): void {
    if (this.#seen[id] !== this.#question) {
      this.#seen[id] = this.#question;
      this.#shared[id] = 1;
      this.#shared_weight[id] = weight;
      this.#last_word[id] = at;
      touched.push(id);
      return;
    }
    if (weight > this.#shared_weight[id]!) this.#shared_weight[id] = weight;
    if (this.#last_word[id] !== at) {
      this.#shared[id]! += 1;
      this.#last_word[id] = at;
    }
  }

  #findJoined(words: readonly string[]): Map<number, number> {
    const found = new Map<number, number>();
    const whole = words.join("");
    // A legal form that is written as part of a word was not left out.
    for (const joined of new Set([whole, withoutForm(whole)])) {
      if (joined.length < JOINED_LENGTH_MIN) continue;
      for (const [word_id, similarity] of this.#joined.similar(joined)) {
        for (const id of this.#names_of_joined[word_id]!) {
          found.set(id, Math.max(similarity, found.get(id) ?? 0));
        }
      }
    }
    return found;
  }
}

/** One word only, apart from initials. */
function isNearlyOneWord(words: readonly string[]): boolean {
  return words.filter((word) => word.length > 1).length === 1;
}

function countInitials(words: readonly string[]): number {
  return words.filter((word) => word.length === 1).length;
}

function groupNames(
  names: readonly IndexedName[],
  wordsOf: (name: IndexedName) => readonly string[],
): Map<string, number[]> {
  const groups = new Map<string, number[]>();
  names.forEach((name, id) => {
    for (const word of wordsOf(name)) {
      const group = groups.get(word);
      if (group) group.push(id);
      else groups.set(word, [id]);
    }
  });
  return groups;
}

function weigh(of_word: Map<string, number[]>, names: number): Map<string, number> {
  const whole = Math.log(names + 1);
  return new Map(
    [...of_word].map(([word, ids]) => {
      const rarity = whole === 0 ? 1 : Math.log((names + 1) / ids.length) / whole;
      const usual = weightOfUnknown(word);
      return [word, usual < 1 ? usual : Math.max(WEIGHT_MIN, rarity)];
    }),
  );
}

function weightOfUnknown(word: string): number {
  if (word.length === 1) return INITIAL_WEIGHT;
  return PARTICLES.has(word) ? PARTICLE_WEIGHT : 1;
}

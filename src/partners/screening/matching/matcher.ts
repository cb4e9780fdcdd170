import type { ListEntry, ScreenedPerson, ScreeningHit } from "../port.ts";
import { compareBirth, compareCountries, SAME_DAY } from "./compare-facts.ts";
import { foldWallet } from "./fold-wallet.ts";
import { type IndexedName, NameIndex } from "./name-index.ts";
import { preparePerson, scoreNames } from "./score-names.ts";
import { spellingsOf } from "./spellings.ts";
import { wordsOfName } from "./words-of-name.ts";

/** Part of the lists' version: whoever changes how names are compared raises it. */
export const ALGORITHM_VERSION = 7;

export type MatchThresholds = {
  /** From here a reviewer decides; 0 to 1. */
  possible_match: number;
  /** From here, with the same birth date or country, it is a match. */
  match: number;
};

/** All that a reviewer has to judge: whoever is like more entries than this has a common name. */
const HITS_MAX = 100;
/** A company that has a person's name, or a person with a company's. */
const OTHER_KIND_COST = 0.05;
const WEAK_ALIAS_FACTOR = 0.8;

export type Matcher = (person: ScreenedPerson) => readonly ScreeningHit[];

/** Builds the index of the entries; what it returns compares a person with all of them. */
export function createMatcher(entries: readonly ListEntry[], thresholds: MatchThresholds): Matcher {
  const index = new NameIndex(indexNames(entries));
  const wallets = indexWallets(entries);
  const score_min = thresholds.possible_match - SAME_DAY;
  return (person) => {
    const hits = new Map<ListEntry, ScreeningHit>();
    for (const wallet of person.wallets) {
      for (const entry of wallets.get(foldWallet(wallet)) ?? []) {
        hits.set(entry, { entry, verdict: "match", by: "wallet", score: 1, listed: wallet });
      }
    }
    for (const { words, is_compared } of spellingsOf(person)) {
      const prepared = preparePerson(index, words);
      for (const { name: listed, word_ids, joined } of index.candidates(words, score_min)) {
        const entry = entries[listed.entry]!;
        if (!is_compared(entry)) continue;
        const by_words = scoreNames(index, prepared, { words: listed.words, word_ids });
        const hit = judge(person, entry, listed, Math.max(joined, by_words), thresholds);
        if (!hit) continue;
        const known = hits.get(entry);
        if (!known || worstFirst(hit, known) < 0) hits.set(entry, hit);
      }
    }
    return [...hits.values()].sort(worstFirst).slice(0, HITS_MAX);
  };
}

/** A match before a possible one: the birth date raises the scores of both to 1. */
function worstFirst(a: ScreeningHit, b: ScreeningHit): number {
  return Number(b.verdict === "match") - Number(a.verdict === "match") || b.score - a.score;
}

/** The score of the names, corrected by what else is known; undefined: not this entry. */
function judge(
  person: ScreenedPerson,
  entry: ListEntry,
  name: IndexedName,
  name_score: number,
  { possible_match, match }: MatchThresholds,
): ScreeningHit | undefined {
  if (name_score + SAME_DAY < possible_match) return undefined;
  const birth = compareBirth(person.birth_date, entry.birth_dates);
  const country = compareCountries(person.countries, entry.countries);
  let score = name_score + birth.correction + country.correction;
  if (entry.kind !== person.kind) score -= OTHER_KIND_COST;
  if (name.is_weak && !birth.agrees) score *= WEAK_ALIAS_FACTOR;
  if (score < possible_match) return undefined;
  const is_confirmed = person.kind === "individual" ? birth.agrees : country.agrees;
  const verdict = name_score >= match && is_confirmed ? "match" : "possible_match";
  return { entry, verdict, by: "name", score: Math.min(score, 1), listed: name.text };
}

function indexNames(entries: readonly ListEntry[]): IndexedName[] {
  return entries.flatMap(({ kind, names }, entry) => {
    const seen = new Set<string>();
    return names.flatMap(({ text, is_weak }) => {
      const words = wordsOfName(text, kind !== "individual");
      const same = [...words].sort().join(" ");
      if (words.length === 0 || seen.has(same)) return [];
      seen.add(same);
      return [{ entry, text, is_weak, words }];
    });
  });
}

function indexWallets(entries: readonly ListEntry[]): Map<string, ListEntry[]> {
  const wallets = new Map<string, ListEntry[]>();
  for (const entry of entries) {
    for (const wallet of entry.wallets) {
      const key = foldWallet(wallet);
      wallets.set(key, [...(wallets.get(key) ?? []), entry]);
    }
  }
  return wallets;
}

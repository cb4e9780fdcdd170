import { createMatcher, type Matcher } from "../src/partners/screening/matching/matcher.ts";
import {
  createPools,
  type InventedPerson,
  inventPerson,
  listInvented,
  randomFrom,
  registerInvented,
} from "./invented-people.ts";
import { MISSPELLINGS } from "./misspell.ts";

export type ScreeningQuality = {
  /** Listed people who were found, of all and by the way their name was changed. */
  recall: number;
  recall_by_class: Readonly<Record<string, number>>;
  /** Listed people among all who were flagged, where nine in ten people are not listed. */
  precision: number;
  /** People who are not listed and were flagged. */
  flagged_clean: number;
  listed: number;
  clean: number;
};

/** The defaults of the settings. */
export const SCREENING_THRESHOLDS = { possible_match: 0.85, match: 0.95 };
const CLEAN_FOR_EACH_LISTED = 9;

/** Invents a list, changes the names of `listed` of its people, and counts who is found. */
export function measureScreening(of: {
  entries: number;
  listed: number;
  seed: number;
}): ScreeningQuality {
  const random = randomFrom(of.seed);
  const pools = createPools(random);
  const people = Array.from({ length: of.entries }, () => inventPerson(random, pools));
  const screen = createMatcher(listInvented(people), SCREENING_THRESHOLDS);
  const classes = Object.entries(MISSPELLINGS);
  const counts = new Map(classes.map(([name]) => [name, { found: 0, all: 0 }]));
  for (let at = 0; total(counts) < of.listed; at += 1) {
    const [name, misspell] = classes[at % classes.length]!;
    const listed = Math.floor(random() * people.length);
    const written = misspell(random, people[listed]!);
    if (written === undefined) continue;
    const hits = screen(registerInvented(random, people[listed]!, written));
    const count = counts.get(name)!;
    count.all += 1;
    if (hits.some(({ entry }) => entry.id === String(listed))) count.found += 1;
  }
  const clean = of.listed * CLEAN_FOR_EACH_LISTED;
  const flagged = countFlagged(screen, clean, () => inventPerson(random, pools), random);
  const found = [...counts.values()].reduce((sum, count) => sum + count.found, 0);
  return {
    recall: found / of.listed,
    recall_by_class: Object.fromEntries(
      [...counts].map(([name, count]) => [name, count.found / count.all]),
    ),
    precision: found / (found + flagged),
    flagged_clean: flagged / clean,
    listed: of.listed,
    clean,
  };
}

function countFlagged(
  screen: Matcher,
  clean: number,
  invent: () => InventedPerson,
  random: () => number,
): number {
  let flagged = 0;
  for (let at = 0; at < clean; at += 1) {
    const person = invent();
    const hits = screen(registerInvented(random, person, person.words.join(" ")));
    if (hits.length > 0) flagged += 1;
  }
  return flagged;
}

function total(counts: Map<string, { all: number }>): number {
  return [...counts.values()].reduce((sum, { all }) => sum + all, 0);
}

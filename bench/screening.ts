import { createMatcher } from "../src/partners/screening/matching/matcher.ts";
import {
  createPools,
  inventPerson,
  listInvented,
  randomFrom,
  registerInvented,
} from "./invented-people.ts";
import { type Judged, judge } from "./measure.ts";
import { measureScreening, SCREENING_THRESHOLDS } from "./screening-quality.ts";

const ENTRIES = 20_000;
const PEOPLE = 100_000;
const LISTED = 5_000;
const SEED = 17;
const SECONDS_MAX = 30;
const RECALL_MIN = 0.97;
const PRECISION_MIN = 0.7;

/** How long 100 000 people take against 20 000 entries, and how many of 5 000 are found. */
export function screening(say: (text: string) => void): Judged[] {
  const seconds = measureSeconds();
  const quality = measureScreening({ entries: ENTRIES, listed: LISTED, seed: SEED });
  for (const [name, recall] of Object.entries(quality.recall_by_class)) {
    say(`screening: recall, ${name}: ${recall.toFixed(3)}`);
  }
  return [
    judge("screening: 100 000 people, processor seconds", [seconds], { at_most: SECONDS_MAX }),
    judge("screening: recall", [quality.recall], { at_least: RECALL_MIN }),
    judge("screening: precision", [quality.precision], { at_least: PRECISION_MIN }),
  ];
}

/** The index included. */
function measureSeconds(): number {
  const random = randomFrom(SEED);
  const pools = createPools(random);
  const entries = listInvented(Array.from({ length: ENTRIES }, () => inventPerson(random, pools)));
  const people = Array.from({ length: PEOPLE }, () => {
    const person = inventPerson(random, pools);
    return registerInvented(random, person, person.words.join(" "));
  });
  // Processor time: others may use the machine at the same time.
  const begun = process.cpuUsage();
  const screen = createMatcher(entries, SCREENING_THRESHOLDS);
  for (const person of people) screen(person);
  return process.cpuUsage(begun).user / 1e6;
}

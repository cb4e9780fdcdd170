import type { DateRange } from "../port.ts";

/** What a fact says besides the name: added to the score; `agrees`: it confirms who is meant. */
type Compared = { correction: number; agrees: boolean };

const UNKNOWN: Compared = { correction: 0, agrees: false };
const AGREES: Compared = { correction: 0, agrees: true };

/** Two people of similar names are hardly ever born on the same day, whatever names one adds. */
export const SAME_DAY = 0.2;
/** A mistyped day is frequent, another year hardly ever. */
const OTHER_DAY = -0.05;
const NEXT_YEAR = -0.08;
const OTHER_YEAR = -0.25;
/** People move, and lists know one address of many. */
const OTHER_COUNTRY = -0.04;

/** The best of the birth dates that the entry names; nothing known lowers nothing. */
export function compareBirth(birth_date: string | null, listed: readonly DateRange[]): Compared {
  if (birth_date === null || listed.length === 0) return UNKNOWN;
  const found = listed.map((range) => compareDate(birth_date, range));
  return found.reduce((best, one) => (one.correction > best.correction ? one : best));
}

function compareDate(date: string, { from, to }: DateRange): Compared {
  if (date === from && date === to) return { correction: SAME_DAY, agrees: true };
  if (date >= from && date <= to) return AGREES;
  const [year, month, day] = date.split("-");
  const swapped = `${year}-${day}-${month}`;
  if (swapped >= from && swapped <= to) return { correction: OTHER_DAY / 2, agrees: false };
  const years_off = Math.max(
    Number(from.slice(0, 4)) - Number(year),
    Number(year) - Number(to.slice(0, 4)),
  );
  if (years_off <= 0) return { correction: OTHER_DAY, agrees: false };
  return { correction: years_off === 1 ? NEXT_YEAR : OTHER_YEAR, agrees: false };
}

export function compareCountries(known: readonly string[], listed: readonly string[]): Compared {
  if (known.length === 0 || listed.length === 0) return UNKNOWN;
  return known.some((country) => listed.includes(country))
    ? AGREES
    : { correction: OTHER_COUNTRY, agrees: false };
}

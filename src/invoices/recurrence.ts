import rrule from "rrule";

// The package is CommonJS: its names are properties of the default export.
const { RRule, Frequency } = rrule;

/** When a template makes its invoices, in UTC; `text` says the same as a caller would. */
export type Recurrence = { starts_at: Date; rule: string; text: string };

type Options = ReturnType<typeof RRule.parseString>;

const COUNT_MAX = 1_000;
const INTERVAL_MAX = 366;
const POSITION_MAX = 5;
const YEARS_AHEAD_MAX = 50;
const FIRST_START = Date.UTC(2000, 0, 1);
const YEAR_MS = 366 * 24 * 60 * 60 * 1000;
const LENGTH_MAX = 500;
const DTSTART = /^DTSTART(?:;VALUE=DATE(?:-TIME)?)?:(\d{8})(?:T(\d{6})Z?)?$/;

/**
 * What a rule may hold, by its frequency. With anything more, a rule that never comes true (the
 * 30th of February) would be searched for day by day up to the year 9999.
 */
const PARTS: Record<number, readonly string[]> = {
  [Frequency.YEARLY]: ["bymonth", "bymonthday", "byweekday", "bysetpos"],
  [Frequency.MONTHLY]: ["bymonthday", "byweekday", "bysetpos"],
  [Frequency.WEEKLY]: ["byweekday"],
  [Frequency.DAILY]: ["byweekday"],
};
const GENERAL_PARTS = ["freq", "interval", "count", "until", "wkst"];

/**
 * Reads an RFC 5545 rule: DTSTART and RRULE, separated by a newline or a blank. Without DTSTART it
 * starts at once, and its text is completed to say so.
 */
export function parseRecurrence(
  text: string,
  now: Date,
): { recurrence: Recurrence } | { reason: string } {
  if (text.length > LENGTH_MAX) return { reason: `Send at most ${LENGTH_MAX} characters.` };
  const lines = text.trim().split(/\s+/);
  const starts = lines.filter((line) => line.toUpperCase().startsWith("DTSTART"));
  const rules = lines.filter((line) => !line.toUpperCase().startsWith("DTSTART"));
  if (rules.length !== 1 || starts.length > 1) {
    return { reason: "Send one RRULE, with at most one DTSTART before it." };
  }
  const begin = starts[0]?.toUpperCase() ?? `DTSTART:${compactTime(now)}`;
  const starts_at = readStart(begin);
  if (!starts_at) {
    return { reason: "Send DTSTART in UTC, e.g. DTSTART:20261201T090000Z." };
  }
  const rule = rules[0]!.toUpperCase().replace(/^RRULE:/, "");
  const reason = findFault(rule, starts_at, now);
  if (reason !== null) return { reason };
  return { recurrence: { starts_at, rule, text: `${begin}\nRRULE:${rule}` } };
}

/** The first occurrence at or after a time; null when there is none. */
export function occurrenceFrom({ starts_at, rule }: Recurrence, time: Date): Date | null {
  return new RRule({ ...RRule.parseString(rule), dtstart: starts_at }).after(time, true);
}

/** The next one after an occurrence. */
export function occurrenceAfter({ starts_at, rule }: Recurrence, time: Date): Date | null {
  return new RRule({ ...RRule.parseString(rule), dtstart: starts_at }).after(time, false);
}

/** 20261201T090000Z */
function compactTime(time: Date): string {
  return `${time.toISOString().slice(0, 19).replace(/[-:]/g, "")}Z`;
}

function readStart(line: string): Date | null {
  const [, day, time = "000000"] = DTSTART.exec(line) ?? [];
  if (!day) return null;
  const text =
    `${day.slice(0, 4)}-${day.slice(4, 6)}-${day.slice(6)}T` +
    `${time.slice(0, 2)}:${time.slice(2, 4)}:${time.slice(4)}.000Z`;
  const date = new Date(text);
  // JavaScript reads the 30th of February as a day in March.
  return Number.isNaN(date.getTime()) || date.toISOString() !== text ? null : date;
}

function findFault(rule: string, starts_at: Date, now: Date): string | null {
  let options: Options;
  try {
    options = RRule.parseString(rule);
  } catch {
    return "Send an RFC 5545 rule, e.g. RRULE:FREQ=MONTHLY;INTERVAL=1;COUNT=3.";
  }
  const { freq, interval = 1, count, until } = options;
  const parts = typeof freq === "number" ? PARTS[freq] : undefined;
  if (!parts) return "Send FREQ=YEARLY, MONTHLY, WEEKLY or DAILY.";
  const extra = Object.keys(options).find((name) => ![...GENERAL_PARTS, ...parts].includes(name));
  if (extra) return `Leave ${extra.replace("byweekday", "byday").toUpperCase()} out.`;
  if (!isWhole(interval, 1, INTERVAL_MAX)) return `Send INTERVAL from 1 to ${INTERVAL_MAX}.`;
  if (count !== undefined && count !== null && !isWhole(count, 1, COUNT_MAX)) {
    return `Send COUNT from 1 to ${COUNT_MAX}.`;
  }
  if (freq === Frequency.DAILY && interval > 1 && options.byweekday) {
    return "Leave BYDAY out, or use FREQ=WEEKLY with it.";
  }
  if (![options.bysetpos ?? 1].flat().every(isPosition)) {
    return `Send BYSETPOS from 1 to ${POSITION_MAX}, or -1 to -${POSITION_MAX}.`;
  }
  const latest = now.getTime() + YEARS_AHEAD_MAX * YEAR_MS;
  if (starts_at.getTime() < FIRST_START || starts_at.getTime() > latest) {
    return "Send a DTSTART of this century, not too far ahead.";
  }
  if (until && (Number.isNaN(until.getTime()) || until.getTime() > latest + YEAR_MS)) {
    return `Send an UNTIL of at most ${YEARS_AHEAD_MAX} years ahead.`;
  }
  return null;
}

function isWhole(value: unknown, least: number, most: number): boolean {
  return typeof value === "number" && Number.isInteger(value) && value >= least && value <= most;
}

function isPosition(value: number): boolean {
  return isWhole(Math.abs(value), 1, POSITION_MAX);
}

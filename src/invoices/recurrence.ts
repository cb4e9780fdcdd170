import rrule from "rrule";

// The package is CommonJS: its names are properties of the default export.
const { RRule } = rrule;

/** When a template makes its invoices, in UTC; `text` says the same as a caller would. */
export type Recurrence = { starts_at: Date; rule: string; text: string };

const COUNT_MAX = 1_000;
const INTERVAL_MAX = 366;
const YEARS_AHEAD_MAX = 50;
/** A rule ends where nothing comes for so long. */
const YEARS_SEARCHED_MAX = 10;
const MONTH_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const FIRST_START = Date.UTC(2000, 0, 1);
const YEAR_MS = 366 * 24 * 60 * 60 * 1000;
const LENGTH_MAX = 500;
const DTSTART = /^DTSTART(?:;VALUE=DATE(?:-TIME)?)?:(\d{8})(?:T(\d{6})Z?)?$/;

/** The library stops at the year 9999: with such an interval it looks at one period only. */
const YEARS_ONCE = 9_999;

/** The parts of a rule that we take, by their form: the library believes whatever it is given. */
const FREQUENCIES: Readonly<Record<string, readonly string[]>> = {
  YEARLY: ["BYMONTH", "BYMONTHDAY", "BYDAY", "BYSETPOS"],
  MONTHLY: ["BYMONTHDAY", "BYDAY", "BYSETPOS"],
  WEEKLY: ["BYDAY"],
  DAILY: ["BYDAY"],
};
const GENERAL_PARTS = ["FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST"];
const WEEKDAY = "(?:MO|TU|WE|TH|FR|SA|SU)";
const listOf = (item: string) => new RegExp(`^${item}(?:,${item}){0,30}$`);
const FORMS: Readonly<Record<string, RegExp>> = {
  FREQ: /^[A-Z]+$/,
  INTERVAL: /^[1-9]\d{0,2}$/,
  COUNT: /^[1-9]\d{0,3}$/,
  UNTIL: /^\d{8}(?:T\d{6}Z?)?$/,
  WKST: new RegExp(`^${WEEKDAY}$`),
  BYMONTH: listOf("(?:[1-9]|1[0-2])"),
  BYMONTHDAY: listOf("-?(?:[1-9]|[12]\\d|3[01])"),
  BYDAY: listOf(`(?:[+-]?[1-5])?${WEEKDAY}`),
  BYSETPOS: listOf("-?[1-5]"),
};

/**
 * Reads an RFC 5545 rule: DTSTART and RRULE, separated by a newline or a blank. Without DTSTART it
 * starts at once, and its text is completed to say so.
 */
export function parseRecurrence(
  text: string,
  now: Date,
): { recurrence: Recurrence } | { reason: string } {
  if (text.length > LENGTH_MAX) return { reason: `Send at most ${LENGTH_MAX} characters.` };
  const lines = text.trim().toUpperCase().split(/\s+/);
  const starts = lines.filter((line) => line.startsWith("DTSTART"));
  const rules = lines.filter((line) => !line.startsWith("DTSTART"));
  if (rules.length !== 1 || starts.length > 1) {
    return { reason: "Send one RRULE, with at most one DTSTART before it." };
  }
  const begin = starts[0] ?? `DTSTART:${compactTime(now)}`;
  const starts_at = readStart(begin);
  if (!starts_at) return { reason: "Send DTSTART in UTC, e.g. DTSTART:20261201T090000Z." };
  const rule = rules[0]!.replace(/^RRULE:/, "").replace(/;$/, "");
  const latest = now.getTime() + YEARS_AHEAD_MAX * YEAR_MS;
  const reason = findFault(rule, latest);
  if (reason !== null) return { reason };
  // Days are counted one by one from the start, each time.
  const earliest = rule.includes("FREQ=DAILY") ? now.getTime() - YEAR_MS : FIRST_START;
  if (starts_at.getTime() < earliest || starts_at.getTime() > latest) {
    return { reason: "Send a DTSTART of this century, of a daily rule at most a year ago." };
  }
  return { recurrence: { starts_at, rule, text: `${begin}\nRRULE:${rule}` } };
}

/** The first occurrence at or after a time; null when there is none within ten years. */
export function occurrenceFrom(recurrence: Recurrence, time: Date): Date | null {
  return findOccurrence(recurrence, time, true);
}

/** The next one after an occurrence. */
export function occurrenceAfter(recurrence: Recurrence, time: Date): Date | null {
  return findOccurrence(recurrence, time, false);
}

/**
 * For what never comes (the 30th of February) the library would search up to the year 9999, so it
 * is asked for the next occurrence only where one is known to come.
 */
function findOccurrence({ starts_at, rule }: Recurrence, time: Date, inc: boolean): Date | null {
  const options = { ...RRule.parseString(rule), dtstart: starts_at };
  const end = time.getTime() + YEARS_SEARCHED_MAX * YEAR_MS;
  if (!comesBetween(options, time, inc, end)) return null;
  const found = new RRule(options).after(time, inc);
  return found && found.getTime() <= end ? found : null;
}

type RuleOptions = ReturnType<typeof RRule.parseString> & { dtstart: Date };

/** Whether the rule, were it without an end, has an occurrence from a time on until another. */
function comesBetween(options: RuleOptions, time: Date, inc: boolean, end: number): boolean {
  const { freq, dtstart } = options;
  // Every week and every day have one.
  if (freq !== RRule.YEARLY && freq !== RRule.MONTHLY) return true;
  const months = (options.interval ?? 1) * (freq === RRule.YEARLY ? 12 : 1);
  const first_month = freq === RRule.YEARLY ? 0 : dtstart.getUTCMonth();
  const from = new Date(Math.max(time.getTime(), dtstart.getTime()));
  const passed = (from.getUTCFullYear() - dtstart.getUTCFullYear()) * 12 + from.getUTCMonth();
  const skipped = Math.max(0, Math.floor((passed - first_month) / months));
  for (let period = skipped; ; period += 1) {
    const begin = new Date(dtstart);
    begin.setUTCMonth(first_month + period * months, 1);
    if (begin.getTime() > end) return false;
    const isWanted = (at: Date) => at.getTime() <= end && at >= from && (inc || at > time);
    if (new RRule(onePeriod(options, begin)).all().some(isWanted)) return true;
  }
}

/** The rule for the one year or month that begins then. */
function onePeriod(options: RuleOptions, dtstart: Date): RuleOptions {
  const { freq, bymonth, bymonthday, byweekday } = options;
  const { dtstart: start, count: _count, until: _until, ...parts } = options;
  // What is not said is the start's, not the period's.
  const is_day_open = !bymonthday && !byweekday;
  return {
    ...parts,
    ...(is_day_open ? { bymonthday: start.getUTCDate() } : {}),
    ...(is_day_open && !bymonth && freq === RRule.YEARLY
      ? { bymonth: start.getUTCMonth() + 1 }
      : {}),
    interval: freq === RRule.YEARLY ? YEARS_ONCE : YEARS_ONCE * 12,
    dtstart,
  };
}

function findFault(rule: string, latest: number): string | null {
  const pairs = rule.split(";").map((part) => part.split("="));
  const parts = new Map(pairs.map(([name = "", value = ""]) => [name, value]));
  const frequency = parts.get("FREQ") ?? "";
  const own = Object.hasOwn(FREQUENCIES, frequency) ? FREQUENCIES[frequency]! : null;
  if (!own) return "Send an RFC 5545 rule of FREQ=YEARLY, MONTHLY, WEEKLY or DAILY.";
  if (parts.size !== pairs.length) return "Send each part of the rule once.";
  const known = [...GENERAL_PARTS, ...own];
  for (const [name, value] of parts) {
    if (!known.includes(name)) return `Leave ${name.slice(0, 20)} out. Known here: ${known}.`;
    if (!FORMS[name]!.test(value)) return `Send a ${name} of the form and range that it may have.`;
  }
  const interval = Number(parts.get("INTERVAL") ?? 1);
  if (interval > INTERVAL_MAX) return `Send INTERVAL from 1 to ${INTERVAL_MAX}.`;
  if (Number(parts.get("COUNT") ?? 1) > COUNT_MAX) return `Send COUNT from 1 to ${COUNT_MAX}.`;
  const days = parts.get("BYDAY") ?? "";
  if (/\d/.test(days) && !own.includes("BYMONTHDAY")) {
    return "Send BYDAY without numbers, or use FREQ=MONTHLY with it.";
  }
  // Such pairs may never come true: the fifth of one Monday, the first Monday on the 31st.
  if (parts.has("BYSETPOS") && (!/^[A-Z,]+$/.test(days) || parts.has("BYMONTHDAY"))) {
    return "Send BYSETPOS with BYDAY alone, e.g. BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1.";
  }
  if (/\d/.test(days) && parts.has("BYMONTHDAY")) {
    return "Send BYMONTHDAY, or BYDAY with numbers, but not both.";
  }
  if (frequency === "DAILY" && interval > 1 && days !== "") {
    return "Leave BYDAY out, or use FREQ=WEEKLY with it.";
  }
  if (!hasDay(parts)) return "Send a BYMONTHDAY that a month of BYMONTH has.";
  const until = parts.get("UNTIL");
  const end = until === undefined ? null : readStart(`DTSTART:${until}`);
  if (until !== undefined && (!end || end.getTime() > latest)) {
    return `Send an UNTIL that is a real date, at most ${YEARS_AHEAD_MAX} years ahead.`;
  }
  return null;
}

/** Whether a month that the rule names has a day that it names, in a leap year at least. */
function hasDay(parts: ReadonlyMap<string, string>): boolean {
  const months = parts.get("BYMONTH")?.split(",").map(Number) ?? [1];
  const days = parts.get("BYMONTHDAY")?.split(",").map(Number) ?? [1];
  const longest = Math.max(...months.map((month) => MONTH_DAYS[month - 1]!));
  return days.some((day) => Math.abs(day) <= longest);
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

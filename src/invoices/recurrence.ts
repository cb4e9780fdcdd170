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
const DAY_MS = 24 * 60 * 60 * 1000;
const WEEK_DAYS = 7;
const YEAR_MS = 366 * 24 * 60 * 60 * 1000;
const LENGTH_MAX = 500;
const DTSTART = /^DTSTART(?:;VALUE=DATE(?:-TIME)?)?:(\d{8})(?:T(\d{6})Z?)?$/;

/** The library stops at the year 9999: with such an interval it looks at one period only. */
const YEARS_ONCE = 9_999;

/** The parts that RFC 5545 knows for each frequency; parts of a day have no meaning here. */
const FREQUENCIES: Readonly<Record<string, readonly string[]>> = {
  YEARLY: ["BYMONTH", "BYWEEKNO", "BYYEARDAY", "BYMONTHDAY", "BYDAY", "BYSETPOS"],
  MONTHLY: ["BYMONTH", "BYMONTHDAY", "BYDAY", "BYSETPOS"],
  WEEKLY: ["BYMONTH", "BYDAY", "BYSETPOS"],
  DAILY: ["BYMONTH", "BYMONTHDAY", "BYDAY"],
};
const GENERAL_PARTS = ["FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST"];
const WEEKDAY = "(?:MO|TU|WE|TH|FR|SA|SU)";
/** Zeros may lead, up to the number of digits that RFC 5545 has for each. */
const YEAR_DAY = "(?:0{0,2}[1-9]|0?[1-9]\\d|[12]\\d\\d|3[0-5]\\d|36[0-6])";
const WEEK = "(?:0?[1-9]|[1-4]\\d|5[0-3])";
const listOf = (item: string) => new RegExp(`^${item}(?:,${item}){0,30}$`);
/** The library believes whatever it is given. */
const FORMS: Readonly<Record<string, RegExp>> = {
  FREQ: /^[A-Z]+$/,
  INTERVAL: /^0*[1-9]\d{0,2}$/,
  COUNT: /^0*[1-9]\d{0,3}$/,
  UNTIL: /^\d{8}(?:T\d{6}Z?)?$/,
  WKST: new RegExp(`^${WEEKDAY}$`),
  BYMONTH: listOf("(?:0?[1-9]|1[0-2])"),
  BYWEEKNO: listOf(`[+-]?${WEEK}`),
  BYYEARDAY: listOf(`[+-]?${YEAR_DAY}`),
  BYMONTHDAY: listOf("[+-]?(?:0?[1-9]|[12]\\d|3[01])"),
  BYDAY: listOf(`(?:[+-]?${WEEK})?${WEEKDAY}`),
  BYSETPOS: listOf(`[+-]?${YEAR_DAY}`),
};
const NEVER = "Send a rule that comes true within ten years of its start.";

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
  const dates = lines.find((line) => /^(EXDATE|RDATE|EXRULE)\b/.test(line));
  if (dates) {
    const name = /^[A-Z]+/.exec(dates)![0];
    return { reason: `Leave ${name} out; cancel or send the invoices of such days by themselves.` };
  }
  if (rules.length !== 1 || starts.length > 1) {
    return { reason: "Send one RRULE, with at most one DTSTART before it." };
  }
  const begin = starts[0] ?? `DTSTART:${compactTime(now)}`;
  const starts_at = readStart(begin);
  if (!starts_at) {
    return { reason: "Send DTSTART in UTC without a TZID, e.g. DTSTART:20261201T090000Z." };
  }
  const rule = rules[0]!.replace(/^RRULE:/, "").replace(/;$/, "");
  const latest = now.getTime() + YEARS_AHEAD_MAX * YEAR_MS;
  const reason = findFault(rule, latest);
  if (reason !== null) return { reason };
  // Days are counted one by one from the start, each time.
  const earliest = rule.includes("FREQ=DAILY") ? now.getTime() - YEAR_MS : FIRST_START;
  if (starts_at.getTime() < earliest || starts_at.getTime() > latest) {
    return { reason: "Send a DTSTART of this century, of a daily rule at most a year ago." };
  }
  const recurrence = { starts_at, rule, text: `${begin}\nRRULE:${rule}` };
  const comes = comesBetween(optionsOf(recurrence), starts_at, true, searchEnd(starts_at));
  return comes ? { recurrence } : { reason: NEVER };
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
function findOccurrence(recurrence: Recurrence, time: Date, inc: boolean): Date | null {
  const options = optionsOf(recurrence);
  const end = searchEnd(time);
  if (!comesBetween(options, time, inc, end)) return null;
  const found = new RRule(options).after(time, inc);
  return found && found.getTime() <= end ? found : null;
}

type RuleOptions = ReturnType<typeof RRule.parseString> & { dtstart: Date };

function optionsOf({ starts_at, rule }: Recurrence): RuleOptions {
  return { ...RRule.parseString(rule), dtstart: starts_at };
}

function searchEnd(time: Date): number {
  return time.getTime() + YEARS_SEARCHED_MAX * YEAR_MS;
}

/** Whether the rule, were it without an end, has an occurrence from a time on until another. */
function comesBetween(options: RuleOptions, time: Date, inc: boolean, end: number): boolean {
  const { freq, dtstart } = options;
  const from = new Date(Math.max(time.getTime(), dtstart.getTime()));
  const isWanted = (at: Date) => at.getTime() <= end && at >= from && (inc || at > time);
  for (const begin of periodsOf(options, from, end)) {
    const is_long = freq === RRule.YEARLY || freq === RRule.MONTHLY;
    const days = is_long
      ? new RRule(onePeriod(options, begin)).all()
      : daysOf(options, begin, freq === RRule.WEEKLY ? WEEK_DAYS : 1);
    if (days.some(isWanted)) return true;
  }
  return false;
}

/** Where the years, months, weeks or days begin that the rule looks at, from a time on. */
function* periodsOf({ freq, dtstart, interval = 1, wkst }: RuleOptions, from: Date, end: number) {
  if (freq === RRule.YEARLY || freq === RRule.MONTHLY) {
    const months = interval * (freq === RRule.YEARLY ? 12 : 1);
    const first_month = freq === RRule.YEARLY ? 0 : dtstart.getUTCMonth();
    const passed = (from.getUTCFullYear() - dtstart.getUTCFullYear()) * 12 + from.getUTCMonth();
    const skipped = Math.max(0, Math.floor((passed - first_month) / months));
    for (let period = skipped; ; period += 1) {
      const begin = new Date(dtstart);
      begin.setUTCMonth(first_month + period * months, 1);
      if (begin.getTime() > end) return;
      yield begin;
    }
  }
  const is_weekly = freq === RRule.WEEKLY;
  const first_day = typeof wkst === "object" && wkst !== null ? wkst.weekday : (wkst ?? 0);
  const back = is_weekly ? (weekdayOf(dtstart) - first_day + WEEK_DAYS) % WEEK_DAYS : 0;
  const step_ms = interval * (is_weekly ? WEEK_DAYS : 1) * DAY_MS;
  const origin = dtstart.getTime() - back * DAY_MS;
  const skipped = Math.floor((from.getTime() - origin) / step_ms);
  for (let at = origin + skipped * step_ms; at <= end; at += step_ms) yield new Date(at);
}

/** The days of a week, or a day itself, on which the rule comes true. */
function daysOf(options: RuleOptions, begin: Date, count: number): Date[] {
  const { dtstart, bymonth, bymonthday, byweekday, bysetpos } = options;
  const months = numbersOf(bymonth);
  const month_days = numbersOf(bymonthday);
  const weekdays = [byweekday ?? []].flat().map((day) => (day as { weekday: number }).weekday);
  if (count === WEEK_DAYS && weekdays.length === 0) weekdays.push(weekdayOf(dtstart));
  const matches = (list: readonly number[], ...values: number[]) =>
    list.length === 0 || values.some((value) => list.includes(value));
  const days = Array.from({ length: count }, (_, at) => new Date(begin.getTime() + at * DAY_MS))
    .filter((day) => matches(weekdays, weekdayOf(day)))
    .filter((day) => matches(months, day.getUTCMonth() + 1))
    .filter((day) => {
      const length = new Date(Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + 1, 0));
      const date = day.getUTCDate();
      return matches(month_days, date, date - length.getUTCDate() - 1);
    });
  const places = numbersOf(bysetpos);
  if (places.length === 0) return days;
  return places.flatMap((place) => days.at(place > 0 ? place - 1 : place) ?? []);
}

function numbersOf(value: number | number[] | null | undefined): number[] {
  return [value ?? []].flat();
}

/** Monday is 0. */
function weekdayOf(day: Date): number {
  return (day.getUTCDay() + 6) % WEEK_DAYS;
}

/** The rule for the one year or month that begins then. */
function onePeriod(options: RuleOptions, dtstart: Date): RuleOptions {
  const { freq, bymonth, bymonthday, byweekday, byweekno, byyearday } = options;
  const { dtstart: start, count: _count, until: _until, ...parts } = options;
  // What is not said is the start's, not the period's.
  const is_day_open = !bymonthday && !byweekday && !byweekno && !byyearday;
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
  if (parts.has("COUNT") && parts.has("UNTIL")) return "Send COUNT or UNTIL, but not both.";
  const days = parts.get("BYDAY") ?? "";
  const numbers = days.match(/\d+/g)?.map(Number) ?? [];
  const number_max = frequency === "YEARLY" ? 53 : frequency === "MONTHLY" ? 5 : 0;
  if (numbers.some((number) => number > number_max)) {
    return number_max === 0
      ? "Send BYDAY without numbers, or use FREQ=MONTHLY or YEARLY with them."
      : `Send BYDAY with numbers up to ${number_max}.`;
  }
  if (parts.has("BYWEEKNO") && (days === "" || numbers.length > 0)) {
    return "Send BYWEEKNO with BYDAY without numbers, e.g. BYWEEKNO=20;BYDAY=MO.";
  }
  if (parts.has("BYSETPOS") && !own.some((part) => part !== "BYSETPOS" && parts.has(part))) {
    return "Send BYSETPOS with another part, e.g. BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1.";
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

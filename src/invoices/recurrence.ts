import { RRuleTemporal } from "rrule-temporal";
import { DAY_MS } from "../platform/durations.ts";
import type { Parsed } from "../platform/problems.ts";

/** When a template creates its invoices, in UTC; `text` is the same rule in RFC 5545 form. */
export type Recurrence = { starts_at: Date; rule: string; text: string };

const COUNT_MAX = 1_000;
const INTERVAL_MAX = 366;
const YEARS_AHEAD_MAX = 50;
/** A rule without an occurrence for this long has ended. */
const YEARS_SEARCHED_MAX = 10;
const MONTH_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const FIRST_START = Date.UTC(2000, 0, 1);
const YEAR_MS = 366 * DAY_MS;
const LENGTH_MAX = 500;
const DTSTART = /^DTSTART(?:;VALUE=DATE(?:-TIME)?)?:(\d{8})(?:T(\d{6})Z?)?$/;

/** The library's step limit for one search: the days of a century, more than any rule needs. */
const PERIODS_MAX = 100 * 366;

/** The parts that RFC 5545 allows for each frequency; parts of a day are not supported. */
const FREQUENCIES: Readonly<Record<string, readonly string[]>> = {
  YEARLY: ["BYMONTH", "BYWEEKNO", "BYYEARDAY", "BYMONTHDAY", "BYDAY", "BYSETPOS"],
  MONTHLY: ["BYMONTH", "BYMONTHDAY", "BYDAY", "BYSETPOS"],
  WEEKLY: ["BYMONTH", "BYDAY", "BYSETPOS"],
  DAILY: ["BYMONTH", "BYMONTHDAY", "BYDAY"],
};
/** Parts that cannot be combined. */
const EXCLUSIVE: Readonly<Record<string, readonly string[]>> = {
  BYYEARDAY: ["BYWEEKNO", "BYMONTHDAY", "BYDAY"],
  BYWEEKNO: ["BYMONTHDAY"],
};
const GENERAL_PARTS = ["FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST"];
const WEEKDAY = "(?:MO|TU|WE|TH|FR|SA|SU)";
/** Leading zeros are allowed, up to the digits that RFC 5545 allows for each. */
const YEAR_DAY = "(?:0{0,2}[1-9]|0?[1-9]\\d|[12]\\d\\d|3[0-5]\\d|36[0-6])";
const WEEK = "(?:0?[1-9]|[1-4]\\d|5[0-3])";
const listOf = (item: string) => new RegExp(`^${item}(?:,${item}){0,30}$`);
/** The library does not validate its input. */
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
const NEVER = "Send a rule that has an occurrence within ten years of its start.";

/**
 * Parses an RFC 5545 rule: DTSTART and RRULE, separated by a newline or a blank. Without DTSTART it
 * starts now, and its text is completed to say so.
 */
export function parseRecurrence(text: string, now: Date): Parsed<Recurrence> {
  if (text.length > LENGTH_MAX) return { reason: `Send at most ${LENGTH_MAX} characters.` };
  const lines = text.trim().toUpperCase().split(/\s+/);
  const starts = lines.filter((line) => line.startsWith("DTSTART"));
  const rules = lines.filter((line) => !line.startsWith("DTSTART"));
  const dates = lines.find((line) => /^(EXDATE|RDATE|EXRULE)\b/.test(line));
  if (dates) {
    const name = /^[A-Z]+/.exec(dates)![0];
    return {
      reason: `Remove ${name}; cancel or create the invoices of those dates yourself.`,
    };
  }
  if (rules.length !== 1 || starts.length > 1) {
    return { reason: "Send one RRULE, optionally with one DTSTART." };
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
  // The library counts days one by one from the start in each search.
  const earliest = rule.includes("FREQ=DAILY") ? now.getTime() - YEAR_MS : FIRST_START;
  if (starts_at.getTime() < earliest || starts_at.getTime() > latest) {
    return {
      reason: "Send a DTSTART from the year 2000 on; for FREQ=DAILY it must be at most a year ago.",
    };
  }
  const recurrence = { starts_at, rule, text: `${begin}\nRRULE:${rule}` };
  const comes = findOccurrence({ starts_at, rule: withoutEnd(rule) }, starts_at, true);
  return comes ? { value: recurrence } : { reason: NEVER };
}

/**
 * Why a rule is not accepted for a new template; null if it is. With COUNT, each search lists every
 * occurrence from the start, which for a start long ago takes hundreds of milliseconds.
 */
export function refuseCount({ starts_at, rule }: Recurrence, now: Date): string | null {
  if (!partsOf(rule).has("COUNT") || starts_at.getTime() >= now.getTime() - YEAR_MS) return null;
  return "With COUNT, DTSTART must be at most a year ago: send a later one, and what is left.";
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
 * For a date that never occurs (30 February) the library would search up to its step limit, so each
 * search ends after ten years.
 */
function findOccurrence(
  { starts_at, rule }: Pick<Recurrence, "starts_at" | "rule">,
  time: Date,
  inc: boolean,
): Date | null {
  const search_end = time.getTime() + YEARS_SEARCHED_MAX * YEAR_MS;
  const until = partsOf(rule).get("UNTIL");
  const rule_end = until === undefined ? search_end : readStart(`DTSTART:${until}`)!.getTime();
  const end = Math.min(search_end, rule_end);
  if (end < starts_at.getTime()) return null;
  const found = new RRuleTemporal({
    rruleString: withoutRepeats(withoutUntil(rule)),
    dtstart: toUtc(starts_at.getTime()),
    until: toUtc(end),
    maxIterations: PERIODS_MAX,
    cache: false,
  }).next(time, inc);
  return found && new Date(found.epochMilliseconds);
}

function toUtc(time_ms: number): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(time_ms).toZonedDateTimeISO("UTC");
}

/** The library does its work once for each value, also for one that it has seen. */
function withoutRepeats(rule: string): string {
  const parts = [...partsOf(rule)].map(([name, value]) => `${name}=${distinct(value).join(",")}`);
  return parts.join(";");
}

/** The values of a list, each once: `+01` is `1`. */
function distinct(list: string | undefined): string[] {
  const values = list?.split(",").map((value) => value.replace(/^\+?(-?)0*/, "$1")) ?? [];
  return [...new Set(values)];
}

function withoutUntil(rule: string): string {
  return withoutParts(rule, /^UNTIL=/);
}

function withoutEnd(rule: string): string {
  return withoutParts(rule, /^(UNTIL|COUNT)=/);
}

function withoutParts(rule: string, unwanted: RegExp): string {
  const parts = rule.split(";").filter((part) => !unwanted.test(part));
  return parts.join(";");
}

function findFault(rule: string, latest: number): string | null {
  const parts = partsOf(rule);
  const frequency = parts.get("FREQ") ?? "";
  const own = Object.hasOwn(FREQUENCIES, frequency) ? FREQUENCIES[frequency]! : null;
  if (!own) return "Send an RFC 5545 rule with FREQ=YEARLY, MONTHLY, WEEKLY or DAILY.";
  if (parts.size !== rule.split(";").length) return "Each part of the rule must appear only once.";
  const known = [...GENERAL_PARTS, ...own];
  for (const [name, value] of parts) {
    if (!known.includes(name))
      return `Remove ${name.slice(0, 20)}. Supported with this FREQ: ${known.join(", ")}.`;
    if (!FORMS[name]!.test(value)) return `Send a valid ${name} as defined in RFC 5545.`;
  }
  const interval = Number(parts.get("INTERVAL") ?? 1);
  if (interval > INTERVAL_MAX) return `Send INTERVAL from 1 to ${INTERVAL_MAX}.`;
  if (Number(parts.get("COUNT") ?? 1) > COUNT_MAX) return `Send COUNT from 1 to ${COUNT_MAX}.`;
  if (parts.has("COUNT") && parts.has("UNTIL")) return "Send COUNT or UNTIL, but not both.";
  const days = parts.get("BYDAY") ?? "";
  const numbers = days.match(/\d+/g)?.map(Number) ?? [];
  // Where a year has 52 Mondays, the library would find the 53rd in the next year.
  const number_max = frequency === "YEARLY" ? 52 : frequency === "MONTHLY" ? 5 : 0;
  if (numbers.some((number) => number > number_max)) {
    return number_max === 0
      ? "Numbers in BYDAY need FREQ=MONTHLY or YEARLY; remove them or change FREQ."
      : `Numbers in BYDAY must be at most ${number_max}.`;
  }
  if (parts.has("BYWEEKNO") && (days === "" || numbers.length > 0)) {
    return "BYWEEKNO needs BYDAY without numbers, e.g. BYWEEKNO=20;BYDAY=MO.";
  }
  // The library would ignore the second part.
  for (const [name, others] of Object.entries(EXCLUSIVE)) {
    const other = others.find((part) => parts.has(name) && parts.has(part));
    if (other) return `${name} cannot be combined with ${other}; send one of them.`;
  }
  const is_day_of_year = frequency === "YEARLY" && !parts.has("BYMONTH") && numbers.length > 0;
  if (is_day_of_year && parts.has("BYMONTHDAY")) {
    return "To combine BYMONTHDAY and BYDAY, remove the numbers in BYDAY or add BYMONTH.";
  }
  if (parts.has("BYSETPOS") && !own.some((part) => part !== "BYSETPOS" && parts.has(part))) {
    return "BYSETPOS needs another part, e.g. BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1.";
  }
  if (parts.has("BYSETPOS") && !hasPosition(frequency, parts)) return NEVER;
  if (!hasDay(parts)) return "No month of BYMONTH has this BYMONTHDAY; change one of them.";
  const until = parts.get("UNTIL");
  const end = until === undefined ? null : readStart(`DTSTART:${until}`);
  if (until !== undefined && (!end || end.getTime() > latest)) {
    return `UNTIL must be a valid date at most ${YEARS_AHEAD_MAX} years from now.`;
  }
  return null;
}

function partsOf(rule: string): Map<string, string> {
  const pairs = rule.split(";").map((part) => part.split("="));
  return new Map(pairs.map(([name = "", value = ""]) => [name, value]));
}

/** Whether a month that the rule names has a day that it names, at least in a leap year. */
function hasDay(parts: ReadonlyMap<string, string>): boolean {
  const months = parts.get("BYMONTH")?.split(",").map(Number) ?? [1];
  const days = parts.get("BYMONTHDAY")?.split(",").map(Number) ?? [1];
  const longest = Math.max(...months.map((month) => MONTH_DAYS[month - 1]!));
  return days.some((day) => Math.abs(day) <= longest);
}

/** Whether a week, month or year can have so many days; the library would search for ten years. */
function hasPosition(frequency: string, parts: ReadonlyMap<string, string>): boolean {
  const days = Math.max(1, distinct(parts.get("BYDAY")).length);
  const weeks = distinct(parts.get("BYWEEKNO")).length;
  // A year has 52 weeks and one or two days.
  const weekdays = weeks > 0 ? weeks * days : 52 * days + Math.min(2, days);
  const by_month = distinct(parts.get("BYMONTH")).map(Number);
  const by_day = distinct(parts.get("BYMONTHDAY")).map((day) => Math.abs(Number(day)));
  const in_months = MONTH_DAYS.filter(
    (_, at) => by_month.length === 0 || by_month.includes(at + 1),
  ).map((length) => (by_day.length > 0 ? by_day.filter((day) => day <= length).length : length));
  const in_year = Math.min(sumOf(in_months), parts.has("BYDAY") ? weekdays : 366);
  const in_month = Math.max(0, ...in_months);
  const most = frequency === "WEEKLY" ? days : frequency === "MONTHLY" ? in_month : in_year;
  return distinct(parts.get("BYSETPOS")).some((position) => Math.abs(Number(position)) <= most);
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0);
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
  // JavaScript parses 30 February as a day in March.
  return Number.isNaN(date.getTime()) || date.toISOString() !== text ? null : date;
}

import rrule from "rrule";

// The package is CommonJS: its names are properties of the default export.
const { RRule } = rrule;

/** When a template makes its invoices, in UTC; `text` says the same as a caller would. */
export type Recurrence = { starts_at: Date; rule: string; text: string };

const COUNT_MAX = 1_000;
const INTERVAL_MAX = 366;
const YEARS_AHEAD_MAX = 50;
const FIRST_START = Date.UTC(2000, 0, 1);
const YEAR_MS = 366 * 24 * 60 * 60 * 1000;
const LENGTH_MAX = 500;
const DTSTART = /^DTSTART(?:;VALUE=DATE(?:-TIME)?)?:(\d{8})(?:T(\d{6})Z?)?$/;

/**
 * The parts of a rule that we take, by their form. The library believes whatever it is given, and
 * searches day by day up to the year 9999 for what never comes (the 30th of February), so each
 * frequency only has parts with which something comes soon, or is known quickly not to.
 */
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

/** The first occurrence at or after a time; null when there is none. */
export function occurrenceFrom({ starts_at, rule }: Recurrence, time: Date): Date | null {
  return new RRule({ ...RRule.parseString(rule), dtstart: starts_at }).after(time, true);
}

/** The next one after an occurrence. */
export function occurrenceAfter({ starts_at, rule }: Recurrence, time: Date): Date | null {
  return new RRule({ ...RRule.parseString(rule), dtstart: starts_at }).after(time, false);
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
  const until = parts.get("UNTIL");
  const end = until === undefined ? null : readStart(`DTSTART:${until}`);
  if (until !== undefined && (!end || end.getTime() > latest)) {
    return `Send an UNTIL that is a real date, at most ${YEARS_AHEAD_MAX} years ahead.`;
  }
  return null;
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

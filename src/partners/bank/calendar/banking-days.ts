/** A day on which a clearing system is closed, beside Saturdays and Sundays. */
type ClosedDay =
  | { month: number; day: number; on_sunday: "monday" | "lost" }
  /** The nth weekday of a month, or its last one; 1 is Monday. */
  | { month: number; weekday: number; nth: number | "last" }
  /** Days after Easter Sunday. */
  | { easter: number };

/**
 * - `target`: the euro system's T2. Nothing moves when a closing day falls on a weekend.
 * - `federal_reserve`: a holiday on a Sunday closes the Monday after it; one on a Saturday closes
 *   nothing.
 */
const CLOSED_DAYS = {
  target: [
    fixed(1, 1, "lost"),
    { easter: -2 },
    { easter: 1 },
    fixed(5, 1, "lost"),
    fixed(12, 25, "lost"),
    fixed(12, 26, "lost"),
  ],
  federal_reserve: [
    fixed(1, 1, "monday"),
    { month: 1, weekday: 1, nth: 3 },
    { month: 2, weekday: 1, nth: 3 },
    { month: 5, weekday: 1, nth: "last" },
    fixed(6, 19, "monday"),
    fixed(7, 4, "monday"),
    { month: 9, weekday: 1, nth: 1 },
    { month: 10, weekday: 1, nth: 2 },
    fixed(11, 11, "monday"),
    { month: 11, weekday: 4, nth: 4 },
    fixed(12, 25, "monday"),
  ],
} as const satisfies Record<string, readonly ClosedDay[]>;

export type Calendar = keyof typeof CLOSED_DAYS;

const SATURDAY = 6;
const SUNDAY = 7;

/** Whether payments settle on a day. */
export function isBankingDay(calendar: Calendar, date: Temporal.PlainDate): boolean {
  if (date.dayOfWeek >= SATURDAY) return false;
  const closed: readonly ClosedDay[] = CLOSED_DAYS[calendar];
  return !closed.some((day) => closedOn(day, date.year).equals(date));
}

/** The day that lies a number of banking days after another, which need not be one itself. */
export function addBankingDays(
  calendar: Calendar,
  date: Temporal.PlainDate,
  count: number,
): Temporal.PlainDate {
  let day = date;
  for (let left = count; left > 0; ) {
    day = day.add({ days: 1 });
    if (isBankingDay(calendar, day)) left -= 1;
  }
  return day;
}

function fixed(month: number, day: number, on_sunday: "monday" | "lost"): ClosedDay {
  return { month, day, on_sunday };
}

function closedOn(day: ClosedDay, year: number): Temporal.PlainDate {
  if ("easter" in day) return easterSunday(year).add({ days: day.easter });
  if ("weekday" in day) return nthWeekday(year, day);
  const date = Temporal.PlainDate.from({ year, month: day.month, day: day.day });
  return day.on_sunday === "monday" && date.dayOfWeek === SUNDAY ? date.add({ days: 1 }) : date;
}

function nthWeekday(
  year: number,
  { month, weekday, nth }: Extract<ClosedDay, { weekday: number }>,
): Temporal.PlainDate {
  const first = Temporal.PlainDate.from({ year, month, day: 1 });
  if (nth === "last") {
    const last = first.with({ day: first.daysInMonth });
    return last.subtract({ days: (last.dayOfWeek - weekday + 7) % 7 });
  }
  return first.add({ days: ((weekday - first.dayOfWeek + 7) % 7) + 7 * (nth - 1) });
}

/** Gregorian Easter by the method of Meeus, Jones and Butcher. */
function easterSunday(year: number): Temporal.PlainDate {
  const golden = year % 19;
  const century = Math.floor(year / 100);
  const of_century = year % 100;
  const moon_shift = Math.floor((century - Math.floor((century + 8) / 25) + 1) / 3);
  const full_moon = (19 * golden + century - Math.floor(century / 4) - moon_shift + 15) % 30;
  const to_sunday =
    (32 + 2 * (century % 4) + 2 * Math.floor(of_century / 4) - full_moon - (of_century % 4)) % 7;
  const late = Math.floor((golden + 11 * full_moon + 22 * to_sunday) / 451);
  const number = full_moon + to_sunday - 7 * late + 114;
  return Temporal.PlainDate.from({ year, month: Math.floor(number / 31), day: (number % 31) + 1 });
}

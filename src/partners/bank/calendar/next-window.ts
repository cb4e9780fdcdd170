import { addBankingDays, type Calendar, isBankingDay } from "./banking-days.ts";

/** When a bank takes the files of a rail, and when it carries them out. */
export type Schedule = {
  calendar: Calendar;
  /** IANA name of the bank's time zone. */
  time_zone: string;
  /** HH:MM of the bank's clock, ascending: each one ends a window. */
  cut_offs: readonly string[];
  /** Banking days from the day of the window to the day of execution; 0 is the same day. */
  lead_days: number;
};

/** The file of a window is complete at its end. */
type Window = {
  closes_at: Date;
  /** The bank's day on which the window closes, YYYY-MM-DD. */
  day: string;
  /** Position of the window on its day, from 1. */
  number: number;
  /** YYYY-MM-DD. */
  execution_date: string;
};

const CUT_OFF = /^([01]\d|2[0-3]):[0-5]\d$/;

/** The window that an instruction of this moment goes into: the first one that is still open. */
export function nextWindow(schedule: Schedule, now: Date): Window {
  requireSchedule(schedule);
  const { calendar, time_zone, cut_offs, lead_days } = schedule;
  const moment = Temporal.Instant.fromEpochMilliseconds(now.getTime());
  const today = moment.toZonedDateTimeISO(time_zone).toPlainDate();
  const first = isBankingDay(calendar, today) ? today : addBankingDays(calendar, today, 1);
  for (const day of [first, addBankingDays(calendar, first, 1)]) {
    for (const [at, cut_off] of cut_offs.entries()) {
      const closing = day.toZonedDateTime({ timeZone: time_zone, plainTime: cut_off });
      if (closing.epochMilliseconds <= now.getTime()) continue;
      return {
        closes_at: new Date(closing.epochMilliseconds),
        day: day.toString(),
        number: at + 1,
        execution_date: addBankingDays(calendar, day, lead_days).toString(),
      };
    }
  }
  throw new Error("every window of two banking days has closed");
}

function requireSchedule({ cut_offs, lead_days }: Schedule): void {
  const is_ascending = cut_offs.every((time, at) => at === 0 || cut_offs[at - 1]! < time);
  if (cut_offs.length === 0 || !cut_offs.every((time) => CUT_OFF.test(time)) || !is_ascending) {
    throw new RangeError("cut-off times are HH:MM, one at least, ascending");
  }
  if (!Number.isInteger(lead_days) || lead_days < 0) throw new RangeError("lead_days is 0 or more");
}

import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "./durations.ts";

/** `2026-11-19T` of the day that was asked for last: in a set, times differ little. */
let last_day = Number.NaN;
let last_date = "";

const TWO_DIGITS = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, "0"));
const THREE_DIGITS = Array.from({ length: 1_000 }, (_, number) => String(number).padStart(3, "0"));

/**
 * What `toISOString` returns, in a tenth of its time: a payout's records contain about seventy
 * times, and digests, MACs and events need each as text.
 */
export function isoTime(time: Date): string {
  const ms = time.getTime();
  const day = Math.floor(ms / DAY_MS);
  if (day !== last_day) {
    // Throws where there is no time; other years have more digits.
    last_date = time.toISOString().slice(0, -"00:00:00.000Z".length);
    last_day = day;
  }
  const of_day = ms - day * DAY_MS;
  const hours = TWO_DIGITS[Math.floor(of_day / HOUR_MS)];
  const minutes = TWO_DIGITS[Math.floor((of_day % HOUR_MS) / MINUTE_MS)];
  const seconds = TWO_DIGITS[Math.floor((of_day % MINUTE_MS) / SECOND_MS)];
  return `${last_date}${hours}:${minutes}:${seconds}.${THREE_DIGITS[of_day % SECOND_MS]}Z`;
}

import pg from "pg";

export const TIMESTAMPTZ_OID = 1184;
const parse: (text: string) => Date | number | null = pg.types.getTypeParser(TIMESTAMPTZ_OID);

/** From `2026-01-31 23:59:59` to the fraction. */
const SECONDS_END = 19;
const CODE_0 = "0".charCodeAt(0);
const CODE_9 = "9".charCodeAt(0);

/**
 * A time as the database writes it in UTC. The driver's parser takes four regular expressions for
 * each, which was a twentieth of the time of a payout; it still reads everything unusual.
 */
export function readTime(text: string): Date | number | null {
  const end = text.length - 3;
  const is_plain = end >= SECONDS_END && text.endsWith("+00") && text[4] === "-";
  if (!is_plain || (end > SECONDS_END && text[SECONDS_END] !== ".")) return parse(text);
  const at = (from: number, digits: number) => digitsAt(text, from, digits);
  const year = at(0, 4);
  const fraction_ms = at(20, Math.min(3, end - 20));
  const ms = end > SECONDS_END ? fraction_ms * 10 ** Math.max(0, 23 - end) : 0;
  const time_ms = Date.UTC(year, at(5, 2) - 1, at(8, 2), at(11, 2), at(14, 2), at(17, 2), ms);
  // Two-digit years mean another century to `Date.UTC`.
  return Number.isNaN(time_ms) || year < 100 ? parse(text) : new Date(time_ms);
}

/** NaN if there is anything else. */
function digitsAt(text: string, from: number, digits: number): number {
  let value = 0;
  for (let at = from; at < from + digits; at += 1) {
    const code = text.charCodeAt(at);
    if (!(code >= CODE_0 && code <= CODE_9)) return Number.NaN;
    value = value * 10 + code - CODE_0;
  }
  return value;
}

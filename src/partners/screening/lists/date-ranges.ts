import type { DateRange } from "../port.ts";

const MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");
/** "circa 1961" may be a year earlier or later. */
const CIRCA_YEARS = 1;

/**
 * A birth date as lists write it: `10 Dec 1948`, `Dec 1948`, `1948`, `circa 1948`, `1957 to 1959`,
 * `1948-12-10`, `1948-12`. Undefined for anything else: it then says nothing.
 */
export function readDateRange(text: string): DateRange | undefined {
  const plain = text.trim().toLowerCase();
  if (plain.startsWith("circa ")) return widen(readDateRange(plain.slice("circa ".length)));
  const [first, last] = plain.split(/ to /);
  if (last !== undefined) {
    const [from, to] = [readDateRange(first!), readDateRange(last)];
    return from && to && { from: from.from, to: to.to };
  }
  const iso = /^(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?/.exec(plain);
  if (iso && !/^\d{4} ?[a-z]/.test(plain)) return rangeOf(iso[1]!, iso[2], iso[3]);
  const written = /^(?:(\d{1,2}) )?([a-z]{3})[a-z]* (\d{4})$/.exec(plain);
  const month = written ? MONTHS.indexOf(written[2]!) + 1 : 0;
  if (!written || month === 0) return undefined;
  return rangeOf(written[3]!, String(month), written[1]);
}

/** All the days of a year, of a month, or one day. */
export function rangeOf(year: string, month?: string, day?: string): DateRange | undefined {
  if (!/^\d{4}$/.test(year) || year === "0000") return undefined;
  const two = (value: string) => value.padStart(2, "0");
  const has_month = month !== undefined && /^([1-9]|0[1-9]|1[0-2])$/.test(month);
  if (!has_month) return { from: `${year}-01-01`, to: `${year}-12-31` };
  const start = `${year}-${two(month)}`;
  const has_day = day !== undefined && /^([1-9]|[0-2][0-9]|3[01])$/.test(day) && day !== "00";
  return has_day
    ? { from: `${start}-${two(day)}`, to: `${start}-${two(day)}` }
    : { from: `${start}-01`, to: `${start}-31` };
}

function widen(range: DateRange | undefined): DateRange | undefined {
  if (!range) return undefined;
  const year = (date: string, change: number) =>
    String(Number(date.slice(0, 4)) + change).padStart(4, "0") + date.slice(4);
  return { from: year(range.from, -CIRCA_YEARS), to: year(range.to, CIRCA_YEARS) };
}

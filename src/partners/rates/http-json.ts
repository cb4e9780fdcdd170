import { CURRENCIES } from "../../catalogue/currencies.ts";
import { type Decimal, divideDecimals, formatDecimal, roundDown } from "../../platform/money.ts";
import type { RateReading, RateSource } from "./port.ts";
import { parseExactJson, RATE_DIGITS_MAX, toRate, toTime } from "./rate-text.ts";

type HttpJsonOptions = {
  url: string;
  max_age_ms: number;
  parse: (json_text: string) => RateReading;
  every_ms: number;
  timeout_ms?: number;
  bytes_max?: number;
};

const TIMEOUT_MS = 10_000;
const BYTES_MAX = 1024 * 1024;
const BASES = ["eur", "usd"];
const ONE: Decimal = { units: 1n, scale: 0 };

/** Rates that a server publishes as JSON. */
export function createHttpJson(options: HttpJsonOptions): RateSource {
  const { url, max_age_ms, parse, every_ms } = options;
  const { timeout_ms = TIMEOUT_MS, bytes_max = BYTES_MAX } = options;
  const { origin, pathname } = new URL(url);
  return {
    // Without the query: it may contain the operator's key for the service.
    name: origin + pathname,
    every_ms,
    max_age_ms,
    read: async () => parse(await fetchText(url, timeout_ms, bytes_max)),
  };
}

async function fetchText(url: string, timeout_ms: number, bytes_max: number): Promise<string> {
  // The time limit includes the last byte of the body.
  const signal = AbortSignal.timeout(timeout_ms);
  const answer = await fetch(url, { signal, headers: { accept: "application/json" } });
  if (answer.status !== 200 || !answer.body) {
    await answer.body?.cancel();
    throw new Error(`the rate source answered ${answer.status}`);
  }
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of answer.body) {
    bytes += part.length;
    if (bytes > bytes_max) {
      throw new Error(`the rate source sent more than ${bytes_max} bytes`);
    }
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

/**
 * Daily reference rates as the European Central Bank's mirrors publish them,
 * `{ base, date | as_of, rates }` → units for one usd. Unknown codes (metals) are ignored.
 */
export function parseReferenceRates(json_text: string): RateReading {
  const { base, date, as_of, rates } = parseObject(json_text);
  const base_code = typeof base === "string" ? base.toLowerCase() : "";
  if (!BASES.includes(base_code)) throw wrong("base must be EUR or USD");
  const time = toTime(as_of ?? date);
  if (!time) throw wrong("date or as_of must be an ISO 8601 day or time");
  if (typeof rates !== "object" || rates === null) throw wrong("rates must be an object");
  const by_code = new Map<string, Decimal>([[base_code, ONE]]);
  for (const [name, value] of Object.entries(rates)) {
    const code = name.toLowerCase();
    if (!CURRENCIES.has(code) || code === base_code) continue;
    const rate = toRate(value);
    if (!rate) throw wrong(`rates.${name} must be a number above zero`);
    by_code.set(code, rate);
  }
  const usd = by_code.get("usd");
  if (!usd) throw wrong("rates must have USD");
  return { as_of: time, rates: rebase(by_code, usd) };
}

/** Rounded down: if in doubt a payout takes slightly more of the token, never too little. */
function rebase(by_code: ReadonlyMap<string, Decimal>, usd: Decimal): Record<string, string> {
  const rebased = [...by_code].map(([code, rate]) => {
    const for_one_usd = divideDecimals(rate, usd, RATE_DIGITS_MAX, roundDown);
    return [code, formatDecimal(for_one_usd)];
  });
  return Object.fromEntries(rebased);
}

function parseObject(json_text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseExactJson(json_text);
  } catch {
    throw wrong("it must be well-formed JSON");
  }
  if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  throw wrong("it must be an object");
}

function wrong(what: string): Error {
  return new Error(`the rate source sent invalid data: ${what}`);
}

import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { isToken, TOKENS } from "../../catalogue/chains.ts";
import { CURRENCIES } from "../../catalogue/currencies.ts";
import { RATES_TABLE } from "../../catalogue/rates-table.ts";
import { MINUTE_MS } from "../../platform/durations.ts";
import { formatDecimal } from "../../platform/money.ts";
import type { RateReading, RateSource } from "./port.ts";
import { parseExactJson, RATE_DIGITS_MAX, significantDigits, toRate, toTime } from "./rate-text.ts";

const EVERY_MS = MINUTE_MS;

/** The shipped table, for the sandbox. */
export function createShippedTable(): RateSource {
  const reading: RateReading = { as_of: null, rates: RATES_TABLE };
  return {
    name: "built-in table",
    every_ms: EVERY_MS,
    max_age_ms: Number.POSITIVE_INFINITY,
    read: async () => reading,
  };
}

type RateFileOptions = {
  path: string;
  max_age_ms: number;
  parse: (json_text: string) => RateReading;
};

/** The operator's table. Reads it at once, to refuse a bad file before anything is started. */
export function openRateFile({ path, max_age_ms, parse }: RateFileOptions): RateSource {
  parse(readFileSync(path, "utf8"));
  const read = async () => parse(await readFile(path, "utf8"));
  return { name: "file", every_ms: EVERY_MS, max_age_ms, read };
}

/** Units of each currency for one usd. Throws one sentence about the first error. */
export function parseRateFile(json_text: string, needs_as_of: boolean): RateReading {
  const { as_of, rates } = parseRates(json_text, needs_as_of, {
    has: (code) => CURRENCIES.has(code),
    what: "a lowercase ISO 4217 code",
  });
  return { as_of, rates: { usd: "1", ...rates } };
}

/** Usd for one token. Throws one sentence about the first error. */
export function parseTokenRates(json_text: string, needs_as_of: boolean): RateReading {
  const what = `one of ${TOKENS.join(", ")}`;
  return parseRates(json_text, needs_as_of, { has: isToken, what });
}

type Codes = { has: (code: string) => boolean; what: string };

function parseRates(json_text: string, needs_as_of: boolean, codes: Codes): RateReading {
  const file = asObject(parseJson(json_text), "the file");
  const unknown = Object.keys(file).find((key) => key !== "as_of" && key !== "rates");
  if (unknown !== undefined) throw wrong("the file", `has the unknown key ${unknown}`);
  const as_of = toTime(file.as_of) ?? null;
  if (as_of === null && (file.as_of !== undefined || needs_as_of)) {
    throw wrong("as_of", 'must be a time such as "2026-11-15T09:00:00Z"');
  }
  const rates: Record<string, string> = {};
  for (const [code, value] of Object.entries(asObject(file.rates, "rates"))) {
    if (!codes.has(code)) throw wrong(`rates.${code}`, `must be ${codes.what}`);
    rates[code] = asRate(value, code);
  }
  return { as_of, rates };
}

function asRate(value: unknown, code: string): string {
  const rate = toRate(value);
  if (rate && significantDigits(rate) <= RATE_DIGITS_MAX) return formatDecimal(rate);
  throw wrong(
    `rates.${code}`,
    `must be a decimal above zero with at most ${RATE_DIGITS_MAX} significant digits`,
  );
}

function parseJson(json_text: string): unknown {
  try {
    return parseExactJson(json_text);
  } catch {
    throw wrong("the file", "must be well-formed JSON");
  }
}

function asObject(value: unknown, path: string): Record<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw wrong(path, "must be an object");
}

function wrong(path: string, what: string): Error {
  return new Error(`The rates file is invalid: ${path} ${what}.`);
}

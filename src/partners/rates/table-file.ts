import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
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
  return { name: "built-in table", every_ms: EVERY_MS, read: async () => reading };
}

type RateFileOptions = { path: string; needs_as_of: boolean };

/** The operator's table. Reads it at once, to refuse a bad file before anything is started. */
export function openRateFile({ path, needs_as_of }: RateFileOptions): RateSource {
  parseRateFile(readFileSync(path, "utf8"), needs_as_of);
  return {
    name: "file",
    every_ms: EVERY_MS,
    read: async () => parseRateFile(await readFile(path, "utf8"), needs_as_of),
  };
}

/** Throws one sentence about the first error. */
export function parseRateFile(json_text: string, needs_as_of: boolean): RateReading {
  const file = asObject(parseJson(json_text), "the file");
  const unknown = Object.keys(file).find((key) => key !== "as_of" && key !== "rates");
  if (unknown !== undefined) throw wrong("the file", `has the unknown key ${unknown}`);
  const as_of = toTime(file.as_of) ?? null;
  if (as_of === null && (file.as_of !== undefined || needs_as_of)) {
    throw wrong("as_of", 'must be a time such as "2026-11-15T09:00:00Z"');
  }
  const rates: Record<string, string> = { usd: "1" };
  for (const [currency, value] of Object.entries(asObject(file.rates, "rates"))) {
    rates[currency] = asRate(value, currency);
  }
  return { as_of, rates };
}

function asRate(value: unknown, currency: string): string {
  if (!CURRENCIES.has(currency)) {
    throw wrong(`rates.${currency}`, "must be a lowercase ISO 4217 code");
  }
  const rate = toRate(value);
  if (rate && significantDigits(rate) <= RATE_DIGITS_MAX) return formatDecimal(rate);
  throw wrong(
    `rates.${currency}`,
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

import type { Mode } from "../../platform/config/config.ts";
import { MINUTE_MS } from "../../platform/durations.ts";
import { StartupError } from "../../platform/startup-error.ts";
import { createHttpJson, parseReferenceRates } from "./http-json.ts";
import type { RateReading, RateSource } from "./port.ts";
import { createShippedTable, openRateFile, parseRateFile, parseTokenRates } from "./table-file.ts";

type RateSettings = {
  mode: Mode;
  rates_file: string | undefined;
  rates_url: string | undefined;
  rates_max_age_minutes: number;
  token_rates_file: string | undefined;
  token_rates_url: string | undefined;
  token_rates_max_age_minutes: number;
};

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** The source of currency rates from the settings; throws a sentence if they are wrong. */
export function openRateSource(settings: RateSettings): RateSource {
  const { mode, rates_file: file, rates_url: url } = settings;
  const max_age_ms = settings.rates_max_age_minutes * MINUTE_MS;
  const source = openSource("RATES", { mode, file, url, max_age_ms }, parseRateFile, (json) =>
    parseReferenceRates(json),
  );
  if (source) return source;
  if (mode === "live") {
    throw new StartupError(
      "SLIPROAD_RATES_URL or SLIPROAD_RATES_FILE must be set in live mode: the built-in table is " +
        "for the sandbox only.",
    );
  }
  return createShippedTable();
}

/** The source of the tokens' own rates; null if each counts as one usd. */
export function openTokenRateSource(settings: RateSettings): RateSource | null {
  const { mode, token_rates_file: file, token_rates_url: url } = settings;
  const max_age_ms = settings.token_rates_max_age_minutes * MINUTE_MS;
  return openSource("TOKEN_RATES", { mode, file, url, max_age_ms }, parseTokenRates, (json) =>
    parseTokenRates(json, true),
  );
}

function openSource(
  name: "RATES" | "TOKEN_RATES",
  settings: { mode: Mode; file: string | undefined; url: string | undefined; max_age_ms: number },
  parseFile: (json_text: string, needs_as_of: boolean) => RateReading,
  parseAnswer: (json_text: string) => RateReading,
): RateSource | null {
  const { mode, file, url, max_age_ms } = settings;
  if (file !== undefined && url !== undefined) {
    throw new StartupError(`Set SLIPROAD_${name}_FILE or SLIPROAD_${name}_URL, not both.`);
  }
  if (url !== undefined) {
    assertUsable(`SLIPROAD_${name}_URL`, url, mode);
    const every_ms = name === "RATES" ? 15 * MINUTE_MS : MINUTE_MS;
    return createHttpJson({ url, max_age_ms, every_ms, parse: parseAnswer });
  }
  if (file === undefined) return null;
  try {
    const parse = (json_text: string) => parseFile(json_text, mode === "live");
    return openRateFile({ path: file, max_age_ms, parse });
  } catch (error) {
    throw new StartupError(`SLIPROAD_${name}_FILE: ${(error as Error).message}`);
  }
}

/** Whether what this URL answers can be changed by others on its way. */
export function isOpenToOthers({ protocol, hostname }: URL): boolean {
  return protocol === "http:" && !LOOPBACK.test(hostname);
}

/** An attacker who can change rates in transit could set the price of payouts. */
function assertUsable(setting: string, given: string, mode: Mode): void {
  const url = URL.parse(given);
  if (!url || !["http:", "https:"].includes(url.protocol)) {
    throw new StartupError(`${setting} must be an http or https URL.`);
  }
  if (mode === "live" && isOpenToOthers(url)) {
    throw new StartupError(`${setting} must be an https URL in live mode.`);
  }
}

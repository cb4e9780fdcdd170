import { StartupError } from "../../platform/startup-error.ts";
import { createHttpJson } from "./http-json.ts";
import type { RateSource } from "./port.ts";
import { createShippedTable, openRateFile } from "./table-file.ts";

type RateSettings = {
  mode: "sandbox" | "live";
  rates_file: string | undefined;
  rates_url: string | undefined;
};

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** The source from the settings; throws a sentence if they are wrong. */
export function openRateSource({ mode, rates_file, rates_url }: RateSettings): RateSource {
  if (rates_file !== undefined && rates_url !== undefined) {
    throw new StartupError("Set SLIPROAD_RATES_FILE or SLIPROAD_RATES_URL, not both.");
  }
  if (rates_url !== undefined) {
    assertUsable(rates_url, mode);
    return createHttpJson({ url: rates_url });
  }
  if (rates_file !== undefined) {
    try {
      return openRateFile({ path: rates_file, needs_as_of: mode === "live" });
    } catch (error) {
      throw new StartupError(`SLIPROAD_RATES_FILE: ${(error as Error).message}`);
    }
  }
  if (mode === "live") {
    throw new StartupError(
      "SLIPROAD_RATES_URL or SLIPROAD_RATES_FILE must be set in live mode: the built-in table is " +
        "for the sandbox only.",
    );
  }
  return createShippedTable();
}

/** An attacker who can change rates in transit could set the price of payouts. */
function assertUsable(rates_url: string, mode: RateSettings["mode"]): void {
  const url = URL.parse(rates_url);
  if (!url || !["http:", "https:"].includes(url.protocol)) {
    throw new StartupError("SLIPROAD_RATES_URL must be an http or https URL.");
  }
  if (mode === "live" && url.protocol === "http:" && !LOOPBACK.test(url.hostname)) {
    throw new StartupError("SLIPROAD_RATES_URL must be an https URL in live mode.");
  }
}

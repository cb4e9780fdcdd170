import { resolve } from "node:path";
import { StartupError } from "../startup-error.ts";
import { SETTINGS, type Setting } from "./settings.ts";

type Values = {
  [Name in keyof typeof SETTINGS]: (typeof SETTINGS)[Name] extends Setting<infer Value>
    ? Value
    : never;
};

export type Config = Readonly<Omit<Values, "public_url"> & { public_url: string | undefined }>;

/** Cents; the sandbox has no such limit unless it is set. */
const FOUR_EYES_USD_LIVE = 1_000_000n;

/** Reads the settings once; a bad one stops the process with a sentence that names it. */
export function readConfig(environment: Record<string, string | undefined>): Config {
  const values: Record<string, unknown> = {};
  for (const [field, setting] of Object.entries(SETTINGS) as [string, Setting<unknown>][]) {
    const given = environment[setting.name];
    const text = given === undefined || given === "" ? setting.default_text : given;
    try {
      values[field] = text === null ? undefined : setting.read(text);
    } catch (error) {
      throw new StartupError(`${setting.name} ${(error as Error).message}.`);
    }
  }
  const config = values as Config;
  checkTogether(config);
  const public_url = config.public_url?.replace(/\/+$/, "");
  const four_eyes_usd =
    config.four_eyes_usd ?? (config.mode === "live" ? FOUR_EYES_USD_LIVE : undefined);
  const data_dir = resolve(config.data_dir);
  return Object.freeze({ ...config, public_url, four_eyes_usd, data_dir });
}

function checkTogether(config: Config): void {
  if (config.public_url !== undefined) {
    const url = URL.parse(config.public_url);
    if (!url || !["http:", "https:"].includes(url.protocol) || url.search || url.hash) {
      throw new StartupError("SLIPROAD_PUBLIC_URL must be an http or https address.");
    }
  }
  if (config.encryption_key_previous && !config.encryption_key) {
    throw new StartupError(
      "SLIPROAD_ENCRYPTION_KEY_PREVIOUS needs SLIPROAD_ENCRYPTION_KEY, the present key, beside it.",
    );
  }
  if (config.mode === "live") {
    if (!config.public_url?.startsWith("https://")) {
      throw new StartupError("SLIPROAD_PUBLIC_URL must be an https address in live mode.");
    }
    for (const field of ["encryption_key", "signing_key"] as const) {
      if (config[field]) continue;
      throw new StartupError(
        `${SETTINGS[field].name} must be set in live mode: 32 random bytes in base64.`,
      );
    }
  }
}

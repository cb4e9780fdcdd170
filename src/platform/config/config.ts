import { resolve } from "node:path";
import { StartupError } from "../startup-error.ts";
import { readSecretFile, secretFileName } from "./secret-file-settings.ts";
import type { Setting } from "./setting-kinds.ts";
import { SETTINGS } from "./settings.ts";

type Environment = Record<string, string | undefined>;

type Values = {
  [Name in keyof typeof SETTINGS]: (typeof SETTINGS)[Name] extends Setting<infer Value>
    ? Value
    : never;
};

export type Config = Readonly<Omit<Values, "public_url"> & { public_url: string | undefined }>;
/**
 * In sandbox mode no money is real: the partners are simulated, and http is allowed besides https.
 */
export type Mode = Config["mode"];

/** In cents. Applies in live mode; the sandbox has no such limit unless it is set. */
const APPROVAL_ABOVE_USD_LIVE = 1_000_000n;
const COOLING_OFF_HOURS_LIVE = 24;

/** Reads the settings once; an invalid one stops the process with a sentence that names it. */
export function readConfig(environment: Environment): Config {
  const config = readSettings(environment);
  const [problem] = liveProblems(config);
  if (problem !== undefined) throw new StartupError(problem);
  return config;
}

/**
 * The settings as they are: in live mode some that every command on the database needs may be
 * missing.
 */
export function readSettings(environment: Environment): Config {
  const values: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const [field, setting] of Object.entries(SETTINGS) as [string, Setting<unknown>][]) {
    try {
      values[field] = readOne(setting, environment);
    } catch (error) {
      if (!(error instanceof StartupError)) throw error;
      problems.push(error.message);
    }
  }
  if (problems.length > 1) {
    const lines = problems.map((problem) => `\n- ${problem}`);
    throw new StartupError(`These settings are not valid:${lines.join("")}`);
  }
  if (problems.length > 0) throw new StartupError(problems[0]!);
  const config = values as Config;
  checkTogether(config);
  const public_url = config.public_url?.replace(/\/+$/, "");
  const approval_above_usd =
    config.approval_above_usd ?? (config.mode === "live" ? APPROVAL_ABOVE_USD_LIVE : undefined);
  const cooling_off_hours =
    config.cooling_off_hours ?? (config.mode === "live" ? COOLING_OFF_HOURS_LIVE : 0);
  const second_factor = config.second_factor ?? (config.mode === "live" ? "required" : "optional");
  const data_dir = resolve(config.data_dir);
  const derived = { public_url, approval_above_usd, cooling_off_hours, second_factor, data_dir };
  return Object.freeze({ ...config, ...derived });
}

function readOne(setting: Setting<unknown>, environment: Environment): unknown {
  const { name, text } = textOf(setting, environment);
  try {
    return text === null ? undefined : setting.read(text);
  } catch (error) {
    throw new StartupError(`${name} ${(error as Error).message}.`);
  }
}

/** The text of a setting, and the name of the variable to report errors under. */
function textOf(
  { name, default_text, is_secret }: Setting<unknown>,
  environment: Environment,
): { name: string; text: string | null } {
  const given = environment[name] || null;
  const file_name = secretFileName(name);
  const file = is_secret ? environment[file_name] || null : null;
  if (file === null) return { name, text: given ?? default_text };
  if (given !== null) {
    throw new StartupError(`${name} and ${file_name} are both set; set only one of them.`);
  }
  return { name: file_name, text: readSecretFile(file_name, file) };
}

function checkTogether(config: Config): void {
  if (config.public_url !== undefined) {
    const url = URL.parse(config.public_url);
    if (!url || !["http:", "https:"].includes(url.protocol) || url.search || url.hash) {
      throw new StartupError("SLIPROAD_PUBLIC_URL must be an http or https URL.");
    }
  }
  if (config.encryption_key_previous && !config.encryption_key) {
    throw new StartupError(
      "SLIPROAD_ENCRYPTION_KEY_PREVIOUS is set without SLIPROAD_ENCRYPTION_KEY; set that to the " +
        "current key.",
    );
  }
  checkFiles(config);
}

function checkFiles({ s3_bucket, s3_access_key_id, s3_secret_access_key }: Config): void {
  const given = [s3_bucket, s3_access_key_id, s3_secret_access_key];
  if (given.every((one) => one === undefined) || !given.includes(undefined)) return;
  throw new StartupError(
    "SLIPROAD_S3_BUCKET, SLIPROAD_S3_ACCESS_KEY_ID and SLIPROAD_S3_SECRET_ACCESS_KEY are needed " +
      "together; set all three, or none to store files in the data directory.",
  );
}

/** What is missing or wrong in live mode for any command on the database, one sentence each. */
export function liveProblems(config: Config): string[] {
  if (config.mode !== "live") return [];
  const must = (is_met: boolean, sentence: string) => (is_met ? [] : [sentence]);
  const needsKey = (field: "encryption_key" | "signing_key", is_met: boolean) =>
    must(is_met, `${SETTINGS[field].name} must be set in live mode: 32 random bytes in base64.`);
  return [
    ...must(
      config.second_factor !== "optional",
      "SLIPROAD_SECOND_FACTOR must be required or all in live mode.",
    ),
    ...must(
      config.public_url?.startsWith("https://") ?? false,
      "SLIPROAD_PUBLIC_URL must be an https URL in live mode.",
    ),
    ...needsKey("encryption_key", Boolean(config.encryption_key || config.kms_command)),
    ...needsKey("signing_key", Boolean(config.signing_key)),
    ...must(
      !config.signing_key || !config.encryption_key?.equals(config.signing_key),
      "SLIPROAD_SIGNING_KEY must not be SLIPROAD_ENCRYPTION_KEY in live mode: whoever reads one " +
        "could use both.",
    ),
  ];
}

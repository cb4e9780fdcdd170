import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../config/config.ts";
import { createSecretFile } from "../secret-file.ts";
import { StartupError } from "../startup-error.ts";

const SEED_BYTES = 32;
const FILE_NAME = "signing.key";

/** The key that signs block heads: from the setting, or in sandbox from the data directory. */
export function signingSeed(config: Config): Buffer {
  const known = findSigningSeed(config);
  if (known) return known;
  mkdirSync(config.data_dir, { recursive: true, mode: 0o700 });
  const text = randomBytes(SEED_BYTES).toString("base64");
  createSecretFile(join(config.data_dir, FILE_NAME), text);
  return findSigningSeed(config)!;
}

/** The same, but creates none. */
export function findSigningSeed(config: Config): Buffer | null {
  if (config.signing_key) return config.signing_key;
  const file = join(config.data_dir, FILE_NAME);
  if (!existsSync(file)) return null;
  const seed = Buffer.from(readFileSync(file, "utf8"), "base64");
  if (seed.length !== SEED_BYTES) throw new StartupError(`${file} must hold 32 bytes in base64.`);
  return seed;
}

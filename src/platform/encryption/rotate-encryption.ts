import { randomBytes } from "node:crypto";
import type { Config } from "../config/config.ts";
import type { Database } from "../db/database.ts";
import { StartupError } from "../startup-error.ts";
import { KEY_BYTES } from "./cipher.ts";
import { type OnRewrapped, rotateMasterKey } from "./installation.ts";
import type { MasterKeys } from "./key-port.ts";
import { readKeyFile, toMasterKey, writeKeyFile } from "./local-keys.ts";

export type Rotation = {
  accounts: number;
  key_id: string;
  kept_in: "environment" | "data directory" | "key service";
};

// Any constant works as long as all processes use the same one.
const ADVISORY_LOCK = 7_420_261_116;

/**
 * Rotates to a new master key while other processes keep working. With keys from the environment,
 * the new one must already be set there, besides the previous. The sandbox creates a new one
 * itself; its file contains both until every key is rewrapped.
 */
export function rotateEncryption(
  database: Database,
  masters: MasterKeys,
  config: Config,
  onProgress?: OnRewrapped,
): Promise<Rotation> {
  return database.connection(async (session) => {
    // Two rotations at once would each drop the key that the other one wraps with.
    const [row] = await session.query<{ locked: boolean }>(
      "select pg_try_advisory_lock($1) as locked",
      [ADVISORY_LOCK],
    );
    if (!row!.locked) {
      throw new StartupError(
        "Another rotation is running; wait until it ends, then run this command again.",
      );
    }
    try {
      return await rotate(database, masters, config, onProgress);
    } finally {
      await session.query("select pg_advisory_unlock($1)", [ADVISORY_LOCK]);
    }
  });
}

async function rotate(
  database: Database,
  masters: MasterKeys,
  config: Config,
  onProgress?: OnRewrapped,
): Promise<Rotation> {
  if (config.kms_command || config.encryption_key) {
    const key_id = await masters.currentId();
    const accounts = await rotateMasterKey(database, masters, key_id, onProgress);
    return { accounts, key_id, kept_in: config.kms_command ? "key service" : "environment" };
  }
  const key = toMasterKey(randomBytes(KEY_BYTES));
  writeKeyFile(config.data_dir, [key, ...readKeyFile(config.data_dir)]);
  const accounts = await rotateMasterKey(database, masters, key.id, onProgress);
  writeKeyFile(config.data_dir, [key]);
  return { accounts, key_id: key.id, kept_in: "data directory" };
}

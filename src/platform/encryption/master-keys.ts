import { createHash, randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../config/config.ts";
import { makeSecretFile, replaceSecretFile } from "../secret-file.ts";
import { StartupError } from "../startup-error.ts";
import { KEY_BYTES } from "./cipher.ts";

/**
 * Where master keys come from. Live mode takes them from the environment. The sandbox keeps them
 * in its data directory, newest first, and reads the file again when it meets a key it does not
 * know: so a rotation reaches processes that are already running.
 */
export type MasterKeys = {
  current(): MasterKey;
  find(id: string): MasterKey | undefined;
};

export type MasterKey = { id: string; bytes: Buffer };

const FILE_NAME = "encryption.keys";

export function masterKeys(config: Config): MasterKeys {
  if (config.encryption_key) {
    const given = [config.encryption_key, config.encryption_key_previous];
    const keys = given.filter((bytes) => bytes !== undefined).map(toMasterKey);
    return { current: () => keys[0]!, find: (id) => keys.find((key) => key.id === id) };
  }
  const file = join(config.data_dir, FILE_NAME);
  if (!existsSync(file)) makeSecretFile(file, linesOf([toMasterKey(randomBytes(KEY_BYTES))]));
  let keys = readKeyFile(config.data_dir);
  const findKnown = (id: string) => keys.find((key) => key.id === id);
  return {
    current: () => keys[0]!,
    find: (id) => {
      if (!findKnown(id)) keys = readKeyFile(config.data_dir);
      return findKnown(id);
    },
  };
}

export function toMasterKey(bytes: Buffer): MasterKey {
  const id = createHash("sha256").update("sliproad master key id").update(bytes).digest("hex");
  return { id: id.slice(0, 16), bytes };
}

export function readKeyFile(data_dir: string): MasterKey[] {
  const lines = readFileSync(join(data_dir, FILE_NAME), "utf8").split("\n").filter(Boolean);
  const keys = lines.map((line) => Buffer.from(line, "base64"));
  if (keys.length === 0 || keys.some((bytes) => bytes.length !== KEY_BYTES)) {
    throw new StartupError(
      `${join(data_dir, FILE_NAME)} does not hold keys of 32 bytes in base64.`,
    );
  }
  return keys.map(toMasterKey);
}

export function writeKeyFile(data_dir: string, keys: MasterKey[]): void {
  replaceSecretFile(join(data_dir, FILE_NAME), linesOf(keys));
}

function linesOf(keys: MasterKey[]): string {
  return keys.map((key) => `${key.bytes.toString("base64")}\n`).join("");
}

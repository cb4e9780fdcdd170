import { createHash, randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../config/config.ts";
import { createSecretFile, replaceSecretFile } from "../secret-file.ts";
import { StartupError } from "../startup-error.ts";
import { KEY_BYTES, open, seal } from "./cipher.ts";
import type { MasterKeys } from "./key-port.ts";

type MasterKey = { id: string; bytes: Buffer };

/**
 * Account keys have one version until one must be replaced; every wrapped key contains its number.
 */
export const ACCOUNT_KEY_VERSION = 1;
const FILE_NAME = "encryption.keys";

/**
 * Master keys in this process's memory. Live mode reads them from the environment. The sandbox
 * stores them in its data directory, newest first, and reads the file again when it finds an
 * unknown key: so a rotation reaches processes that are already running.
 */
export function openLocalKeys(config: Config, { is_previous = false } = {}): MasterKeys {
  const source = config.encryption_key
    ? keysOf(config.encryption_key, config.encryption_key_previous)
    : fileKeys(config.data_dir, !is_previous);
  const require = (id: string): Buffer => {
    const key = source.find(id);
    if (!key) throw new Error(`master key ${id} is not configured; restart with the current keys`);
    return key.bytes;
  };
  return {
    currentId: async () => source.list()[0]!.id,
    has: async (id) => source.find(id) !== undefined,
    wrap: async (id, place, key) => seal(require(id), ACCOUNT_KEY_VERSION, place, key),
    unwrap: async (id, place, wrapped) => open(require(id), place, wrapped),
  };
}

type KeySource = { list(): MasterKey[]; find(id: string): MasterKey | undefined };

function keysOf(...given: (Buffer | undefined)[]): KeySource {
  const keys = given.filter((bytes) => bytes !== undefined).map(toMasterKey);
  return { list: () => keys, find: (id) => keys.find((key) => key.id === id) };
}

function fileKeys(data_dir: string, is_created: boolean): KeySource {
  const file = join(data_dir, FILE_NAME);
  if (!existsSync(file)) {
    if (!is_created) return keysOf();
    createSecretFile(file, linesOf([toMasterKey(randomBytes(KEY_BYTES))]));
  }
  let keys = readKeyFile(data_dir);
  const findKnown = (id: string) => keys.find((key) => key.id === id);
  return {
    list: () => keys,
    find: (id) => {
      if (!findKnown(id)) keys = readKeyFile(data_dir);
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

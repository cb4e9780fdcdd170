import { createHash, createPublicKey } from "node:crypto";
import { resolve } from "node:path";
import type { Config } from "../platform/config/config.ts";
import type { Place } from "../platform/encryption/cipher.ts";
import type { MasterKeys } from "../platform/encryption/key-port.ts";
import { signingKey } from "../platform/sealing/seal.ts";
import { findSigningSeed } from "../platform/sealing/signing-seed.ts";
import { StartupError } from "../platform/startup-error.ts";
import type { BackupHead } from "./model.ts";

/** Refuses a backup whose keys are not here: what is in it could not be used. */
export async function checkKeys(
  config: Config,
  masters: MasterKeys,
  { fingerprints, key }: BackupHead,
): Promise<void> {
  for (const id of [key.master_key_id, ...fingerprints.encryption]) {
    if (await masters.has(id)) continue;
    throw new StartupError(
      `The backup needs the encryption key ${id}, which is not here: set ` +
        "SLIPROAD_ENCRYPTION_KEY to it, or, if it is an earlier one, " +
        `SLIPROAD_ENCRYPTION_KEY_PREVIOUS${orCopy(config, "encryption.keys")}.`,
    );
  }
  const seed = findSigningSeed(config);
  if (seed && fingerprintOf(seed) === fingerprints.signing) return;
  throw new StartupError(
    `The backup needs the signing key ${fingerprints.signing}, ` +
      `${seed ? `but the one here is ${fingerprintOf(seed)}` : "which is not here"}: set ` +
      `SLIPROAD_SIGNING_KEY to it${orCopy(config, "signing.key")}.`,
  );
}

/** The sandbox has its keys in the data directory. */
function orCopy({ mode, data_dir }: Config, file: string): string {
  return mode === "sandbox" ? `, or copy ${file} into ${resolve(data_dir)}` : "";
}

/** Of the public key, so that it says nothing about the private one. */
export function fingerprintOf(signing_seed: Buffer): string {
  const public_key = createPublicKey(signingKey(signing_seed));
  const bytes = public_key.export({ type: "spki", format: "der" });
  return createHash("sha256").update(bytes).digest("hex").slice(0, 16);
}

/** A key that was wrapped for one backup does not open another. */
export function keyPlace(backup_id: string): Place {
  return { account_id: "installation", table: "backup", column: "key", record_id: backup_id };
}

export async function unwrapKey(masters: MasterKeys, { id, key }: BackupHead): Promise<Buffer> {
  const wrapped = Buffer.from(key.wrapped, "base64");
  try {
    return await masters.unwrap(key.master_key_id, keyPlace(id), wrapped);
  } catch (error) {
    throw new StartupError(`The backup cannot be decrypted: ${(error as Error).message}.`);
  }
}

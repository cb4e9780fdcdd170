import { generateKeyPair, randomBytes } from "node:crypto";
import { promisify } from "node:util";
import type { JWK } from "oidc-provider";
import { lockInstallation } from "../../accounts/store.ts";
import type { Database } from "../../platform/db/database.ts";
import { insertSigningKey, listSigningKeys, type SigningKeyRow } from "./artifacts-store.ts";
import { openSigningKey, sealSigningKey } from "./sealed-artifacts.ts";

/** Every OpenID Connect client can verify it. */
const ALGORITHM = "RS256";
/** As strong as 128 bits; installations from before keep their key of 2048 bits. */
const MODULUS_BITS = 3072;
const KEY_ID_BYTES = 12;

/** The private keys that sign id tokens, newest first; the first process creates one. */
export async function openSigningKeys(
  database: Database,
  index_key: Buffer,
  now: Date,
): Promise<JWK[]> {
  const known = await listSigningKeys(database);
  const rows = known.length > 0 ? known : await makeFirst(database, index_key, now);
  return rows.map((row) => openSigningKey<JWK>(index_key, row));
}

async function makeFirst(
  database: Database,
  index_key: Buffer,
  now: Date,
): Promise<SigningKeyRow[]> {
  const { privateKey } = await promisify(generateKeyPair)("rsa", { modulusLength: MODULUS_BITS });
  const id = randomBytes(KEY_ID_BYTES).toString("base64url");
  const jwk = { ...privateKey.export({ format: "jwk" }), kid: id, alg: ALGORITHM, use: "sig" };
  return database.transaction(async (tx) => {
    // When several processes need the first key at once, one creates it.
    await lockInstallation(tx);
    const made_meanwhile = await listSigningKeys(tx);
    if (made_meanwhile.length > 0) return made_meanwhile;
    const row = { id, jwk: sealSigningKey(index_key, id, jwk), created_at: now };
    insertSigningKey(tx, row);
    return [row];
  });
}

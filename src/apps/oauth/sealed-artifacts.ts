import { keyedHash, open, type Place, seal } from "../../platform/encryption/cipher.ts";

/**
 * The OAuth server's data belongs to no single account, so it is sealed with an installation key,
 * derived from the key of the keyed hashes: a new master key leaves it readable.
 */
const DATA_KEY_VERSION = 1;

export function hashArtifactId(index_key: Buffer, model: string, id: string): Buffer {
  return keyedHash(index_key, "oauth artifact", model, id);
}

export function sealPayload(
  index_key: Buffer,
  row: { model: string; id_hash: Buffer },
  payload: object,
): Buffer {
  const plaintext = Buffer.from(JSON.stringify(payload));
  return seal(dataKey(index_key), DATA_KEY_VERSION, artifactPlace(row), plaintext);
}

export function openPayload<Payload>(
  index_key: Buffer,
  row: { model: string; id_hash: Buffer; payload: Buffer },
): Payload {
  return JSON.parse(open(dataKey(index_key), artifactPlace(row), row.payload).toString());
}

export function sealSigningKey(index_key: Buffer, id: string, jwk: object): Buffer {
  const plaintext = Buffer.from(JSON.stringify(jwk));
  return seal(dataKey(index_key), DATA_KEY_VERSION, keyPlace(id), plaintext);
}

export function openSigningKey<Key>(index_key: Buffer, row: { id: string; jwk: Buffer }): Key {
  return JSON.parse(open(dataKey(index_key), keyPlace(row.id), row.jwk).toString());
}

/** The key of the signed OAuth cookies; the same in every process. */
export function cookieKey(index_key: Buffer): string {
  return keyedHash(index_key, "oauth cookies").toString("base64url");
}

function dataKey(index_key: Buffer): Buffer {
  return keyedHash(index_key, "oauth data key");
}

function artifactPlace({ model, id_hash }: { model: string; id_hash: Buffer }): Place {
  const record_id = `${model}:${id_hash.toString("hex")}`;
  return { account_id: "installation", table: "oauth_artifacts", column: "payload", record_id };
}

function keyPlace(id: string): Place {
  return {
    account_id: "installation",
    table: "oauth_signing_keys",
    column: "jwk",
    record_id: id,
  };
}

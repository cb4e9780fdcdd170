import { createCipheriv, createDecipheriv } from "node:crypto";
import { smallRandomBytes } from "../random-bytes.ts";
import { hmacSha256 } from "./hmac.ts";
import { keyObjectOf } from "./key-object.ts";

/**
 * AES-256-GCM. The associated data names the location of the ciphertext (account, table, column,
 * record), so that a ciphertext moved to another row or column cannot be decrypted.
 *
 * Layout: 1 byte format, 4 bytes key version, 12 bytes nonce, ciphertext, 16 bytes tag.
 */
const FORMAT = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = 5;
const LENGTH_BYTES = 4;

export const KEY_BYTES = 32;

export type Place = { account_id: string; table: string; column: string; record_id: string };

export class DecryptionError extends Error {}

export function seal(key: Buffer, version: number, place: Place, plaintext: Buffer): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt8(FORMAT, 0);
  head.writeUInt32BE(version, 1);
  const nonce = smallRandomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", keyObjectOf(key), nonce);
  cipher.setAAD(associatedData(place, version));
  return Buffer.concat([
    head,
    nonce,
    cipher.update(plaintext),
    cipher.final(),
    cipher.getAuthTag(),
  ]);
}

export function open(key: Buffer, place: Place, sealed: Buffer): Buffer {
  if (sealed.length < HEAD_BYTES + NONCE_BYTES + TAG_BYTES || sealed[0] !== FORMAT) {
    throw new DecryptionError(`not a ciphertext: ${describePlace(place)}`);
  }
  const body = HEAD_BYTES + NONCE_BYTES;
  const nonce = sealed.subarray(HEAD_BYTES, body);
  const decipher = createDecipheriv("aes-256-gcm", keyObjectOf(key), nonce);
  decipher.setAAD(associatedData(place, sealed.readUInt32BE(1)));
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  try {
    const plaintext = decipher.update(sealed.subarray(body, -TAG_BYTES));
    // This mode buffers nothing: `final` only verifies the tag.
    decipher.final();
    return plaintext;
  } catch (error) {
    throw new DecryptionError(
      `altered, moved or sealed with another key: ${describePlace(place)}`,
      {
        cause: error,
      },
    );
  }
}

/** A keyed hash: equal inputs can be found, and without the key a guess cannot be tested. */
export function keyedHash(key: Buffer, purpose: string, ...parts: (string | Buffer)[]): Buffer {
  const lengths = parts.map((part) => Buffer.byteLength(part));
  const parts_length = lengths.reduce((sum, length) => sum + LENGTH_BYTES + length, 0);
  const bytes = Buffer.allocUnsafe(Buffer.byteLength(purpose) + parts_length);
  let at = bytes.write(purpose);
  for (const [index, part] of parts.entries()) {
    // The length distinguishes ("ab", "c") from ("a", "bc").
    at = bytes.writeUInt32BE(lengths[index]!, at);
    at += typeof part === "string" ? bytes.write(part, at) : part.copy(bytes, at);
  }
  return hmacSha256(key, bytes);
}

function associatedData(place: Place, version: number): Buffer {
  return Buffer.from(`${describePlace(place)}|${version}`);
}

/** Account, table, column and record: the location of a ciphertext. */
export function describePlace(place: Place): string {
  return `${place.account_id}|${place.table}|${place.column}|${place.record_id}`;
}

import { keyedHash, open, type Place, seal } from "../platform/encryption/cipher.ts";

/**
 * People belong to the installation, not to one account, so their e-mail addresses are sealed with
 * an installation key, derived from the key of the keyed hashes.
 */
const DATA_KEY_VERSION = 1;
const EMAIL_LENGTH_MAX = 254;

/** Text before and after one @: only sending a message could verify more. */
export function isEmail(text: string): boolean {
  return text.length <= EMAIL_LENGTH_MAX && /^[^\s@]+@[^\s@]+$/.test(text.trim());
}

/** The normalised form that is stored and looked up. */
export function normaliseEmail(email: string): string {
  return email.trim().normalize("NFC").toLowerCase();
}

/** Finds a person by e-mail without storing the address in clear. */
export function hashEmail(index_key: Buffer, email: string): Buffer {
  return keyedHash(index_key, "person email", normaliseEmail(email));
}

export function sealEmail(index_key: Buffer, person_id: string, email: string): Buffer {
  const plaintext = Buffer.from(normaliseEmail(email));
  return seal(dataKey(index_key), DATA_KEY_VERSION, emailPlace(person_id), plaintext);
}

export function openEmail(index_key: Buffer, person_id: string, sealed: Buffer): string {
  return open(dataKey(index_key), emailPlace(person_id), sealed).toString();
}

function dataKey(index_key: Buffer): Buffer {
  return keyedHash(index_key, "people data key");
}

function emailPlace(person_id: string): Place {
  return { account_id: "installation", table: "people", column: "email", record_id: person_id };
}

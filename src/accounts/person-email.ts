import { keyedHash } from "../platform/encryption/cipher.ts";
import { openPersonal, sealPersonal } from "./seal-personal.ts";

const EMAIL_LENGTH_MAX = 254;

/**
 * Text before and after one @: only sending a message could verify more. ASCII only: members judge
 * by the e-mail who is to be let in, and letters that look alike, are invisible or reverse the text
 * would show them somebody else's.
 */
export function isEmail(text: string): boolean {
  const form = /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9.-]+$/;
  return text.length <= EMAIL_LENGTH_MAX && form.test(text.trim());
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
  return sealPersonal(index_key, emailPlace(person_id), normaliseEmail(email));
}

export function openEmail(index_key: Buffer, person_id: string, sealed: Buffer): string {
  return openPersonal(index_key, emailPlace(person_id), sealed);
}

function emailPlace(person_id: string) {
  return { table: "people", column: "email", record_id: person_id };
}

import { keyedHash } from "../platform/encryption/cipher.ts";
import { openPersonal, sealPersonal } from "./seal-personal.ts";

const EMAIL_LENGTH_MAX = 254;

const ATOM = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+$/;
const LABEL = /^[A-Za-z0-9-]+$/;

/**
 * Words joined by single dots before and after one @: only sending a message could verify more.
 * ASCII only: members judge by the e-mail who is to be let in, and letters that look alike, are
 * invisible or reverse the text would show them somebody else's. A dot too many is refused: mail
 * servers ignore it, and the owner of one mailbox would be two people, who vote twice.
 */
export function isEmail(text: string): boolean {
  const [local = "", domain = "", ...rest] = text.trim().split("@");
  if (text.length > EMAIL_LENGTH_MAX || rest.length > 0) return false;
  return (
    local.split(".").every((atom) => ATOM.test(atom)) &&
    domain.split(".").every((label) => LABEL.test(label) && !/^-|-$/.test(label))
  );
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

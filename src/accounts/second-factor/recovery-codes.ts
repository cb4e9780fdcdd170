import { randomBytes } from "node:crypto";
import { base32crockford } from "@scure/base";
import type { Transaction } from "../../platform/db/database.ts";
import { keyedHash } from "../../platform/encryption/cipher.ts";
import { deleteRecoveryCodes, insertRecoveryCodes } from "./store.ts";

const CODES = 10;
/** 120 bits: a keyed hash is enough, no guess can be tested. */
const CODE_BYTES = 15;
const CODE = /^[0-9A-HJKMNP-TV-Z]{24}$/;

/** Replaces the person's codes; the new ones are stored as hashes and shown once. */
export function replaceRecoveryCodes(
  tx: Transaction,
  index_key: Buffer,
  person_id: string,
): string[] {
  const codes = Array.from({ length: CODES }, () =>
    base32crockford.encode(randomBytes(CODE_BYTES)),
  );
  deleteRecoveryCodes(tx, person_id);
  const hashes = codes.map((code) => hashRecoveryCode(index_key, person_id, code));
  insertRecoveryCodes(tx, person_id, hashes);
  return codes.map((code) => code.match(/.{4}/g)!.join("-"));
}

/** The code as it is hashed, whatever its spelling; null for a text that is none. */
export function readRecoveryCode(text: string): string | null {
  const code = text.replace(/[\s-]/g, "").toUpperCase().replace(/O/g, "0").replace(/[IL]/g, "1");
  return CODE.test(code) ? code : null;
}

export function hashRecoveryCode(index_key: Buffer, person_id: string, code: string): Buffer {
  return keyedHash(index_key, "recovery code", person_id, code);
}

import type { Database } from "../platform/db/database.ts";
import { keyedHash } from "../platform/encryption/cipher.ts";
import { payeeFields } from "./bank/known-payment.ts";

/** What the sandbox's bank and chain need to keep their own books. */
export type SandboxDeps = { database: Database; index_key: Buffer };

/** Of a keyed hash. */
const HASH_BYTES = 32;

/**
 * Whom the sandbox's bank paid: every detail of the beneficiary. Keyed hashes, because the bank's
 * books are not encrypted; they include the payment's id, so that equal payees cannot be
 * recognised. Each code of the payee's bank has its own, after that of everything else, because
 * the bank may have been told only some of them.
 */
export function digestBeneficiary(
  index_key: Buffer,
  end_to_end_id: string,
  beneficiary: Readonly<Record<string, unknown>>,
): Buffer {
  const { payee, codes } = payeeFields(beneficiary);
  return Buffer.concat([
    keyedHash(index_key, "sandbox beneficiary", end_to_end_id, ...payee),
    ...codes.map((code) => keyedHash(index_key, "sandbox bank code", end_to_end_id, code)),
  ]);
}

/** Whether both digests are of one beneficiary, the first with the same codes or fewer. */
export function isPartOf(part: Buffer, whole: Buffer): boolean {
  const [[head, ...codes], [whole_head, ...whole_codes]] = [hashesIn(part), hashesIn(whole)];
  return head === whole_head && codes.every((code) => whole_codes.includes(code));
}

function hashesIn(digest: Buffer): string[] {
  return Array.from({ length: digest.length / HASH_BYTES }, (_, at) =>
    digest.toString("hex", at * HASH_BYTES, (at + 1) * HASH_BYTES),
  );
}

/** To which address the sandbox's chain sent tokens under a key. */
export function digestRecipient(index_key: Buffer, key: string, address: string): Buffer {
  return keyedHash(index_key, "sandbox recipient", key, address);
}

import type { Database } from "../platform/db/database.ts";
import { keyedHash } from "../platform/encryption/cipher.ts";
import { payeeFields } from "./bank/known-payment.ts";

/** What the sandbox's bank and chain need to keep their own books. */
export type SandboxDeps = { database: Database; index_key: Buffer };

/**
 * Whom the sandbox's bank paid: every detail of the beneficiary. A keyed digest, because the bank's
 * books are not encrypted; it includes the payment's id, so that equal payees cannot be recognised.
 */
export function digestBeneficiary(
  index_key: Buffer,
  end_to_end_id: string,
  beneficiary: Readonly<Record<string, unknown>>,
): Buffer {
  const details = payeeFields(beneficiary);
  return keyedHash(index_key, "sandbox beneficiary", end_to_end_id, ...details);
}

/** To which address the sandbox's chain sent tokens under a key. */
export function digestRecipient(index_key: Buffer, key: string, address: string): Buffer {
  return keyedHash(index_key, "sandbox recipient", key, address);
}

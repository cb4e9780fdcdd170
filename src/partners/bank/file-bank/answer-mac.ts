import { timingSafeEqual } from "node:crypto";
import { keyedHash } from "../../../platform/encryption/cipher.ts";
import type { BankAnswer } from "../port.ts";

/** The first byte: which key and which columns. */
const MAC_VERSION = Buffer.from([1]);

/** An answer as it is stored: of reasons, the codes. */
export type AnswerFacts = Omit<BankAnswer, "reasons"> & { reason_codes: readonly string[] };

/**
 * Made by the process that read the bank's file, or was told by the operator, with a key that the
 * database never has in clear: an answer that was written or changed by SQL moves no money.
 */
export function answerMac(index_key: Buffer, answer: AnswerFacts): Buffer {
  const { account_id, bank_reference, end_to_end_id, kind, amount, currency } = answer;
  const { trace_number, uetr, bank_account, paid_from, reason_codes } = answer;
  const facts = [
    ...[account_id, bank_reference, end_to_end_id, kind, String(amount), currency],
    ...[trace_number, uetr, bank_account, paid_from, reason_codes],
  ];
  return Buffer.concat([MAC_VERSION, keyedHash(index_key, "bank answer", JSON.stringify(facts))]);
}

export function hasAnswerMac(
  index_key: Buffer,
  { mac, ...answer }: AnswerFacts & { mac: Buffer | null },
): boolean {
  const expected = answerMac(index_key, answer);
  return mac !== null && mac.length === expected.length && timingSafeEqual(mac, expected);
}

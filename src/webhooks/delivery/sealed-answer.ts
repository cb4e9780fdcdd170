import { open, type Place, seal } from "../../platform/encryption/cipher.ts";
import { ANSWER_BYTES_MAX } from "../model.ts";

type AttemptKey = { account_id: string; delivery_id: string; number: number };

/** The beginning of an endpoint's response, sealed because it may repeat the event's data. */
export function sealReceiverAnswer(
  account_key: Buffer,
  attempt: AttemptKey,
  answer: Buffer | null,
): Buffer | null {
  if (!answer || answer.length === 0) return null;
  return seal(account_key, 1, placeOf(attempt), answer.subarray(0, ANSWER_BYTES_MAX));
}

export function openAnswer(account_key: Buffer, attempt: AttemptKey, sealed: Buffer): Buffer {
  return open(account_key, placeOf(attempt), sealed);
}

function placeOf({ account_id, delivery_id, number }: AttemptKey): Place {
  const record_id = `${delivery_id}/${number}`;
  return { account_id, table: "webhook_attempts", column: "answer", record_id };
}

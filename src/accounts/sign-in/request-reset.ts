import {
  type AttemptDeps,
  type Attempts,
  createAttempts,
} from "../../platform/attempts/attempts.ts";
import { HOUR_MS, MINUTE_MS } from "../../platform/durations.ts";
import { Refusal } from "../../platform/errors.ts";
import { queueMail } from "../mail/queue-mail.ts";
import { hashEmail, isEmail } from "../person-email.ts";
import { findOperator } from "../store.ts";
import { tooManyAttempts } from "./attempt-limits.ts";

type ResetLimits = { by_address: Attempts; by_email: Attempts };
type ResetDeps = AttemptDeps & { limits: ResetLimits };

const BY_ADDRESS_MAX = 10;
/** Each one may send a mail to somebody who did not ask for it. */
const BY_EMAIL_MAX = 5;

export function createResetLimits(deps: AttemptDeps): ResetLimits {
  return {
    by_address: createAttempts(deps, {
      purpose: "reset by address",
      limit: BY_ADDRESS_MAX,
      window_ms: MINUTE_MS,
    }),
    by_email: createAttempts(deps, {
      purpose: "reset by e-mail",
      limit: BY_EMAIL_MAX,
      window_ms: HOUR_MS,
    }),
  };
}

/**
 * Sends a link by which the person sets a new password. Whether the e-mail belongs to anybody is
 * looked up by the task that sends the mail: here, a known and an unknown one are the same work.
 * Over the limit nothing is sent, and the links sent before still work.
 */
export async function requestReset(
  deps: ResetDeps,
  input: { email: string; address: string },
): Promise<void> {
  const { database, index_key, clock, limits } = deps;
  const { email } = input;
  const from_address = await limits.by_address.take(input.address);
  if (!from_address.allowed) throw tooManyAttempts(from_address);
  if (!isEmail(email)) {
    const message = "Enter an e-mail address such as name@example.com.";
    throw Refusal.of([{ field: "email", code: "record_invalid", message }]);
  }
  const taken = await limits.by_email.take(hashEmail(index_key, email).toString("base64"));
  if (!taken.allowed) return;
  await database.transaction(async (tx) => {
    // Which account the person belongs to is not looked up here either.
    const { id: account_id } = (await findOperator(tx))!;
    queueMail(tx, index_key, { account_id, kind: "reset", email }, clock.now());
  });
}

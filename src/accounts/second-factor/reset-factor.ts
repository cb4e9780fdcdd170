import type { Transaction } from "../../platform/db/database.ts";
import { recordAudit } from "../audit.ts";
import { queueMail } from "../mail/queue-mail.ts";
import type { By } from "../model.ts";
import { deleteSessionsOfPerson } from "../sign-in/session-store.ts";
import { updateFactorReset } from "../store.ts";
import { removeFactors } from "./remove-factors.ts";

/**
 * For somebody who lost the phone and the recovery codes: the password alone signs in again, after
 * which a role that needs a second factor has to set one up. They wait before they vote again, like
 * a new member: whoever knows the password and had the factor removed must not vote at once, before
 * the person has read the mail.
 */
export function resetFactor(
  tx: Transaction,
  index_key: Buffer,
  person: { account_id: string; person_id: string; email: string; waits_to_vote: boolean },
  by: By,
  now: Date,
): void {
  const { account_id, person_id, email, waits_to_vote } = person;
  removeFactors(tx, person_id);
  if (waits_to_vote) updateFactorReset(tx, person_id, now);
  deleteSessionsOfPerson(tx, person_id);
  const record = `person:${person_id}`;
  recordAudit(tx, { account_id, ...by, action: "second_factor.reset", record }, now);
  queueMail(tx, index_key, { account_id, kind: "factor_removed", email }, now);
}

import type { Transaction } from "../platform/db/database.ts";
import { notFound, Refusal } from "../platform/errors.ts";
import { recordAudit } from "./audit.ts";
import { findMember } from "./audited/find-member.ts";
import type { MemberKey } from "./change-members.ts";
import { queueMail } from "./mail/queue-mail.ts";
import type { By } from "./model.ts";
import { openEmail } from "./person-email.ts";
import { findPersonById } from "./store.ts";

/**
 * Sends the mail of a member who has not joined yet once more: to choose a password, or to sign in
 * with the one that they have.
 */
export async function inviteAgain(
  tx: Transaction,
  index_key: Buffer,
  { account_id, person_id }: MemberKey,
  by: By,
  now: Date,
): Promise<void> {
  const [member, person] = await Promise.all([
    findMember(tx, account_id, person_id),
    findPersonById(tx, person_id),
  ]);
  if (!member || !person) throw Refusal.of([notFound("person_id")]);
  if (member.joined_at !== null) {
    throw new Refusal("invalid_transition", "This member has joined the account already.");
  }
  const email = openEmail(index_key, person_id, person.email);
  const kind = person.password_hash ? "membership" : "invitation";
  queueMail(tx, index_key, { account_id, kind, email }, now);
  const record = `person:${person_id}`;
  recordAudit(tx, { account_id, ...by, action: "member.invite_again", record }, now);
}

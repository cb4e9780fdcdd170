import { randomUUID } from "node:crypto";
import type { Session, Transaction } from "../platform/db/database.ts";
import { Refusal } from "../platform/errors.ts";
import { recordAudit } from "./audit.ts";
import { findMember } from "./audited/find-member.ts";
import { existsMemberAt } from "./joined-store.ts";
import { queueMail } from "./mail/queue-mail.ts";
import type { Actor, Role } from "./model.ts";
import { hashEmail, isEmail, sealEmail } from "./person-email.ts";
import {
  findPerson,
  insertMember,
  insertPerson,
  lockPerson,
  type MemberRow,
  type PersonRow,
} from "./store.ts";

export type NewMember = {
  account_id: string;
  email: string;
  /**
   * For the first person of an installation. Everybody else chooses a password by the link of an
   * invitation; an existing person keeps theirs.
   */
  password_hash?: string;
  role: Role;
  /** How long the new member waits before the first vote; none in sandbox. */
  vote_wait_ms?: number;
  actor: Actor;
  reason: string;
};

/**
 * Gives a person a role in an account, and sends them a mail; creates the person if the e-mail is
 * unknown.
 */
export async function createMember(
  tx: Transaction,
  index_key: Buffer,
  input: NewMember,
  now: Date,
): Promise<MemberRow> {
  const { account_id, role, vote_wait_ms = 0, actor, reason } = input;
  const email_index = hashEmail(index_key, input.email);
  await lockPerson(tx, email_index);
  const known = await checkNewMember(tx, index_key, input);
  // Without a time: who invites a person sees it, and must not see since when they are known here.
  const person_id = known?.id ?? randomUUID();
  if (!known) {
    insertPerson(tx, {
      id: person_id,
      email_index,
      email: sealEmail(index_key, person_id, input.email),
      password_hash: input.password_hash ?? null,
      created_at: now,
      factor_reset_at: null,
    });
  }
  const votes_from = vote_wait_ms > 0 ? new Date(now.getTime() + vote_wait_ms) : null;
  const member = { account_id, person_id, role, votes_from, created_at: now, joined_at: null };
  insertMember(tx, member);
  if (input.password_hash === undefined) {
    const kind = known?.password_hash ? "membership" : "invitation";
    queueMail(tx, index_key, { account_id, kind, email: input.email }, now);
  }
  const record = `person:${person_id}`;
  recordAudit(
    tx,
    { account_id, actor, action: "member.create", record, reason, detail: { role } },
    now,
  );
  return member;
}

/** The person, if known; refuses an address that is none, and a member of the account. */
export async function checkNewMember(
  session: Session,
  index_key: Buffer,
  { account_id, email }: Pick<NewMember, "account_id" | "email">,
): Promise<PersonRow | undefined> {
  if (!isEmail(email)) throw notEmail();
  const known = await findPerson(session, hashEmail(index_key, email));
  if (known && (await findMember(session, account_id, known.id))) throw alreadyMember();
  if (await existsMemberAt(session, account_id, MEMBERS_MAX)) throw tooManyMembers();
  return known;
}

/** Each change of members locks and checks all of them. */
const MEMBERS_MAX = 1_000;

function tooManyMembers(): Refusal {
  const message = `The account has ${MEMBERS_MAX} members; remove one before you add another.`;
  return Refusal.of([{ field: "email", code: "limit_exceeded", message }]);
}

function alreadyMember(): Refusal {
  const message = "This person is already a member of the account; change their role instead.";
  return Refusal.of([{ field: "email", code: "record_not_unique", message }]);
}

function notEmail(): Refusal {
  const message =
    "Send a valid e-mail address such as name@example.com, an international domain in its ASCII " +
    "form (xn--…).";
  return Refusal.of([{ field: "email", code: "record_invalid", message }]);
}

import type { Session, Transaction } from "../platform/db/database.ts";
import { notFound, Refusal } from "../platform/errors.ts";
import { recordAudit } from "./audit.ts";
import type { AuditAction } from "./audit-actions.ts";
import type { Actor, Role } from "./model.ts";
import { may } from "./roles.ts";
import { removeCredentials } from "./sign-in/remove-credentials.ts";
import {
  deleteMember,
  listMemberships,
  lockMembers,
  lockPersonById,
  type MemberRow,
  updateMemberRole,
} from "./store.ts";

export type MemberKey = { account_id: string; person_id: string };
type By = { actor: Actor; reason: string };

/**
 * The new role applies at once, also to sessions and applications acting for the person. Who could
 * not vote before waits like a new member: else the wait is avoided by inviting in two steps.
 */
export async function setMemberRole(
  tx: Transaction,
  { vote_wait_ms = 0, ...member }: MemberKey & { vote_wait_ms?: number },
  role: Role,
  by: By,
  now: Date,
): Promise<void> {
  const known = await checkMember(tx, member, role);
  const is_promoted = may(role, "vote") && !may(known.role, "vote");
  const waits = is_promoted && vote_wait_ms > 0;
  const votes_from = waits ? new Date(now.getTime() + vote_wait_ms) : known.votes_from;
  updateMemberRole(tx, { ...known, role, votes_from });
  record(tx, member, { ...by, action: "member.set_role", detail: { role } }, now);
}

/**
 * Ends a membership. The member's sessions in the account, the consents they gave for it and the
 * tokens of applications are deleted with the row. A person who is no longer a member of any
 * account loses password and links too: whoever knows the password cannot use it after an
 * invitation.
 */
export async function removeMember(
  tx: Transaction,
  member: MemberKey,
  by: By,
  now: Date,
): Promise<void> {
  await checkMember(tx, member, null);
  deleteMember(tx, member);
  await lockPersonById(tx, member.person_id);
  const memberships = await listMemberships(tx, member.person_id, 2);
  if (memberships.every(({ account_id }) => account_id === member.account_id)) {
    removeCredentials(tx, member.person_id);
  }
  record(tx, member, { ...by, action: "member.remove", detail: {} }, now);
}

/** Locks all members: when two admins leave at the same time, one must stay. */
export async function checkMember(
  tx: Session,
  member: MemberKey,
  role: Role | null,
): Promise<MemberRow> {
  const members = await lockMembers(tx, member.account_id);
  const known = members.find(({ person_id }) => person_id === member.person_id);
  if (!known) throw Refusal.of([notFound("person_id")]);
  const admins = members.filter((one) => one.role === "admin");
  if (known.role !== "admin" || role === "admin" || admins.length > 1) return known;
  const message = "This is the account's last admin; give another member the admin role first.";
  throw Refusal.of([{ field: "role", code: "invalid_transition", message }]);
}

function record(
  tx: Transaction,
  { account_id, person_id }: MemberKey,
  entry: By & { action: AuditAction; detail: Record<string, string> },
  now: Date,
): void {
  recordAudit(tx, { account_id, record: `person:${person_id}`, ...entry }, now);
}

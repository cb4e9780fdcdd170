import { checkMember, removeMember, setMemberRole } from "../accounts/change-members.ts";
import { checkNewMember, createMember } from "../accounts/create-member.ts";
import type { Role } from "../accounts/model.ts";
import { ROLE_NAMES } from "../accounts/roles.ts";
import { resetFactor } from "../accounts/second-factor/reset-factor.ts";
import { findMember, listMemberships, type MemberRow } from "../accounts/store.ts";
import type { Mode } from "../platform/config/config.ts";
import type { Session } from "../platform/db/database.ts";
import { notFound, Refusal } from "../platform/errors.ts";
import type { ControlledChange } from "./controlled-change.ts";
import { type Description, MEMBER_CHANGES, NEW_MEMBER_WAIT_MS } from "./model.ts";
import { findOnlyOther } from "./votes/unopposed.ts";

export type MemberChange = { email: string } & (
  | { action: "add"; role: Role }
  | { action: "set_role"; person_id: string; role: Role }
  | { action: "remove"; person_id: string }
  | {
      action: "reset_factor";
      person_id: string;
      /** By the operator, also for somebody who is a member of other accounts. */
      is_operators: boolean;
    }
);

/** Who is a member of an account, and with which role. */
export function memberChange(deps: {
  index_key: Buffer;
  mode: Mode;
}): ControlledChange<MemberChange> {
  const { index_key, mode } = deps;
  return {
    kind: MEMBER_CHANGES,
    summaryOf: (change) => {
      if (change.action === "remove") return "Remove a member.";
      if (change.action === "reset_factor") return "Remove the second factor of a member.";
      const name = ROLE_NAMES[change.role];
      return change.action === "add"
        ? `Add a member with the role ${name}.`
        : `Give a member the role ${name}.`;
    },
    describe: async (session, account_id, change) => {
      const { action, email } = change;
      if (action === "add") {
        const known = await checkNewMember(session, index_key, { account_id, email });
        return describeChange(email, null, change.role, known?.id ?? null);
      }
      const { person_id } = change;
      if (action === "reset_factor") {
        const { role } = await checkResetFactor(session, account_id, change);
        const described = describeChange(email, role, role, person_id);
        return { ...described, details: [...described.details, ["Second factor", "Removed"]] };
      }
      const role = action === "set_role" ? change.role : null;
      const member = await checkMember(session, { account_id, person_id }, role);
      const only_other = await findOnlyOther(session, account_id, person_id);
      return {
        ...describeChange(email, member.role, role, person_id),
        context: only_other === null ? [] : [["If nobody rejects it", UNOPPOSED] as const],
      };
    },
    apply: async (tx, account_id, change, by, now) => {
      const vote_wait_ms = mode === "live" ? NEW_MEMBER_WAIT_MS : 0;
      if (change.action === "add") {
        return createMember(tx, index_key, { ...change, account_id, vote_wait_ms, ...by }, now);
      }
      const member = { account_id, person_id: change.person_id };
      if (change.action === "reset_factor") {
        await checkResetFactor(tx, account_id, change);
        const person = { ...member, email: change.email, vote_wait_ms };
        return resetFactor(tx, index_key, person, by, now);
      }
      return change.action === "set_role"
        ? setMemberRole(tx, { ...member, vote_wait_ms }, change.role, by, now)
        : removeMember(tx, member, by, now);
    },
  };
}

/** One account does not decide how people sign in to others. */
async function checkResetFactor(
  session: Session,
  account_id: string,
  { person_id, is_operators }: Extract<MemberChange, { action: "reset_factor" }>,
): Promise<MemberRow> {
  const member = await findMember(session, account_id, person_id);
  if (!member) throw Refusal.of([notFound("person_id")]);
  const memberships = await listMemberships(session, person_id, 2);
  if (is_operators || memberships.length === 1) return member;
  const message = "This person is a member of other accounts too: ask the operator to reset it.";
  throw Refusal.of([{ field: "person_id", code: "record_invalid", message }]);
}

const UNOPPOSED =
  "It takes effect after 72 hours with the confirmation of the only other member who can vote.";

function describeChange(
  email: string,
  from: Role | null,
  to: Role | null,
  id: string | null,
): Description {
  return {
    details: [
      ["Member", email],
      ["Old role", from ? ROLE_NAMES[from] : "Not a member"],
      ["New role", to ? ROLE_NAMES[to] : "Not a member"],
    ] as const,
    state: [id],
  };
}

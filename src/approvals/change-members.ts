import { listKeysCreatedBy } from "../accounts/api-key-store.ts";
import { findMember } from "../accounts/audited/find-member.ts";
import { checkMember, removeMember, setMemberRole } from "../accounts/change-members.ts";
import { checkNewMember, createMember } from "../accounts/create-member.ts";
import { existsJoinedElsewhere } from "../accounts/joined-store.ts";
import type { Role } from "../accounts/model.ts";
import { may, ROLE_NAMES } from "../accounts/roles.ts";
import { resetFactor } from "../accounts/second-factor/reset-factor.ts";
import type { MemberRow } from "../accounts/store.ts";
import type { Clock } from "../platform/clock.ts";
import type { Mode } from "../platform/config/config.ts";
import type { Session } from "../platform/db/database.ts";
import { notFound, Refusal } from "../platform/errors.ts";
import { realTime } from "../platform/tasks/real-time.ts";
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
  clock: Clock;
  mode: Mode;
}): ControlledChange<MemberChange> {
  const { index_key, clock, mode } = deps;
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
      const loses_keys = role === null || !may(role, "manage_keys");
      return {
        ...describeChange(email, member.role, role, person_id),
        context: [
          ...(only_other === null ? [] : [["If nobody rejects it", UNOPPOSED] as const]),
          ...(loses_keys ? await describeKeys(session, member, realTime(clock)) : []),
        ],
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
        const person = { ...member, email: change.email, waits_to_vote: vote_wait_ms > 0 };
        resetFactor(tx, index_key, person, by, now);
        return;
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
  if (is_operators) return member;
  if (member.joined_at === null) {
    const message = "This person has not joined the account: there is no second factor to remove.";
    throw Refusal.of([{ field: "person_id", code: "record_invalid", message }]);
  }
  if (!(await existsJoinedElsewhere(session, member))) return member;
  const message = "This person is a member of other accounts too: ask the operator to reset it.";
  throw Refusal.of([{ field: "person_id", code: "record_invalid", message }]);
}

/** API keys are the account's: they go on working, and whoever created one may know it. */
async function describeKeys(
  session: Session,
  member: MemberRow,
  now: Date,
): Promise<[string, string][]> {
  const keys = await listKeysCreatedBy(session, member, now);
  if (keys.length === 0) return [];
  const named = keys.slice(0, KEYS_NAMED_MAX).map((key) => `${key.name} (…${key.last_four})`);
  const rest = keys.length > named.length ? ` and ${keys.length - named.length} more` : "";
  const keep = "They stay valid: rotate or revoke them.";
  return [["API keys that they created", `${named.join(", ")}${rest}. ${keep}`]];
}

const KEYS_NAMED_MAX = 10;
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

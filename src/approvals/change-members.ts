import { checkMember, removeMember, setMemberRole } from "../accounts/change-members.ts";
import { checkNewMember, createMember } from "../accounts/create-member.ts";
import type { Role } from "../accounts/model.ts";
import { ROLE_NAMES } from "../accounts/roles.ts";
import type { Mode } from "../platform/config/config.ts";
import type { ControlledChange } from "./controlled-change.ts";
import { NEW_MEMBER_WAIT_MS } from "./model.ts";

export type MemberChange = { email: string } & (
  | { action: "add"; role: Role }
  | { action: "set_role"; person_id: string; role: Role }
  | { action: "remove"; person_id: string }
);

/** Who is a member of an account, and with which role. */
export function memberChange(deps: {
  index_key: Buffer;
  mode: Mode;
}): ControlledChange<MemberChange> {
  const { index_key, mode } = deps;
  return {
    kind: "change-members",
    summaryOf: (change) => {
      if (change.action === "remove") return "Remove a member.";
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
      const role = action === "set_role" ? change.role : null;
      const member = await checkMember(session, { account_id, person_id }, role);
      return describeChange(email, member.role, role, person_id);
    },
    apply: (tx, account_id, change, by, now) => {
      if (change.action === "add") {
        const vote_wait_ms = mode === "live" ? NEW_MEMBER_WAIT_MS : 0;
        return createMember(tx, index_key, { ...change, account_id, vote_wait_ms, ...by }, now);
      }
      const member = { account_id, person_id: change.person_id };
      return change.action === "set_role"
        ? setMemberRole(tx, member, change.role, by, now)
        : removeMember(tx, member, by, now);
    },
  };
}

function describeChange(email: string, from: Role | null, to: Role | null, id: string | null) {
  return {
    details: [
      ["Member", email],
      ["Old role", from ? ROLE_NAMES[from] : "Not a member"],
      ["New role", to ? ROLE_NAMES[to] : "Not a member"],
    ] as const,
    state: [id],
  };
}

import Type from "typebox";
import { inviteAgain } from "../../accounts/invite-again.ts";
import { assertActiveMember } from "../../accounts/member-callers/authenticate-member.ts";
import type { SessionState } from "../../accounts/member-callers/store.ts";
import { ROLES } from "../../accounts/model.ts";
import { openEmail } from "../../accounts/person-email.ts";
import { PERMISSIONS, ROLE_NAMES } from "../../accounts/roles.ts";
import { listMembersWithFactors } from "../../accounts/second-factor/list-members-with-factors.ts";
import { findPersonById, lockMembers } from "../../accounts/store.ts";
import { type MemberChange, memberChange } from "../../approvals/change-members.ts";
import { changeOrPropose, findVoters } from "../../approvals/controlled-change.ts";
import { isVisible } from "../../catalogue/text.ts";
import { notFound, Refusal } from "../../platform/errors.ts";
import type { AddRoute, Caller } from "../../platform/http/route.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { Problems } from "../../platform/problems.ts";
import { closedObject, optional } from "../../platform/schema-parts.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import { listLastSeen } from "./store.ts";

const MEMBERS_PATH = "/dashboard/api/members";
const REASON_MAX = 200;
const EMAIL_MAX = 254;
const COMMON = { tag: "Dashboard", members_only: true, answer: Type.Unknown() } as const;
const ACTIONS = ["set_role", "remove", "reset_factor"] as const;
const OWN_FACTOR =
  "You cannot reset your own second factor. Remove it on the security page, or ask another admin.";

/** Who is a member of the account, and with which role. */
export function addMemberRoutes(addRoute: AddRoute, deps: ModuleCore): void {
  addList(addRoute, deps);
  addInvite(addRoute, deps);
  addChange(addRoute, deps);
  addSendInvitation(addRoute, deps);
}

function addList(addRoute: AddRoute, { database, index_key }: ModuleCore): void {
  addRoute({
    ...COMMON,
    method: "GET",
    path: MEMBERS_PATH,
    operation: "listTeam",
    summary: "List members",
    description: "Oldest first, with what each role may do.",
    errors: [],
    handle: async ({ caller: { account_id, actor } }) => {
      const [rows, seen, voters] = await Promise.all([
        listMembersWithFactors(database, account_id),
        listLastSeen(database, account_id),
        findVoters(database, account_id, false),
      ]);
      const members = rows.map((row) => ({
        person_id: row.person_id,
        email: openEmail(index_key, row.person_id, row.email),
        role: row.role,
        is_you: actor === `member:${row.person_id}`,
        is_invited: row.joined_at === null,
        has_factor: row.has_factor,
        seen_at: seen.get(row.person_id) ?? null,
        created_at: row.created_at,
      }));
      return JSON.stringify({ members, roles: ROLES.map(describeRole), voters });
    },
  });
}

function describeRole(role: (typeof ROLES)[number]) {
  const permissions: { roles: readonly string[]; meaning: string }[] = Object.values(PERMISSIONS);
  const permitted = permissions.filter(({ roles }) => roles.includes(role));
  return {
    role,
    name: ROLE_NAMES[role],
    may: permitted.map(({ meaning }) => meaning.replaceAll("`", "")),
  };
}

function addInvite(addRoute: AddRoute, deps: ModuleCore): void {
  addRoute({
    ...COMMON,
    method: "POST",
    path: MEMBERS_PATH,
    operation: "inviteMember",
    stores_nothing: true,
    summary: "Invite a member",
    description: "A proposal once two members can vote.",
    body: closedObject({
      email: Type.String({ maxLength: EMAIL_MAX }),
      role: Type.Enum([...ROLES]),
      reason: Type.String(),
    }),
    body_example: { email: "ana@example.com", role: "approver", reason: "A colleague" },
    errors: ["limit_exceeded", "invalid_transition"],
    handle: async ({ caller, body, problems }) => {
      const reason = readReason(body.reason, problems);
      const input = { action: "add", email: body.email!.trim(), role: body.role! } as const;
      return change(deps, caller, input, reason);
    },
  });
}

function addChange(addRoute: AddRoute, deps: ModuleCore): void {
  addRoute({
    ...COMMON,
    method: "POST",
    path: `${MEMBERS_PATH}/:person_id/change`,
    operation: "changeMember",
    stores_nothing: true,
    summary: "Change a member",
    description: "A proposal once two members can vote.",
    body: closedObject({
      action: Type.Enum([...ACTIONS]),
      role: optional(Type.Enum([...ROLES])),
      reason: Type.String(),
    }),
    body_example: { action: "remove", reason: "Left" },
    errors: ["invalid_transition"],
    handle: async ({ caller, params, body, problems }) => {
      const reason = readReason(body.reason, problems);
      const { person_id } = params;
      const person = await findPersonById(deps.database, person_id);
      if (!person) throw Refusal.of([notFound("person_id")]);
      // What voters see is never taken from the page.
      const email = openEmail(deps.index_key, person_id, person.email);
      return change(deps, caller, readChange(caller, body, { email, person_id }), reason);
    },
  });
}

function readChange(
  caller: Caller,
  { action, role }: { action?: (typeof ACTIONS)[number]; role?: (typeof ROLES)[number] | null },
  person: { email: string; person_id: string },
): MemberChange {
  if (action === "remove") return { action, ...person };
  if (action === "reset_factor") {
    // Where one admin decides alone, the password would be enough to remove it.
    if (caller.actor === `member:${person.person_id}`) throw invalid("person_id", OWN_FACTOR);
    return { action, ...person, is_operators: false };
  }
  if (!role) throw invalid("role", "Choose a role.");
  return { action: "set_role", ...person, role };
}

async function change(
  deps: ModuleCore,
  caller: Caller,
  input: MemberChange,
  reason: string,
): Promise<string> {
  const { database, clock, wake } = deps;
  const proposal = await database.transaction(async (tx) => {
    // Before the own row is locked: two admins at once would wait for each other.
    await lockMembers(tx, caller.account_id);
    const { account_id, person_id } = await assertActiveMember(tx, caller, realTime(clock));
    const by = { actor: `member:${person_id}`, reason } as const;
    const asked = { account_id, input, is_operators: false, by };
    return changeOrPropose(tx, deps, memberChange(deps), asked, clock.now());
  });
  wake();
  return JSON.stringify(proposal ? { proposal: { id: proposal.id } } : { done: true });
}

function addSendInvitation(addRoute: AddRoute, deps: ModuleCore): void {
  const { database, index_key, clock, wake } = deps;
  addRoute({
    ...COMMON,
    method: "POST",
    path: `${MEMBERS_PATH}/:person_id/invite_again`,
    operation: "sendInvitation",
    stores_nothing: true,
    summary: "Send an invitation again",
    description: "To a member who has not joined the account yet.",
    errors: ["invalid_transition"],
    handle: async ({ caller, params, problems }) => {
      if (problems.length > 0) throw Refusal.of(problems);
      await database.transaction(async (tx) => {
        const admin: SessionState = await assertActiveMember(tx, caller, realTime(clock));
        const by = { actor: `member:${admin.person_id}`, reason: "" } as const;
        const member = { account_id: admin.account_id, person_id: params.person_id };
        await inviteAgain(tx, index_key, member, by, clock.now());
      });
      wake();
      return JSON.stringify({ done: true });
    },
  });
}

export function readReason(
  text: string | undefined,
  problems: ConstructorParameters<typeof Problems>[0],
): string {
  const found = new Problems(problems);
  const reason = (text ?? "")
    .toWellFormed()
    .replace(/\p{Cc}+/gu, " ")
    .trim();
  if (!isVisible(reason) || reason.length > REASON_MAX) {
    found.invalid("reason", `Give a reason of at most ${REASON_MAX} characters.`);
  }
  found.throwIfAny();
  return reason;
}

function invalid(field: string, message: string): Refusal {
  return Refusal.of([{ field, code: "record_invalid", message }]);
}

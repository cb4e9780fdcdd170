import Type from "typebox";
import { findControls } from "../../accounts/controls-store.ts";
import {
  assertActiveMember,
  sessionOf,
} from "../../accounts/member-callers/authenticate-member.ts";
import { may } from "../../accounts/roles.ts";
import { loadSecurity } from "../../accounts/security/load-security.ts";
import { lockMembers } from "../../accounts/store.ts";
import { accountChange } from "../../approvals/change-accounts.ts";
import { changeOrPropose, findVoters } from "../../approvals/controlled-change.ts";
import { loadConsents } from "../../apps/oauth/load-consents.ts";
import { revokeConsent } from "../../apps/oauth/revoke-consent.ts";
import { Refusal } from "../../platform/errors.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { minorToText } from "../../platform/money.ts";
import { closedObject, optional } from "../../platform/schema-parts.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import { readReason } from "./member-routes.ts";

const COMMON = { tag: "Dashboard", members_only: true, answer: Type.Unknown() } as const;
const USD_MAX = 1_000_000_000;
const ASK_OPERATOR =
  "This needs a second member who can vote, and the account has none. Ask the operator: " +
  "sliproad accounts set --approval-above.";

/** How a member signs in, what they let applications do, and what needs two members. */
export function addSecurityRoutes(addRoute: AddRoute, deps: ModuleCore): void {
  addShow(addRoute, deps);
  addRevoke(addRoute, deps);
  addApprovalAmount(addRoute, deps);
}

function addShow(addRoute: AddRoute, deps: ModuleCore): void {
  const { database, clock, config } = deps;
  addRoute({
    ...COMMON,
    method: "GET",
    path: "/dashboard/api/security",
    operation: "showSecurity",
    summary: "Show the member's security",
    description: "Second factor, sessions, connected applications, and the approval amount.",
    errors: [],
    handle: async ({ caller: { credential_id } }) => {
      const session = sessionOf(credential_id);
      const { account_id, person_id } = session;
      const [security, consents, controls] = await Promise.all([
        loadSecurity(deps, session, realTime(clock)),
        loadConsents(deps, session),
        findControls(database, account_id),
      ]);
      const { passkeys, ...shown } = security;
      const own = controls.approval_above_usd;
      const above = own ?? config.approval_above_usd ?? null;
      return JSON.stringify({
        ...shown,
        passkeys: passkeys.length,
        consents: consents.map((one) => ({ ...one, is_yours: one.person_id === person_id })),
        approval: {
          above_usd: above === null ? null : minorToText(above, 2),
          is_own: own !== null,
          may_propose: may(session.role, "manage_members"),
        },
      });
    },
  });
}

function addRevoke(addRoute: AddRoute, deps: ModuleCore): void {
  const { database, clock } = deps;
  const id = Type.String({ maxLength: 100 });
  addRoute({
    ...COMMON,
    method: "POST",
    path: "/dashboard/api/consents/revoke",
    operation: "revokeAppConsent",
    stores_nothing: true,
    summary: "Revoke a consent",
    description: "One's own; an admin also those of other members.",
    body: closedObject({ app_id: id, account_id: id, person_id: id }),
    body_example: { app_id: "", account_id: "", person_id: "" },
    errors: ["record_not_found"],
    handle: async ({ caller, body, problems }) => {
      if (problems.length > 0) throw Refusal.of(problems);
      const { app_id, account_id, person_id } = body;
      const consent = { app_id: app_id!, account_id: account_id!, person_id: person_id! };
      const member = await assertActiveMember(database, caller, realTime(clock));
      await revokeConsent(deps, member, consent);
      return JSON.stringify({ done: true });
    },
  });
}

/** One member alone must not decide what one member alone may do. */
function addApprovalAmount(addRoute: AddRoute, deps: ModuleCore): void {
  const { database, clock, wake } = deps;
  addRoute({
    ...COMMON,
    method: "POST",
    path: "/dashboard/api/approval_amount",
    operation: "proposeApprovalAmount",
    stores_nothing: true,
    summary: "Propose another approval amount",
    description: "Null: the installation's setting decides.",
    body: closedObject({
      above_usd: optional(Type.Integer({ minimum: 0, maximum: USD_MAX })),
      reason: Type.String(),
    }),
    body_example: { above_usd: 5000, reason: "Larger invoices" },
    errors: ["invalid_transition"],
    handle: async ({ caller, body, problems }) => {
      const reason = readReason(body.reason, problems);
      const cents = body.above_usd == null ? null : BigInt(body.above_usd) * 100n;
      const proposal = await database.transaction(async (tx) => {
        // Before the own row is locked: two admins at once would wait for each other.
        await lockMembers(tx, caller.account_id);
        const { account_id, person_id } = await assertActiveMember(tx, caller, realTime(clock));
        const voters = await findVoters(tx, account_id, false);
        if (voters === null) throw new Refusal("invalid_transition", ASK_OPERATOR);
        const by = { actor: `member:${person_id}`, reason } as const;
        const input = { approval_above_usd: cents };
        const asked = { account_id, input, is_operators: false, by };
        return changeOrPropose(tx, deps, accountChange, asked, clock.now());
      });
      wake();
      return JSON.stringify({ proposal: { id: proposal!.id } });
    },
  });
}

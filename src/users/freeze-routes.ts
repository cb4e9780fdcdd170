import Type from "typebox";
import { reasonProblems } from "../catalogue/text.ts";
import type { Executor } from "../platform/commands/executor.ts";
import type { Database } from "../platform/db/database.ts";
import { Refusal } from "../platform/errors.ts";
import type { AddRoute } from "../platform/http/route.ts";
import { closedObject, nullable, TIME, UUID } from "../platform/schema-parts.ts";
import { findAccountOfUser } from "./any-account-store.ts";
import { freezeUsers } from "./freeze-users.ts";

const FreezeBody = closedObject({
  reason: Type.String({
    description: "For the operator's audit log, which the account does not see; no personal data.",
  }),
});
const FreezeAnswer = Type.Object({
  user: Type.Object({
    id: UUID,
    frozen_at: nullable(TIME),
  }),
});

const ACTIONS = [
  {
    action: "freeze",
    operation: "freezeUser",
    summary: "Freeze a user",
    description:
      "Operator keys only, for users of all accounts. Nothing leaves any more: execute, fund, " +
      "refunds, re-routes and new onramps are refused with `on_hold`, and what is under way " +
      "waits. Deposits are still credited.",
  },
  {
    action: "unfreeze",
    operation: "unfreezeUser",
    summary: "Unfreeze a user",
    description: "Operator keys only. What waited goes on within an hour.",
  },
] as const;

type FreezeDeps = { database: Database; executor: Executor; operator_id: string };

export function addFreezeRoutes(
  addRoute: AddRoute,
  { database, executor, operator_id }: FreezeDeps,
): void {
  for (const { action, ...words } of ACTIONS) {
    const submit = executor.register(freezeUsers(action));
    addRoute({
      method: "POST",
      path: `/users/:user_id/${action}`,
      ...words,
      tag: "Users",
      body: FreezeBody,
      body_example: { reason: "Reported as stolen" },
      answer: FreezeAnswer,
      errors: ["value_too_long"],
      handle: async ({ caller, params, body, problems, command }) => {
        if (caller.account_id !== operator_id) throw new Refusal("insufficient_scope");
        const { reason = "" } = body;
        const found = [...problems, ...reasonProblems(reason, problems)];
        const { user_id } = params;
        const account_id = (await findAccountOfUser(database, user_id)) ?? operator_id;
        const freeze = command({ user_id, reason, problems: found });
        return submit({ ...freeze, account_id, actor_account_id: operator_id });
      },
    });
  }
}

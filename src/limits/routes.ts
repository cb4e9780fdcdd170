import Type from "typebox";
import type { Database } from "../platform/db/database.ts";
import { assertFound } from "../platform/errors.ts";
import { compileRender } from "../platform/http/render.ts";
import type { AddRoute } from "../platform/http/route.ts";
import { isId } from "../platform/ids.ts";
import { closedObject, nullable, titledObject } from "../platform/schema-parts.ts";
import { findUser } from "../users/store.ts";
import { listLimits } from "./list-limits.ts";
import type { LimitDeps } from "./load-limits.ts";
import { LIMIT_SCOPES, LIMIT_WINDOWS } from "./model.ts";

const usd = (description: string) => nullable(Type.Number(), description);
const count = (description: string) => nullable(Type.Integer(), description);

const LimitsAnswer = Type.Object({
  limits: Type.Array(
    titledObject("Limit", {
      scope: Type.Enum([...LIMIT_SCOPES]),
      window: Type.Enum([...LIMIT_WINDOWS]),
      amount_max: usd("In usd; null: not limited."),
      count_max: count("Number of payments; null: not limited."),
      used: usd("In usd. Null where it differs per payment or payee."),
      left: usd("In usd. Null where it differs, or where the amount is not limited."),
      used_count: count("Number of payments in the window."),
      left_count: count("Null where the number is not limited."),
    }),
  ),
});
const LimitsQuery = closedObject({
  user_id: Type.Optional(
    Type.String({ description: "Shows what this user has used; without it the account." }),
  ),
});

const write = compileRender(LimitsAnswer);

export function addLimitRoutes(
  addRoute: AddRoute,
  deps: { database: Database; limits: LimitDeps },
): void {
  const { database, limits } = deps;
  addRoute({
    method: "GET",
    path: "/limits",
    operation: "listLimits",
    summary: "List limits",
    description:
      "The limits that the operator has set, in usd, with what is used and left. With `user_id` " +
      "the limits of that user. Empty when no limit is set.",
    tag: "Limits",
    query: LimitsQuery,
    answer: LimitsAnswer,
    errors: ["record_not_found"],
    handle: async ({ caller, query, problems }) => {
      const { account_id } = caller;
      const { user_id } = query;
      const is_known =
        user_id === undefined ||
        (isId(user_id) && (await findUser(database, { account_id, user_id })) !== undefined);
      assertFound(is_known, "user_id", problems);
      return write({ limits: await listLimits(database, limits, account_id, user_id) });
    },
  });
}

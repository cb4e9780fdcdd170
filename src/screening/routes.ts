import { reasonProblems } from "../catalogue/text.ts";
import { Refusal } from "../platform/errors.ts";
import { cutPage, requirePage } from "../platform/http/list.ts";
import type { AddRoute } from "../platform/http/route.ts";
import { isId } from "../platform/ids.ts";
import type { ModuleCore } from "../platform/module.ts";
import { decideMatches } from "./decide-matches.ts";
import type { MatchDecision } from "./model.ts";
import { renderMatches } from "./render.ts";
import { DecisionBody, MatchAnswer, MatchListAnswer, MatchListQuery } from "./schemas.ts";
import { findMatch, listMatches, toMatches } from "./store.ts";

type ScreeningRouteDeps = Pick<ModuleCore, "database" | "keyring" | "executor" | "operator_id">;

const TAG = "Screening";

const ACTIONS = [
  {
    action: "clear",
    operation: "clearScreeningMatch",
    summary: "Clear a screening match",
    description:
      "Operator keys only. The person is somebody else than the entry of the list. It stays " +
      "cleared until the person's data or the entry changes.",
  },
  {
    action: "confirm",
    operation: "confirmScreeningMatch",
    summary: "Confirm a screening match",
    description:
      "Operator keys only. The person is the entry of the list: money stays held, and a payment " +
      "detail fails. A confirmed match can be cleared later; its payment detail stays `failed`.",
  },
] as const satisfies readonly { action: MatchDecision; [word: string]: string }[];

/** The operator's list of people who are like an entry of a list, and the decisions on them. */
export function addScreeningRoutes(addRoute: AddRoute, deps: ScreeningRouteDeps): void {
  const { database, keyring, executor, operator_id } = deps;
  addRoute({
    method: "GET",
    path: "/screening_matches",
    operation: "listScreeningMatches",
    summary: "List screening matches",
    description:
      "Operator keys only, for people of all accounts. `status=open` lists those that wait for a " +
      "decision, `user_id` those of one user: themselves, their payment details, and the owners " +
      "of a company and who acts for it.",
    tag: TAG,
    query: MatchListQuery,
    answer: MatchListAnswer,
    errors: ["insufficient_scope"],
    handle: async ({ caller, query, problems }) => {
      const { user_id } = query;
      const found = [...problems];
      if (user_id !== undefined && !isId(user_id)) {
        const message = "Send the id of a user.";
        found.push({ field: "user_id", code: "record_invalid", message });
      }
      const page = requirePage(query, found);
      if (caller.account_id !== operator_id) throw new Refusal("insufficient_scope");
      const { rows, has_more } = cutPage(await listMatches(database, query, page), page);
      const keys = await keyring.openUserKeys(database, rows);
      return renderMatches(toMatches(rows, keys), has_more);
    },
  });
  for (const { action, ...words } of ACTIONS) {
    const submit = executor.register(decideMatches(keyring, action));
    addRoute({
      method: "POST",
      path: `/screening_matches/:screening_match_id/${action}`,
      ...words,
      tag: TAG,
      body: DecisionBody,
      body_example: { reason: "Another birth date on the passport" },
      answer: MatchAnswer,
      errors: ["value_too_long", "invalid_transition"],
      handle: async ({ caller, params, body, problems, command }) => {
        if (caller.account_id !== operator_id) throw new Refusal("insufficient_scope");
        const { reason = "" } = body;
        const found = [...problems, ...reasonProblems(reason, problems)];
        const match_id = params.screening_match_id;
        const { account_id = operator_id } = (await findMatch(database, match_id)) ?? {};
        const decision = command({ match_id, reason, problems: found });
        return submit({ ...decision, account_id, actor_account_id: operator_id });
      },
    });
  }
}

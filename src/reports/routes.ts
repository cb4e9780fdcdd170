import Type from "typebox";
import { notFound, Refusal } from "../platform/errors.ts";
import type { AddRoute } from "../platform/http/route.ts";
import type { ModuleCore } from "../platform/module.ts";
import { nullable, TIME, titledObject } from "../platform/schema-parts.ts";
import { readHistory } from "./read-history.ts";

const text = (description: string) => nullable(Type.String(), description);

const HistoryAnswer = Type.Object({
  history: Type.Array(
    titledObject("HistoryItem", {
      at: TIME,
      kind: Type.Enum(["event", "posting", "act", "proposal", "vote"]),
      what: Type.String({ description: "The event, posting, action, request or vote." }),
      who: text("`api_key:`, `member:` or `proposal:` and an id; null for Sliproad itself."),
      before: text("The status before."),
      after: text("The status or values after."),
      why: text("The reason that was given, the rule, or the record's status message then."),
      lines: Type.Array(
        Type.Object({
          ledger_account: Type.String(),
          currency: Type.String(),
          amount: Type.String({ description: "Decimal text; debits are above zero." }),
        }),
        { description: "The lines of a posting; they sum to zero in each currency." },
      ),
    }),
    { description: "Newest first, at most the newest 500 of each kind." },
  ),
});

export function addHistoryRoutes(
  addRoute: AddRoute,
  deps: Pick<ModuleCore, "database" | "keyring" | "operator_id">,
): void {
  addRoute({
    method: "GET",
    path: "/records/:record_id/history",
    operation: "showHistory",
    summary: "Show a record's history",
    description:
      "Every change, posting and decision about one offramp, onramp, quote, refund, user, " +
      "payment detail, invoice, deposit or bank exception: what happened, who caused it, and why.",
    tag: "Offramps",
    answer: HistoryAnswer,
    errors: [],
    handle: async ({ caller, params, problems }) => {
      const { account_id } = caller;
      const key = { account_id, record_id: params.record_id };
      const is_operator = account_id === deps.operator_id;
      const history = await readHistory(deps, key, { account_id, is_operator });
      if (history.length === 0) throw Refusal.of([...problems, notFound("record_id")]);
      if (problems.length > 0) throw Refusal.of(problems);
      return JSON.stringify({ history });
    },
  });
}

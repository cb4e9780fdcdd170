import Type from "typebox";
import { orProposal } from "../../approvals/render.ts";
import { reasonProblems } from "../../catalogue/text.ts";
import type { Executor } from "../../platform/commands/executor.ts";
import type { Database } from "../../platform/db/database.ts";
import { type Problem, Refusal } from "../../platform/errors.ts";
import { byStatus, cutPage, listQuery, requirePage } from "../../platform/http/list.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import { isId } from "../../platform/ids.ts";
import { Problems } from "../../platform/problems.ts";
import { closedObject, optionalText } from "../../platform/schema-parts.ts";
import { type ApprovedResolutionDeps, resolveWithApproval } from "./approved-resolutions.ts";
import { answerResolved } from "./decide-in-steps.ts";
import { EXCEPTION_STATUSES, RESOLUTIONS } from "./model.ts";
import { BankExceptionAnswer, BankExceptionsAnswer, renderExceptions } from "./render.ts";
import { listBankExceptions } from "./store.ts";

const BankExceptionListQuery = listQuery(byStatus(EXCEPTION_STATUSES));
const ResolveBody = closedObject({
  resolution: Type.Enum([...RESOLUTIONS]),
  offramp_id: optionalText(
    "With `assign` only: the payout. By default the one that the bank's answer names.",
  ),
  reason: Type.String({ description: "For the audit log; no personal data." }),
});

type ExceptionDeps = ApprovedResolutionDeps & {
  database: Database;
  executor: Executor;
  operator_id: string;
};

/** The operator's list of bank answers that contradict what Sliproad knows, and the decisions. */
export function addExceptionRoutes(addRoute: AddRoute, deps: ExceptionDeps): void {
  const { database, executor, operator_id } = deps;
  const requireOperator = (account_id: string) => {
    if (account_id === operator_id) return;
    throw new Refusal("insufficient_scope", "Only the operator's API keys can use this route.");
  };
  addRoute({
    method: "GET",
    path: "/bank_exceptions",
    operation: "listBankExceptions",
    summary: "List bank exceptions",
    description:
      "Operator keys only. Answers of the bank that could not be applied to a payout, of all " +
      "accounts. `status=open` lists those that wait for a decision.",
    tag: "Deposits",
    query: BankExceptionListQuery,
    answer: BankExceptionsAnswer,
    errors: ["insufficient_scope"],
    handle: async ({ caller, query, problems }) => {
      const page = requirePage(query, problems);
      requireOperator(caller.account_id);
      const found = await listBankExceptions(database, query.status, page);
      const { rows, has_more } = cutPage(found, page);
      return renderExceptions(rows, has_more);
    },
  });

  const submit = executor.register(resolveWithApproval(deps));
  addRoute({
    method: "POST",
    path: "/bank_exceptions/:exception_id/resolve",
    operation: "resolveBankException",
    summary: "Resolve a bank exception",
    description:
      "Operator keys only. Decides what the bank's answer means; the ledger is posted at once. " +
      "Above the approval amount two members must confirm it. `return` is refused while the " +
      "user whose payout it names, or the account, is on hold.",
    tag: "Deposits",
    body: ResolveBody,
    body_example: {
      resolution: "write_off",
      reason: "The bank paid twice and refuses to return it",
    },
    answer: orProposal(BankExceptionAnswer),
    errors: [
      ...(["insufficient_scope", "currency_mismatch", "invalid_transition"] as const),
      ...(["value_too_long", "limit_exceeded", "on_hold"] as const),
    ],
    handle: async ({ caller, params, body, problems, command }) => {
      requireOperator(caller.account_id);
      const { resolution = null, reason = "" } = body;
      const read = readOfframpId(body.offramp_id, [
        ...problems,
        ...reasonProblems(reason, problems),
      ]);
      const { exception_id } = params;
      const request = command({ exception_id, resolution, reason, ...read });
      return answerResolved(deps, await submit(request));
    },
  });
}

function readOfframpId(
  value: string | null | undefined,
  already: readonly Problem[],
): { offramp_id: string | null; problems: readonly Problem[] } {
  if (value === undefined || value === null) return { offramp_id: null, problems: already };
  if (isId(value)) return { offramp_id: value.toLowerCase(), problems: already };
  const problems = new Problems(already);
  problems.invalid("offramp_id", "Send the id of an offramp.");
  return { offramp_id: null, problems: problems.list };
}

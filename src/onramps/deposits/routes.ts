import { orProposal } from "../../approvals/render.ts";
import { readReason } from "../../catalogue/text.ts";
import { assertFound, type Problem, Refusal } from "../../platform/errors.ts";
import { cutPage, requirePage } from "../../platform/http/list.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import { isId } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { Problems } from "../../platform/problems.ts";
import { ReasonInput } from "../../platform/schema-parts.ts";
import { renderDeposit, renderDeposits } from "../render.ts";
import {
  FiatDepositAnswer,
  FiatDepositListAnswer,
  FiatDepositListQuery,
  MatchDepositBody,
} from "../schemas.ts";
import { type ApprovedSettlementDeps, settlementsWithApproval } from "./approved-settlements.ts";
import { findDeposit, listDeposits, openDeposits } from "./store.ts";

type DepositDeps = ApprovedSettlementDeps &
  Pick<ModuleCore, "database" | "operator_id" | "executor">;

const TAG = "Deposits";

/** The operator's list of received deposits, and the decisions on those that wait. */
export function addDepositRoutes(addRoute: AddRoute, deps: DepositDeps): void {
  addReadRoutes(addRoute, deps);
  addActionRoutes(addRoute, deps);
}

function addReadRoutes(addRoute: AddRoute, deps: DepositDeps): void {
  const { database, keyring, operator_id } = deps;
  addRoute({
    method: "GET",
    path: "/deposits",
    operation: "listDeposits",
    summary: "List bank deposits",
    description:
      "Operator keys only. `status=unmatched` lists the deposits that wait for a decision.",
    tag: TAG,
    query: FiatDepositListQuery,
    answer: FiatDepositListAnswer,
    errors: ["insufficient_scope"],
    handle: async ({ caller, query, problems }) => {
      const page = requirePage(query, problems);
      if (caller.account_id !== operator_id) {
        throw new Refusal("insufficient_scope", "Only the operator's API keys can use this route.");
      }
      const rows = await listDeposits(database, caller.account_id, query.status, page);
      const { rows: shown, has_more } = cutPage(rows, page);
      return renderDeposits(await openDeposits(database, keyring, shown), has_more);
    },
  });

  addRoute({
    method: "GET",
    path: "/deposits/:deposit_id",
    operation: "showDeposit",
    summary: "Show a bank deposit",
    description: "Operator keys only. `reason` says why it was not matched.",
    tag: TAG,
    answer: FiatDepositAnswer,
    errors: [],
    handle: async ({ caller, params, problems }) => {
      const row = await findDeposit(database, caller.account_id, params.deposit_id);
      assertFound(row, "deposit_id", problems);
      const [deposit] = await openDeposits(database, keyring, [row]);
      return renderDeposit(deposit!);
    },
  });
}

const ACTIONS = [
  {
    action: "match",
    operation: "matchDeposit",
    summary: "Match a deposit to an onramp",
    description:
      "Operator keys only. The onramp keeps its own rate, even if the deposit is late. The " +
      "amount must be exact.",
  },
  {
    action: "accept_difference",
    operation: "acceptDepositDifference",
    summary: "Accept a deposit of another amount",
    description:
      "Operator keys only. The onramp is delivered in full. The operator pays for a shortfall; a " +
      "surplus becomes a deposit of its own.",
  },
] as const;

function addActionRoutes(addRoute: AddRoute, deps: DepositDeps): void {
  const { executor } = deps;
  for (const { action, ...words } of ACTIONS) {
    const submit = executor.register(settlementsWithApproval(deps, action));
    addRoute({
      method: "POST",
      path: `/deposits/:deposit_id/${action}`,
      ...words,
      tag: TAG,
      body: MatchDepositBody,
      body_example: { deposit: { onramp_id: "01a1dd11-4aee-7000-adc7-78aca4556f62" } },
      answer: orProposal(FiatDepositAnswer),
      errors: [
        ...(["value_too_long", "record_not_found", "currency_mismatch"] as const),
        ...(["invalid_transition", "limit_exceeded", "on_hold"] as const),
      ],
      handle: ({ params, body, problems, command }) => {
        const { reason, problems: found } = readReason(body.reason, problems);
        const named = readOnrampId(body.deposit?.onramp_id, found);
        return submit(command({ deposit_id: params.deposit_id, reason, ...named }));
      },
    });
  }
  const submitReturn = executor.register(settlementsWithApproval(deps, "return"));
  addRoute({
    method: "POST",
    path: "/deposits/:deposit_id/return",
    operation: "returnDeposit",
    summary: "Return a deposit",
    description:
      "Operator keys only. Sends the money back to the payer. If an onramp holds it and has not " +
      "delivered yet, the onramp fails. Refused while its user is on hold; while checks on the " +
      "user are open, two members have to confirm it.",
    tag: TAG,
    body: ReasonInput,
    body_example: { reason: "The payer asked for it back" },
    answer: orProposal(FiatDepositAnswer),
    errors: ["value_too_long", "invalid_transition", "limit_exceeded", "on_hold"],
    handle: ({ params: { deposit_id }, body, problems, command }) => {
      const given = readReason(body.reason, problems);
      return submitReturn(command({ deposit_id, onramp_id: null, ...given }));
    },
  });
  const submitDismiss = executor.register(settlementsWithApproval(deps, "dismiss"));
  addRoute({
    method: "POST",
    path: "/deposits/:deposit_id/dismiss",
    operation: "dismissDeposit",
    summary: "Dismiss a deposit",
    description:
      "Operator keys only. For a line that the bank reported twice with another amount, " +
      "currency or date. Its ledger entry is reversed.",
    tag: TAG,
    body: ReasonInput,
    body_example: { reason: "The bank reported it twice" },
    answer: orProposal(FiatDepositAnswer),
    errors: ["value_too_long", "invalid_transition", "limit_exceeded"],
    handle: ({ params: { deposit_id }, body, problems, command }) => {
      const given = readReason(body.reason, problems);
      return submitDismiss(command({ deposit_id, onramp_id: null, ...given }));
    },
  });
}

function readOnrampId(
  value: unknown,
  already: readonly Problem[],
): { onramp_id: string | null; problems: readonly Problem[] } {
  if (value === undefined || value === null) return { onramp_id: null, problems: already };
  if (typeof value === "string" && isId(value)) {
    return { onramp_id: value.toLowerCase(), problems: already };
  }
  const problems = new Problems(already);
  problems.invalid("deposit.onramp_id", "Send the id of an onramp.");
  return { onramp_id: null, problems: problems.list };
}

import Type from "typebox";
import { orProposal } from "../approvals/render.ts";
import { tokensOf } from "../catalogue/catalogue.ts";
import { CHAINS, TOKEN_DIGITS, TOKENS } from "../catalogue/chains.ts";
import { lowerAscii, readReason, textOf } from "../catalogue/text.ts";
import type { Executor } from "../platform/commands/executor.ts";
import type { Database } from "../platform/db/database.ts";
import type { Problem } from "../platform/errors.ts";
import { byStatus, cutPage, listAnswer, listQuery, readPage } from "../platform/http/list.ts";
import { compileRender } from "../platform/http/render.ts";
import type { AddRoute } from "../platform/http/route.ts";
import { minorToNumber, parseAmount } from "../platform/money.ts";
import { type Checked, Problems } from "../platform/problems.ts";
import {
  closedObject,
  nullable,
  OPTIONAL_REASON,
  TIME,
  titledObject,
  UUID,
} from "../platform/schema-parts.ts";
import { type ApprovedRefundDeps, refundsWithApproval } from "./approved-refunds.ts";
import { checkDestination, type DestinationDeps } from "./check-destination.ts";
import { openOwner } from "./open-owner.ts";
import type { RefundTerms } from "./refund-balances.ts";
import { listRefunds, openAddress, REFUND_STATUSES, type Refund } from "./refund-store.ts";

const TAG = "Balances";

const RefundRecord = titledObject("Refund", {
  id: UUID,
  user_id: UUID,
  token: Type.Enum([...TOKENS]),
  chain: Type.Enum([...CHAINS]),
  amount: Type.Number({ description: "What leaves the balance." }),
  network_fee: Type.Number({
    description: "What the chain's network fee takes of the amount; the rest is sent.",
  }),
  address: Type.String(),
  status: Type.Enum([...REFUND_STATUSES], {
    description:
      "`pending`: recorded. `sending`: not final on the chain yet. `sent`: final; see `tx_id`. " +
      "`failed`: the chain rejected it permanently; the amount is part of the balance again.",
  }),
  tx_id: nullable(Type.String()),
  created_at: TIME,
  updated_at: TIME,
});
const RefundAnswer = Type.Object({ refund: RefundRecord });
const RefundsAnswer = listAnswer("refunds", RefundRecord);
const RefundListQuery = listQuery(byStatus(REFUND_STATUSES, "Only refunds with this status."));
const writeRefund = compileRender(RefundAnswer);
const writeRefunds = compileRender(RefundsAnswer);

const RefundBody = closedObject({
  refund: closedObject({
    token: Type.String(),
    chain: Type.String(),
    amount: Type.Union([Type.Number(), Type.String()]),
    address: Type.String({
      description:
        "The address that the tokens came from, one that the user has registered, or one " +
        "that two members confirm.",
    }),
  }),
  reason: OPTIONAL_REASON,
});

type RefundRouteDeps = ApprovedRefundDeps &
  DestinationDeps & {
    database: Database;
    executor: Executor;
  };

export function addRefundRoutes(addRoute: AddRoute, deps: RefundRouteDeps): void {
  const { database, executor } = deps;
  const submitRefund = executor.register(
    refundsWithApproval(deps, (refund) => writeRefund({ refund: toRecord(refund) })),
  );
  addRoute({
    method: "POST",
    path: "/users/:user_id/refunds",
    operation: "createRefund",
    summary: "Refund a balance",
    description:
      "Sends tokens that Sliproad owes to the user, on the chain on which they came in, less the " +
      "chain's network fee: to an address that they came from (at most what came from there and " +
      "was neither paid out nor sent back) or to a registered one. To another address, or above " +
      "the approval amount, the request becomes a proposal that two members have to confirm. A " +
      "user who is not approved gets tokens only where they came from; for a suspended or failed " +
      "user two members confirm it, one of them the operator's.",
    tag: TAG,
    body: RefundBody,
    body_example: {
      refund: {
        token: "usdc",
        chain: "polygon",
        amount: 10,
        address: "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed",
      },
    },
    answer: orProposal(RefundAnswer),
    errors: [
      ...(["value_too_long", "not_yet_passed_kyc_kyb", "below_currency_limit"] as const),
      ...(["limit_exceeded", "on_hold"] as const),
    ],
    handle: async ({ params, body, problems, command }) => {
      const { reason, problems: found } = readReason(body.reason, problems);
      const wanted = await checkRefund(body.refund, deps, found);
      return submitRefund(command({ user_id: params.user_id, wanted, reason }));
    },
  });

  addRoute({
    method: "GET",
    path: "/users/:user_id/refunds",
    operation: "listRefunds",
    summary: "List refunds",
    description: "All refunds of the user, newest first.",
    tag: TAG,
    query: RefundListQuery,
    answer: RefundsAnswer,
    errors: [],
    handle: async ({ caller, params, query, problems }) => {
      const { page, problems: page_problems } = readPage(query);
      const user = { account_id: caller.account_id, user_id: params.user_id };
      const key = await openOwner(deps, user, [...problems, ...page_problems]);
      const { rows, has_more } = cutPage(
        await listRefunds(database, user, query.status, page),
        page,
      );
      const refunds = rows.map((row) =>
        toRecord({ ...row, address: openAddress("refunds", row, key) }),
      );
      return writeRefunds({ refunds, has_more });
    },
  });
}

function toRecord(refund: Refund) {
  return {
    ...refund,
    amount: minorToNumber(refund.amount, TOKEN_DIGITS),
    network_fee: minorToNumber(refund.network_fee, TOKEN_DIGITS),
    created_at: refund.created_at.toISOString(),
    updated_at: refund.updated_at.toISOString(),
  };
}

async function checkRefund(
  input: { token?: unknown; amount?: unknown; chain?: unknown; address?: unknown } | undefined,
  deps: DestinationDeps,
  already: readonly Problem[],
): Promise<Checked<RefundTerms>> {
  const problems = new Problems(already);
  const destination = await checkDestination(input, "refund", deps, problems);
  const code = lowerAscii(textOf(input?.token));
  const tokens = tokensOf(deps.catalogue);
  const token = tokens.find((known) => known === code);
  if (!token) problems.invalid("refund.token", `Send one of ${tokens.join(", ")}.`);
  const parsed = parseAmount(input?.amount, TOKEN_DIGITS);
  if ("reason" in parsed) problems.invalid("refund.amount", parsed.reason);
  const is_read = destination && token && "value" in parsed;
  return problems.checked(is_read ? { ...destination, token, amount: parsed.value } : null);
}

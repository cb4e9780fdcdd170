import { isCoolingOff } from "../approvals/cooling-off.ts";
import { proposalTask } from "../approvals/tasks.ts";
import { type ApprovalRules, withApproval } from "../approvals/with-approval.ts";
import { TOKEN_DIGITS } from "../catalogue/chains.ts";
import type { Database } from "../platform/db/database.ts";
import { minorToText } from "../platform/money.ts";
import type { TaskHandler } from "../platform/tasks/run-set.ts";
import { DESTINATIONS, describeRefund } from "./describe-refund.ts";
import {
  findDestination,
  isUserBarred,
  type RefundDeps,
  type RefundRequest,
  type RefundTerms,
  refundBalances,
  registeredAt,
} from "./refund-balances.ts";
import type { Refund } from "./refund-store.ts";

export type ApprovedRefundDeps = RefundDeps & { approvals: ApprovalRules };

const UNKNOWN_ADDRESS =
  "The tokens did not come from this address, and the user has not registered it.";
const YOUNG_ADDRESS = "The user registered the address recently.";

/**
 * Refunds as callers may request them. Two members approve refunds above the limit and, at any
 * amount, refunds to an address that the user has not registered; for a suspended or failed user
 * one of the two is the operator's.
 */
export function refundsWithApproval(deps: ApprovedRefundDeps, render: (refund: Refund) => string) {
  const { index_key, approvals } = deps;
  return withApproval(refundBalances(deps, render), {
    ...approvals,
    amountOf: (_loaded, { input }) =>
      "problems" in input.wanted
        ? null
        : { amount: input.wanted.value.amount, currency: input.wanted.value.token },
    alwaysNeeds: (loaded, command, now) => {
      const destination = findDestination(index_key, loaded, command);
      if (destination === "sender") return null;
      const registered_at = registeredAt(index_key, loaded, command);
      if (destination === "other" || registered_at === null) return UNKNOWN_ADDRESS;
      return isCoolingOff(approvals, registered_at, now) ? YOUNG_ADDRESS : null;
    },
    needsOperator: (loaded, command) =>
      isUserBarred(loaded, command)
        ? "The user is suspended, has failed identification, or is being checked."
        : null,
    recordIdOf: ({ input }) => input.user_id,
    summaryOf: (loaded, command) => {
      const { amount, token, chain } = termsOf(command.input);
      const shown = `${minorToText(amount, TOKEN_DIGITS)} ${token}`;
      const destination = DESTINATIONS[findDestination(index_key, loaded, command)];
      return `Refund ${shown} on ${chain} to ${destination}.`;
    },
    describe: describeRefund(deps),
  });
}

/** Only an accepted request becomes a proposal. */
function termsOf({ wanted }: RefundRequest): RefundTerms {
  if ("problems" in wanted) throw new Error("a refused refund became a proposal");
  return wanted.value;
}

export function refundProposalTask(deps: ApprovedRefundDeps & { database: Database }): TaskHandler {
  // A proposal's task sends no response, so nothing is rendered.
  return proposalTask(
    deps,
    refundBalances(deps, () => ""),
    describeRefund(deps),
  );
}

import { proposalTask } from "../approvals/tasks.ts";
import { type ApprovalRules, withApproval } from "../approvals/with-approval.ts";
import { TOKEN_DIGITS } from "../catalogue/chains.ts";
import type { Database } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { minorToText } from "../platform/money.ts";
import type { TaskHandler } from "../platform/tasks/run-set.ts";
import {
  isRegistered,
  type RefundRequest,
  type RefundTerms,
  refundBalances,
} from "./refund-balances.ts";
import type { Refund } from "./refund-store.ts";

type ApprovedRefundDeps = { keyring: Keyring; index_key: Buffer; approvals: ApprovalRules };

/**
 * Refunds as callers may request them: two members approve refunds above the limit and, at any
 * amount, refunds to an address that the user has not registered.
 */
export function refundsWithApproval(deps: ApprovedRefundDeps, render: (refund: Refund) => string) {
  const { keyring, index_key, approvals } = deps;
  return withApproval(refundBalances(keyring, index_key, render), {
    ...approvals,
    amountOf: (_loaded, { input }) =>
      "problems" in input.wanted
        ? null
        : { amount: input.wanted.value.amount, currency: input.wanted.value.token },
    alwaysNeeds: (loaded, command) =>
      isRegistered(index_key, loaded, command) ? null : "The user has not registered the address.",
    recordIdOf: ({ input }) => input.user_id,
    summaryOf: (loaded, command) => {
      const { amount, token, chain } = termsOf(command.input);
      const shown = `${minorToText(amount, TOKEN_DIGITS)} ${token}`;
      return isRegistered(index_key, loaded, command)
        ? `Refund ${shown} to a registered address on ${chain}.`
        : `Refund ${shown} to an address on ${chain} that the user has not registered.`;
    },
    detailsOf: (_loaded, { input }) => [["Address", termsOf(input).address]],
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
    refundBalances(deps.keyring, deps.index_key, () => ""),
  );
}

import { proposalTask } from "../../approvals/tasks.ts";
import { type ApprovalRules, withApproval } from "../../approvals/with-approval.ts";
import { isToken } from "../../catalogue/chains.ts";
import type { ScreeningPort } from "../../partners/screening/port.ts";
import type { Command } from "../../platform/commands/use-case.ts";
import type { Database } from "../../platform/db/database.ts";
import type { Keyring } from "../../platform/encryption/keyring.ts";
import { greatest } from "../../platform/money.ts";
import type { TaskHandler } from "../../platform/tasks/run-set.ts";
import { type FiatDeposit, openAmount } from "../model.ts";
import { describeMoney, describeSettlement } from "./describe-settlement.ts";
import {
  type DepositAction,
  type DepositRequest,
  findLoaded,
  findTarget,
  isUserInChecks,
  type LoadedDeposits,
  settleDeposits,
} from "./settle-deposits.ts";

export type ApprovedSettlementDeps = {
  keyring: Keyring;
  approvals: ApprovalRules;
  screening: Pick<ScreeningPort, "screen">;
};

/** What members are asked to approve; dismissing a line as no money is about money too. */
const SUMMARIES = {
  match: "Match a deposit to an onramp:",
  accept_difference: "Match a deposit of another amount to an onramp:",
  return: "Return a deposit to its payer:",
  dismiss: "Dismiss a deposit that the bank reported twice:",
} as const satisfies Record<DepositAction, string>;

/** Operator decisions as callers may request them: above the limit, two members must approve. */
export function settlementsWithApproval(
  { keyring, approvals, screening }: ApprovedSettlementDeps,
  action: DepositAction,
) {
  const is_match = action === "match" || action === "accept_difference";
  const amountOf = (loaded: LoadedDeposits, command: Command<DepositRequest>) => {
    const deposit = findLoaded(loaded, command);
    if (!deposit) return null;
    const { currency } = deposit;
    const onramp = findTarget(loaded, deposit, command.input);
    // A cent can be accepted for a million, so the delivered value counts too.
    const delivered = is_match && onramp ? onramp.deposit_amount : 0n;
    return { amount: greatest(openAmount(deposit), delivered), currency };
  };
  return withApproval(settleDeposits(keyring, action), {
    ...approvals,
    amountOf,
    // A late deposit buys at the onramp's rate: since then its currency may have fallen.
    leavingOf: (loaded, command) => {
      const deposit = findLoaded(loaded, command);
      const onramp = is_match && deposit && findTarget(loaded, deposit, command.input);
      if (!onramp) return null;
      return { amount: onramp.destination_amount, currency: onramp.crypto_currency };
    },
    needsOperator: (loaded, command) => {
      if (action !== "return") return null;
      if (isUserInChecks(loaded, command)) return "The user whose onramp it pays is being checked.";
      const deposit = findLoaded(loaded, command);
      const is_listed = deposit && isPayerListed(screening, deposit);
      return is_listed ? "Its payer is similar to an entry of a sanctions list." : null;
    },
    recordIdOf: ({ input }) => input.deposit_id,
    // An onramp delivers once; a deposit that it did not take can be matched to another one.
    countsAs: (loaded, command) => {
      const deposit = findLoaded(loaded, command);
      const onramp = is_match && deposit && findTarget(loaded, deposit, command.input);
      return [onramp ? onramp.id : command.input.deposit_id];
    },
    summaryOf: (loaded, command) => {
      const { amount, currency } = amountOf(loaded, command)!;
      return `${SUMMARIES[action]} ${describeMoney(amount, currency)}.`;
    },
    describe: describeSettlement(keyring),
    // The onramp that the members saw, even if the deposit's code names another one later.
    inputOf: (loaded, command) => {
      const deposit = findLoaded(loaded, command)!;
      return {
        ...command.input,
        onramp_id: findTarget(loaded, deposit, command.input)?.id ?? null,
      };
    },
  });
}

/** A payer who is nobody's user has no review: whether money goes back to them is decided here. */
function isPayerListed(
  { screen }: Pick<ScreeningPort, "screen">,
  { currency, details }: FiatDeposit,
): boolean {
  const payer = details.payer_name;
  if (payer === "") return false;
  const named = isToken(currency)
    ? { names: [], wallets: [payer] }
    : { names: [payer], wallets: [] };
  return screen({ kind: "individual", birth_date: null, countries: [], ...named }).length > 0;
}

/** Runs after two members have approved. */
export function depositProposalTasks(deps: {
  database: Database;
  keyring: Keyring;
  index_key: Buffer;
}): TaskHandler[] {
  const actions = Object.keys(SUMMARIES) as DepositAction[];
  return actions.map((action) =>
    proposalTask(deps, settleDeposits(deps.keyring, action), describeSettlement(deps.keyring)),
  );
}

import { type FourEyes, withFourEyes } from "../access/four-eyes.ts";
import { proposalTask } from "../access/proposal-tasks.ts";
import { minorDigits } from "../catalogue/currencies.ts";
import type { Command } from "../platform/commands/use-case.ts";
import type { Database } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { minorToText } from "../platform/money.ts";
import type { TaskHandler } from "../platform/tasks/run-set.ts";
import { openAmount } from "./model.ts";
import {
  type DepositAction,
  type DepositWish,
  findLoaded,
  type LoadedDeposits,
  settleDeposits,
} from "./settle-deposits.ts";

export type WatchedDepositDeps = { keyring: Keyring; four_eyes: FourEyes };

/** What moves money; to dismiss a conflict moves none. */
const WATCHED = {
  match: "Let a deposit pay an onramp:",
  accept_difference: "Let a deposit of another amount pay an onramp:",
  return: "Send a deposit back to its payer:",
} as const satisfies Partial<Record<DepositAction, string>>;

/** Decisions as callers may ask for them: two members agree to what is above the limit. */
export function watchedDeposits(
  { keyring, four_eyes }: WatchedDepositDeps,
  action: keyof typeof WATCHED,
) {
  const amountOf = (loaded: LoadedDeposits, command: Command<DepositWish>) => {
    const deposit = findLoaded(loaded, command);
    return deposit ? { amount: openAmount(deposit), currency: deposit.currency } : null;
  };
  return withFourEyes(settleDeposits(keyring, action), {
    ...four_eyes,
    amountOf,
    recordIdOf: ({ input }) => input.deposit_id,
    summaryOf: (loaded, command) => {
      const { amount, currency } = amountOf(loaded, command)!;
      return `${WATCHED[action]} ${minorToText(amount, minorDigits(currency)!)} ${currency}.`;
    },
    detailsOf: (loaded, command) => {
      const deposit = findLoaded(loaded, command)!;
      const onramp_id = command.input.onramp_id ?? deposit.onramp_id;
      return [
        ["Bank reference", deposit.bank_reference],
        ["Payer", deposit.details.payer_name],
        ["Text", deposit.details.text],
        ...(onramp_id === null ? [] : [["Onramp", onramp_id] as const]),
      ];
    },
  });
}

/** What runs once two members have agreed. */
export function depositProposalTasks(deps: {
  database: Database;
  keyring: Keyring;
}): TaskHandler[] {
  const actions = Object.keys(WATCHED) as (keyof typeof WATCHED)[];
  return actions.map((action) => proposalTask(deps, settleDeposits(deps.keyring, action)));
}

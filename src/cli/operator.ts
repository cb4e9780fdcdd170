import type { Account } from "../accounts/model.ts";
import { findAccount, findOperator } from "../accounts/store.ts";
import type { Core } from "../app/open-core.ts";
import { type ControlledChange, changeOrPropose } from "../approvals/controlled-change.ts";
import { minorUnits } from "../platform/config/setting-kinds.ts";
import { Refusal } from "../platform/errors.ts";
import { StartupError } from "../platform/startup-error.ts";

/** The account of a command: by its name or id, else the operator's. */
export async function findAccountOf({ database }: Core, wanted?: string): Promise<Account> {
  const account = wanted ? await findAccount(database, wanted) : await findOperator(database);
  if (account) return account;
  throw new StartupError(`There is no account ${wanted}; see sliproad accounts list.`);
}

/** The author of a change, as the audit log records it. */
export function byOperator(reason: string) {
  return { actor: "command line", reason } as const;
}

/**
 * Applies a change of an account's members, limits or settings, or proposes it where two people can
 * vote on it. Returns the proposal's id; null once it is applied.
 */
export async function changeByApproval<Input>(
  core: Core,
  change: ControlledChange<Input>,
  asked: { account_id: string; input: Input; is_operators: boolean; reason: string },
): Promise<string | null> {
  const { database, clock } = core;
  const { reason, ...wanted } = asked;
  try {
    return await database.transaction(async (tx) => {
      const request = { ...wanted, by: byOperator(reason) };
      return (await changeOrPropose(tx, core, change, request, clock.now()))?.id ?? null;
    });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new StartupError(error.problems[0]?.message ?? error.message);
  }
}

/** What the command line says about a change that waits for the members. */
export function proposedText(proposal_id: string): string {
  return `Proposed. Two members must confirm proposal ${proposal_id} on /dashboard/proposals.`;
}

/** An amount in usd as cents. */
export function readUsd(option: string, amount: string): bigint {
  const reason = "must be an amount in usd such as 50000 or 2500.50";
  try {
    return minorUnits(/^\d{1,13}(\.\d{1,2})?$/, 2, reason)(amount);
  } catch {
    throw new StartupError(`${option} ${reason}.`);
  }
}

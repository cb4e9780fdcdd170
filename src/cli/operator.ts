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

/** The proposal of a change that waits for the members; null once the change is applied. */
export type Proposed = { id: string } | null;

/**
 * Applies a change of an account's members, limits or settings, or proposes it where two people can
 * vote on it.
 */
export async function changeByApproval<Input>(
  core: Core,
  change: ControlledChange<Input>,
  asked: { account_id: string; input: Input; is_operators: boolean; reason: string },
): Promise<Proposed> {
  const { database, clock } = core;
  const { reason, ...wanted } = asked;
  try {
    return await database.transaction(async (tx) => {
      const request = { ...wanted, by: byOperator(reason) };
      const proposal = await changeOrPropose(tx, core, change, request, clock.now());
      return proposal ? { id: proposal.id } : null;
    });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new StartupError(error.problems[0]?.message ?? error.message);
  }
}

/** What the command line says about a change: done, or that it waits for the members. */
export function changeText(proposal: Proposed, done: string): string {
  if (proposal === null) return done;
  return `Proposed. Two members must confirm proposal ${proposal.id} on /dashboard/approvals.`;
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

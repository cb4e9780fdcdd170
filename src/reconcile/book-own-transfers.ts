import { recordAudit } from "../accounts/audit.ts";
import type { Actor } from "../accounts/model.ts";
import type { Chain } from "../catalogue/chains.ts";
import { ownTransfer } from "../ledger/chain-postings.ts";
import { postEntries } from "../ledger/post-entries.ts";
import type { Database } from "../platform/db/database.ts";
import type { Reconciled } from "./reconcile-chain.ts";

/**
 * Books what the chain has more, or less, as the operator's own transfers: coins for gas and tokens
 * for onramps that it moved to the treasury, or what it took out. Returns the currencies. Two
 * bookings of one block cannot both be right: the second throws (`isAlreadyPosted`).
 */
export async function bookOwnTransfers(
  database: Database,
  chain: Chain,
  { block, compared }: Reconciled,
  by: { account_id: string; actor: Actor; reason: string },
  now: Date,
): Promise<string[]> {
  const differing = compared.filter(({ unexplained }) => unexplained !== 0n);
  if (differing.length === 0) return [];
  const { account_id } = by;
  await database.transaction(async (tx) => {
    const entries = differing.map(({ currency, unexplained: amount }) =>
      ownTransfer({ account_id, chain, currency, amount, block }),
    );
    postEntries(tx, entries, now);
    const amounts = differing.map(({ currency, unexplained }) => `${unexplained} ${currency}`);
    const detail = { block, amounts };
    recordAudit(tx, { ...by, action: "chain.book", record: `chain:${chain}`, detail }, now);
  });
  return differing.map(({ currency }) => currency);
}

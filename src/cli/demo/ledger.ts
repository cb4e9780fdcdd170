import { minorDigits } from "../../catalogue/currencies.ts";
import { findImbalance, owedTo, payoutPending } from "../../ledger/model.ts";
import { findBalances, listEntriesByLedgerAccount } from "../../ledger/store.ts";
import { openDatabase } from "../../platform/db/database.ts";
import { minorToText } from "../../platform/money.ts";
import { StartupError } from "../../platform/startup-error.ts";

export type PostedEntry = {
  kind: string;
  key: string;
  lines: { side: "debit" | "credit"; ledger_account: string; amount: string; currency: string }[];
};

type Payout = {
  account_id: string;
  user_id: string;
  chain: string;
  offramp_ids: string[];
  currency: string;
};

/**
 * The ledger entries of these payouts. Refuses a ledger that does not balance or is not final. It
 * needs no encryption key: the ledger contains no personal data.
 */
export async function readPostedEntries(url: string, payout: Payout): Promise<PostedEntry[]> {
  const { account_id, user_id, chain, offramp_ids, currency } = payout;
  const database = openDatabase({ url, connections_max: 1 });
  try {
    const pending = offramp_ids.map(payoutPending);
    const names = [owedTo(user_id, chain), ...pending];
    const entries = await listEntriesByLedgerAccount(database, account_id, names);
    if (entries.length === 0) {
      throw new StartupError(
        "The ledger of this installation does not contain the payout: DATABASE_URL or " +
          "SLIPROAD_DATA_DIR points to another installation than the service's.",
      );
    }
    const wrong = entries.find((entry) => findImbalance(entry.lines));
    if (wrong) throw new StartupError(`Ledger entry ${wrong.key} does not balance.`);
    const keys = pending.map((ledger_account) => ({ account_id, ledger_account, currency }));
    const balances = await findBalances(database, keys);
    const open = keys.find((key) => balances.get(key) !== 0n);
    if (open) throw new StartupError(`${open.ledger_account} is not zero after the payout.`);
    return entries.map(({ kind, key, lines }) => ({
      kind,
      key,
      lines: lines.map(({ ledger_account, currency, amount }) => ({
        side: amount > 0n ? ("debit" as const) : ("credit" as const),
        ledger_account,
        amount: minorToText(amount < 0n ? -amount : amount, minorDigits(currency) ?? 0),
        currency,
      })),
    }));
  } finally {
    await database.close();
  }
}

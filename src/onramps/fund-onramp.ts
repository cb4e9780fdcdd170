import { postEntries } from "../ledger/post.ts";
import { onrampFunded } from "../ledger/postings.ts";
import type { Database } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { minOf } from "../platform/money.ts";
import { enqueueTasks, taskNow } from "../platform/tasks/tasks.ts";
import type { DepositFacts } from "./deposits/store.ts";
import { type DepositReason, fundingProblem, openAmount } from "./model.ts";
import { changeOnramp, recordChanges } from "./record-changes.ts";
import { lockOnramps, openOnramps } from "./store.ts";
import { DELIVER_ONRAMP_TASK } from "./task-kinds.ts";

export type Funding = { taken: bigint } | { refused: DepositReason };

export type FundDeps = {
  database: Database;
  keyring: Keyring;
  /** The sandbox can stop an onramp after it is paid. */
  holds_delivery?: boolean;
};

/**
 * Lets a deposit pay the onramp it names: in the onramp's own account, under its lock. Repeated
 * with the same deposit, it returns the amount taken before.
 */
export function fundOnramp(
  { database, keyring, holds_delivery = false }: FundDeps,
  deposit: DepositFacts,
  now: Date,
): Promise<Funding> {
  const key = { account_id: deposit.onramp_account_id!, id: deposit.onramp_id! };
  return database.transaction(async (tx) => {
    const [row] = await lockOnramps(tx, [key]);
    // Before any key is opened: the user may have been erased since the onramp was funded.
    if (row?.deposit_id === deposit.id && row.status !== "failed") return { taken: row.received! };
    const [entry] = await openOnramps(tx, keyring, row ? [row] : []);
    if (!entry) return { refused: "closed" };
    const { onramp } = entry;
    const refused = fundingProblem(onramp, deposit, deposit.matched_by!);
    if (refused) return { refused };
    const taken = minOf(openAmount(deposit), onramp.deposit_amount);
    const change = {
      status: "sending_fiat",
      status_message: null,
      deposit_id: deposit.id,
      received: taken,
      delivery: "waiting",
    } as const;
    recordChanges(tx, [changeOnramp(entry, change, now)], now);
    postEntries(tx, [onrampFunded(onramp, taken)], now);
    enqueueTasks(tx, holds_delivery ? [] : [taskNow(DELIVER_ONRAMP_TASK, key, now)]);
    return { taken };
  });
}

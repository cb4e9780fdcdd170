import { heldIn, onrampFunded } from "../ledger/onramp-postings.ts";
import { postEntries } from "../ledger/post-entries.ts";
import type { Transaction } from "../platform/db/database.ts";
import { limitLockWait } from "../platform/db/lock-wait.ts";
import type { ModuleCore } from "../platform/module.ts";
import { isBelow, minOf, parseDecimal } from "../platform/money.ts";
import { enqueueTasks } from "../platform/tasks/tasks.ts";
import type { CurrentPrices } from "../prices/price-book.ts";
import { updateUnscreened } from "../users/store.ts";
import type { DepositFacts } from "./deposits/store.ts";
import { type DepositReason, fundingProblem, type Onramp, openAmount } from "./model.ts";
import { changeOnramp, recordChanges } from "./record-changes.ts";
import { lockOnramps, openOnramps } from "./store.ts";
import { DELIVER_ONRAMP_TASK } from "./task-kinds.ts";

export type Funding = { taken: bigint } | { refused: DepositReason };

export type RateDeps = {
  prices: CurrentPrices;
  /** How much worse for us the rate may be when a deposit pays by its code. */
  rate_slippage_basis_points: number;
};

export type FundDeps = Pick<ModuleCore, "database" | "keyring"> &
  RateDeps & {
    is_screening?: boolean;
    /** The sandbox can stop an onramp after it is paid. */
    holds_delivery?: boolean;
    /** Where others wait for their deposits too; by default it waits like a request. */
    lock_wait_max_ms?: number;
  };

/**
 * Lets a deposit pay the onramp it names: in the onramp's own account, under its lock. Repeated
 * with the same deposit, it returns the amount taken before.
 */
export function fundOnramp(deps: FundDeps, deposit: DepositFacts, now: Date): Promise<Funding> {
  const { database, keyring, is_screening = false, holds_delivery = false } = deps;
  const key = { account_id: deposit.onramp_account_id!, id: deposit.onramp_id! };
  return database.transaction(async (tx) => {
    if (deps.lock_wait_max_ms !== undefined) limitLockWait(tx, deps.lock_wait_max_ms);
    const [row] = await lockOnramps(tx, [key]);
    // Before any key is opened: the user may have been erased since the onramp was funded.
    if (row?.deposit_id === deposit.id && row.status !== "failed") return { taken: row.received! };
    const [entry] = await openOnramps(tx, keyring, row ? [row] : []);
    if (!entry) return { refused: "closed" };
    const { onramp } = entry;
    const refused = fundingProblem(onramp, deposit, deposit.matched_by!);
    if (refused) return { refused };
    const by_code = deposit.matched_by === "code";
    if (by_code && !(await isRateClose(tx, deps, onramp, now))) return { refused: "rate_moved" };
    const taken = minOf(openAmount(deposit), onramp.deposit_amount);
    const change = {
      status: "sending_fiat",
      status_message: null,
      deposit_id: deposit.id,
      received: taken,
      deposit_account: heldIn(deposit),
      paid_at: now,
      delivery: "waiting",
    } as const;
    recordChanges(tx, [changeOnramp(entry, change, now)], now);
    postEntries(tx, [onrampFunded({ ...onramp, ...change }, taken)], now);
    // The depositor is somebody new: the user is screened with them before the delivery.
    if (is_screening) updateUnscreened(tx, [onramp]);
    if (!holds_delivery) enqueueTasks(tx, DELIVER_ONRAMP_TASK, [key], now);
    return { taken };
  });
}

/** More fiat for one token is worse for us. Without a current rate, the operator decides. */
export async function isRateClose(
  tx: Transaction,
  { prices, rate_slippage_basis_points }: RateDeps,
  { crypto_currency, fiat_currency, rate }: Onramp,
  now: Date,
): Promise<boolean> {
  const current = await prices.currentPrices(now, tx);
  if ("stale" in current) return false;
  const rate_now = current.onramp_rates.get(crypto_currency)?.get(fiat_currency);
  if (!rate_now) return false;
  const locked = parseDecimal(rate)!;
  const most = { ...locked, units: locked.units * BigInt(10_000 + rate_slippage_basis_points) };
  return !isBelow(most, { ...rate_now, units: rate_now.units * 10_000n });
}

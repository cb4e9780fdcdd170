import {
  type Deposit,
  type DepositAddress,
  findDepositAddresses,
  insertCryptoDeposits,
} from "../../balances/deposit-store.ts";
import {
  findRecorded,
  insertSetAside,
  LIST_TRANSFER_TASK,
  listUnrecorded,
  type SetAsideReason,
  transferKey,
} from "../../balances/set-aside-store.ts";
import type { Chain } from "../../catalogue/chains.ts";
import { depositFinal } from "../../ledger/balance-postings.ts";
import { postEntries } from "../../ledger/post-entries.ts";
import type { ChainPort, Transfer } from "../../partners/chain/port.ts";
import { readOn } from "../../partners/read-on.ts";
import { AccountMap } from "../../platform/account-map.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database, Transaction } from "../../platform/db/database.ts";
import { LOCK_WAIT_MAX_MS, limitLockWait } from "../../platform/db/lock-wait.ts";
import { isDatabaseError, isLockConflict, isOutage } from "../../platform/db/outages.ts";
import { newId } from "../../platform/ids.ts";
import { describeError } from "../../platform/tasks/outage.ts";
import { enqueueTasks } from "../../platform/tasks/tasks.ts";
import { screenAgain } from "../../users/screen-again.ts";
import { existsScreening, lockUsers } from "../../users/store.ts";
import { FUND_QUOTE_TASK } from "../task-kinds.ts";
import { findQuotes, lockQuoteRows, lockVouchedQuotes, updateProgress } from "./store.ts";

const TRANSFERS_PER_READ_MAX = 500;

/**
 * Accounts whose transfers could not be credited, and why; null for locks that somebody held. This
 * read does not try them again: the cursor stays before their first transfer.
 */
type Behind = Map<string, string | null>;

/**
 * Reads these chains, by default all, from their cursors and credits transfers to us. Whether a
 * deposit came in time for its quote is decided in `fund-from-deposits.ts`. Returns the accounts
 * whose transfers could not all be credited now, because somebody holds locks of theirs or changed
 * a row: they are read again next time, and those of others were credited.
 */
export async function recordDeposits(
  database: Database,
  chain: ChainPort,
  clock: Pick<Clock, "now">,
  names: readonly Chain[] = chain.chains,
): Promise<ReadonlyMap<string, string | null>> {
  const behind: Behind = new Map();
  for (const name of names) {
    const list = async (cursor: string | null) => {
      const { transfers, ...read } = await chain.listTransfers(
        name,
        cursor,
        TRANSFERS_PER_READ_MAX,
      );
      return { items: transfers, ...read };
    };
    const take = async (transfers: Transfer[], now: Date, keepCursor: () => void) => {
      const is_whole = await creditTransfers(database, transfers, behind, now);
      if (!is_whole) keepCursor();
    };
    await readOn(database, `chain:${name}`, list, take, clock);
  }
  return behind;
}

type Addressed = { transfer: Transfer; owner: DepositAddress };

/** The largest amount that the ledger can post. */
const AMOUNT_MAX = 2n ** 63n - 1n;

/** False if some were not credited, because their accounts are behind. */
async function creditTransfers(
  database: Database,
  transfers: readonly Transfer[],
  behind: Behind,
  now: Date,
): Promise<boolean> {
  const addresses = await findDepositAddresses(database, transfers);
  const owners = new Map(addresses.map((owner) => [`${owner.chain} ${owner.address}`, owner]));
  const addressed = transfers.flatMap((transfer) => {
    const owner = owners.get(`${transfer.chain} ${transfer.address}`);
    // Chains carry transfers of zero, sent as spam; there is nothing to credit.
    if (!owner || transfer.amount <= 0n) return [];
    const { account_id } = owner;
    const { chain, tx_id, log_index } = transfer;
    return [{ account_id, chain, tx_id, log_index, transfer, owner }];
  });
  // While an account is behind, the pages after it are read again each time.
  const left = await listUnrecorded(database, addressed);
  let is_whole = true;
  for (const [account_id, entries] of Map.groupBy(left, (entry) => entry.account_id)) {
    if (!behind.has(account_id)) await creditOrNote(database, account_id, entries, behind, now);
    if (behind.has(account_id)) is_whole = false;
  }
  return is_whole;
}

/** What one account fails with must not stop the others. */
async function creditOrNote(
  database: Database,
  account_id: string,
  entries: readonly Addressed[],
  behind: Behind,
  now: Date,
): Promise<void> {
  try {
    await creditAccount(database, account_id, entries, now);
  } catch (error) {
    if (isOutage(error)) throw error;
    behind.set(account_id, isLockConflict(error) ? null : describeError(error));
  }
}

/**
 * Credits the transfers of one account. One that cannot be credited, because a sum would exceed 64
 * bits for example, is set aside for the operator and does not stop the others.
 */
async function creditAccount(
  database: Database,
  account_id: string,
  entries: readonly Addressed[],
  now: Date,
): Promise<void> {
  try {
    await database.transaction((tx) => creditAll(tx, account_id, entries, now));
  } catch (error) {
    if (!isDataError(error)) throw error;
    const [only, ...others] = entries;
    if (only && others.length === 0) {
      await database.transaction((tx) => setAsideUncredited(tx, account_id, only, now));
      return;
    }
    for (const entry of entries) await creditAccount(database, account_id, [entry], now);
  }
}

/** What was to be written does not fit: trying again cannot help. */
function isDataError(error: unknown): boolean {
  return isDatabaseError(error) && /^2[23]/.test(error.code ?? "");
}

/** Unless another reader has credited it, or set it aside, since it could not be credited here. */
async function setAsideUncredited(
  tx: Transaction,
  account_id: string,
  entry: Addressed,
  now: Date,
): Promise<void> {
  limitLockWait(tx, LOCK_WAIT_MAX_MS);
  await lockQuoteRows(tx, [{ account_id, id: entry.owner.quote_id }]);
  const recorded = await Promise.all([
    findRecorded(tx, "deposits", account_id, [entry.transfer]),
    findRecorded(tx, "set_aside_transfers", account_id, [entry.transfer]),
  ]);
  if (recorded.every((keys) => keys.size === 0)) setAside(tx, [entry], "not_creditable", now);
}

function setAside(
  tx: Transaction,
  entries: readonly Addressed[],
  reason: SetAsideReason,
  now: Date,
): void {
  const rows = entries.map(({ transfer: { address: _, amount, ...facts }, owner }) => ({
    ...facts,
    account_id: owner.account_id,
    id: newId(now),
    quote_id: owner.quote_id,
    amount: String(amount),
    reason,
    created_at: now,
  }));
  insertSetAside(tx, rows);
  enqueueTasks(tx, LIST_TRANSFER_TASK, rows, now);
}

/** Credits the owner of the address, whatever the quote's state and whichever quote names it. */
async function creditAll(
  tx: Transaction,
  account_id: string,
  addressed: readonly Addressed[],
  now: Date,
): Promise<void> {
  const keys = addressed.map(({ owner }) => ({ account_id: owner.account_id, id: owner.quote_id }));
  limitLockWait(tx, LOCK_WAIT_MAX_MS);
  const seen = await findQuotes(tx, keys);
  // Locked against an erasure: nothing may be owed to a person who is erased at the same time.
  const users = AccountMap.of(await lockUsers(tx, seen), (user) => user);
  const quotes = new Map((await lockVouchedQuotes(tx, keys)).map((quote) => [quote.id, quote]));
  // Under the locks: several readers may have the same page.
  const transfers = addressed.map(({ transfer }) => transfer);
  const set_aside = await findRecorded(tx, "set_aside_transfers", account_id, transfers);
  const entries = addressed.filter(({ transfer }) => !set_aside.has(transferKey(transfer)));
  const isErased = ({ owner }: Addressed) =>
    !users.has(owner.account_id, quotes.get(owner.quote_id)!.user_id);
  // Too large, or to a quote that somebody changed: whose it is must be decided by a person.
  const isUncreditable = ({ transfer, owner }: Addressed) =>
    transfer.amount > AMOUNT_MAX || !quotes.has(owner.quote_id);
  setAside(tx, entries.filter(isUncreditable), "not_creditable", now);
  const fitting = entries.filter((entry) => !isUncreditable(entry));
  setAside(tx, fitting.filter(isErased), "erased_user", now);
  const deposits = fitting
    .filter((entry) => !isErased(entry))
    .map(({ transfer, owner }): Deposit => {
      const { address: _, ...facts } = transfer;
      const quote = quotes.get(owner.quote_id)!;
      return {
        ...facts,
        account_id: owner.account_id,
        id: newId(now),
        user_id: quote.user_id,
        quote_id: quote.id,
        created_at: now,
      };
    });
  const is_screening = await existsScreening(tx);
  const credited = await insertCryptoDeposits(tx, deposits);
  for (const deposit of credited) {
    const quote = quotes.get(deposit.quote_id)!;
    if (deposit.token !== quote.deposit_token) continue;
    quote.received += deposit.amount;
    quote.updated_at = now;
  }
  const changed = new Set(credited.map((deposit) => deposit.quote_id));
  for (const id of changed) updateProgress(tx, quotes.get(id)!);
  postEntries(tx, credited.map(depositFinal), now);
  screenAgain(tx, is_screening, credited, now);
  const due = [...changed].map((id) => quotes.get(id)!);
  enqueueTasks(tx, FUND_QUOTE_TASK, due, now);
}

import {
  type Deposit,
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
import { applyKeptTask } from "../../partners/kept-messages/apply-kept.ts";
import type { Keeping } from "../../partners/kept-messages/keeping.ts";
import {
  listAccountsWithKept,
  listRecordsWithKept,
} from "../../partners/kept-messages/kept-store.ts";
import {
  beginReading,
  type Reading,
  takeMessages,
} from "../../partners/kept-messages/take-messages.ts";
import { readOn } from "../../partners/read-on.ts";
import { AccountMap } from "../../platform/account-map.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database, Session, Transaction } from "../../platform/db/database.ts";
import { LOCK_WAIT_MAX_MS, limitLockWait } from "../../platform/db/lock-wait.ts";
import { isDatabaseError } from "../../platform/db/outages.ts";
import type { RecordKey } from "../../platform/db/rows.ts";
import { newId } from "../../platform/ids.ts";
import type { TaskHandler } from "../../platform/tasks/run-set.ts";
import type { TaskLog } from "../../platform/tasks/task-log.ts";
import { enqueueTasks } from "../../platform/tasks/tasks.ts";
import { screenAgain } from "../../users/screen-again.ts";
import { existsScreening, lockUsers } from "../../users/store.ts";
import { CREDIT_KEPT_DEPOSITS_TASK, FUND_QUOTE_TASK } from "../task-kinds.ts";
import { findQuotes, lockQuoteRows, lockVouchedQuotes, updateProgress } from "./store.ts";

const TRANSFERS_PER_READ_MAX = 500;

export type RecordDeps = {
  database: Database;
  chain: ChainPort;
  clock: Pick<Clock, "now">;
  log: TaskLog;
};

/**
 * Reads these chains, by default all, from their cursors and credits transfers to us. Whether a
 * deposit came in time for its quote is decided in `fund-from-deposits.ts`. What cannot be credited
 * now is kept (`partners/kept-messages/take-messages.ts`): the others are credited, and nothing is
 * read again. Returns the accounts of which not even that was possible.
 */
export async function recordDeposits(
  { database, chain, clock, log }: RecordDeps,
  names: readonly Chain[] = chain.chains,
): Promise<ReadonlySet<string>> {
  const reading = beginReading(database, log, KEPT_DEPOSITS);
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
      const accounts = await creditTransfers(reading, transfers, now);
      if (accounts.some((account_id) => reading.behind.has(account_id))) keepCursor();
    };
    await readOn(database, `chain:${name}`, list, take, clock);
  }
  return reading.behind;
}

type Addressed = { account_id: string; quote_id: string; transfer: Transfer };

/** Which quote a transfer is for is what its address says, so it is kept with the transfer. */
type StoredTransfer = Omit<Addressed, "transfer"> & {
  transfer: Omit<Transfer, "amount" | "mined_at"> & { amount: string; mined_at: string };
};

const KEPT_DEPOSITS: Keeping<Addressed> = {
  kind: CREDIT_KEPT_DEPOSITS_TASK,
  what: "the deposits",
  recordOf: ({ quote_id }) => quote_id,
  referenceOf: ({ transfer }) => transferKey(transfer),
  toText: ({ account_id, quote_id, transfer }) => {
    const { chain, tx_id, log_index, address, sender, token, amount, mined_at } = transfer;
    const place = { chain, tx_id, log_index, address, sender, token };
    const paid = { ...place, amount: String(amount), mined_at: mined_at.toISOString() };
    return JSON.stringify({ account_id, quote_id, transfer: paid } satisfies StoredTransfer);
  },
  fromText: (text) => {
    const { transfer, ...owner } = JSON.parse(text) as StoredTransfer;
    const { amount, mined_at } = transfer;
    const read = { ...transfer, amount: BigInt(amount), mined_at: new Date(mined_at) };
    return { ...owner, transfer: read };
  },
};

export function creditKeptDepositsTask({ database }: Pick<RecordDeps, "database">): TaskHandler {
  return applyKeptTask(database, KEPT_DEPOSITS, (account_id, entries, now) =>
    creditAccount(database, account_id, entries, now),
  );
}

/** Those of the quotes to which transfers are kept: what was sent in time is not credited yet. */
export async function listQuotesWithKept(
  session: Session,
  quotes: readonly RecordKey[],
): Promise<AccountMap<RecordKey>> {
  const of_accounts = [...Map.groupBy(quotes, ({ account_id }) => account_id)];
  const found = await Promise.all(
    of_accounts.map(async ([account_id, own]) => {
      const ids = own.map(({ id }) => id);
      const kept = await listRecordsWithKept(session, KEPT_DEPOSITS.kind, account_id, ids);
      return own.filter(({ id }) => kept.has(id));
    }),
  );
  return AccountMap.of(found.flat(), (quote) => quote);
}

/** The largest amount that the ledger can post. */
const AMOUNT_MAX = 2n ** 63n - 1n;

/** Returns the accounts that they are for. */
async function creditTransfers(
  reading: Reading<Addressed>,
  transfers: readonly Transfer[],
  now: Date,
): Promise<string[]> {
  const { database } = reading;
  const addresses = await findDepositAddresses(database, transfers);
  const owners = new Map(addresses.map((owner) => [`${owner.chain} ${owner.address}`, owner]));
  const addressed = transfers.flatMap((transfer) => {
    const owner = owners.get(`${transfer.chain} ${transfer.address}`);
    // Chains carry transfers of zero, sent as spam; there is nothing to credit.
    if (!owner || transfer.amount <= 0n) return [];
    const { account_id, quote_id } = owner;
    const { chain, tx_id, log_index } = transfer;
    return [{ account_id, chain, tx_id, log_index, transfer, quote_id }];
  });
  // While an account is behind, its page and those after it are read again each time.
  const left = await listUnrecorded(database, addressed);
  // Read after the cursor: whoever moved it has committed what is kept from before.
  const kept = await listAccountsWithKept(database, KEPT_DEPOSITS.kind, left);
  const of_accounts = Map.groupBy(left, (entry) => entry.account_id);
  for (const [account_id, own] of of_accounts) {
    const entries = own.map(({ quote_id, transfer }) => ({ account_id, quote_id, transfer }));
    const credit = (some: Addressed[]) => creditAccount(database, account_id, some, now);
    await takeMessages(reading, account_id, entries, kept.has(account_id), credit, now);
  }
  return [...of_accounts.keys()];
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
  await lockQuoteRows(tx, [{ account_id, id: entry.quote_id }]);
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
  const rows = entries.map(({ transfer: { address: _, amount, ...facts }, ...owner }) => ({
    ...facts,
    ...owner,
    id: newId(now),
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
  const keys = addressed.map(({ quote_id }) => ({ account_id, id: quote_id }));
  limitLockWait(tx, LOCK_WAIT_MAX_MS);
  const seen = await findQuotes(tx, keys);
  // Locked against an erasure: nothing may be owed to a person who is erased at the same time.
  const users = AccountMap.of(await lockUsers(tx, seen), (user) => user);
  const quotes = new Map((await lockVouchedQuotes(tx, keys)).map((quote) => [quote.id, quote]));
  // Under the locks: several readers may have the same page.
  const transfers = addressed.map(({ transfer }) => transfer);
  const set_aside = await findRecorded(tx, "set_aside_transfers", account_id, transfers);
  const entries = addressed.filter(({ transfer }) => !set_aside.has(transferKey(transfer)));
  const isErased = ({ quote_id }: Addressed) =>
    !users.has(account_id, quotes.get(quote_id)!.user_id);
  // Too large, or to a quote that somebody changed: whose it is must be decided by a person.
  const isUncreditable = ({ transfer, quote_id }: Addressed) =>
    transfer.amount > AMOUNT_MAX || !quotes.has(quote_id);
  setAside(tx, entries.filter(isUncreditable), "not_creditable", now);
  const fitting = entries.filter((entry) => !isUncreditable(entry));
  setAside(tx, fitting.filter(isErased), "erased_user", now);
  const deposits = fitting
    .filter((entry) => !isErased(entry))
    .map(({ transfer, quote_id }): Deposit => {
      const { address: _, ...facts } = transfer;
      const quote = quotes.get(quote_id)!;
      return {
        ...facts,
        account_id,
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

import { AccountMap } from "../../platform/account-map.ts";
import type { Session, Transaction } from "../../platform/db/database.ts";
import {
  accountsOf,
  columnsOf,
  distinctSetOf,
  findRow,
  findRows,
  insertRows,
  lockRows,
  type RecordKey,
  updateRows,
} from "../../platform/db/rows.ts";
import type { Page } from "../../platform/http/list.ts";
import { vouchedTable } from "../../platform/sealing/vouched-rows.ts";
import type { UserKey } from "../../users/store.ts";
import type { Quote, QuoteStatus } from "./model.ts";

/**
 * Not covered: the totals, which are the sums of its offramps and compared with them when it is
 * funded, and `tx_status`, which only says what the chain last said.
 */
export const QUOTES = vouchedTable(
  "quotes",
  ["account_id", "id"],
  [
    ...["user_id", "deposit_token", "deposit_token_chain", "deposit_address", "price_version_id"],
    ...["expires_at", "created_at", "executed_at", "tx_id", "tx_network", "tx_named_at"],
    ...["received", "from_balance", "shortfall", "spent_before", "funded_at", "closed_at"],
    ...["proposal_id", "approval_status"],
  ],
);

export function findQuote(
  session: Session,
  { account_id, user_id }: UserKey,
  id: string,
): Promise<Quote | undefined> {
  return findRow(session, "quotes", { account_id, user_id, id });
}

/** `quoteStatus` as SQL conditions, each with its own index. $6 is the time. */
const STATUS_CONDITIONS: Readonly<Record<QuoteStatus, string>> = {
  open: "and executed_at is null and closed_at is null and expires_at > $6",
  executed: "and executed_at is not null and closed_at is null",
  expired: "and executed_at is null and (closed_at is not null or expires_at <= $6)",
  failed: "and executed_at is not null and closed_at is not null",
};

export function listQuotes(
  session: Session,
  key: UserKey,
  status: QuoteStatus | undefined,
  page: Page,
  now: Date,
): Promise<Quote[]> {
  const condition = status ? STATUS_CONDITIONS[status] : "";
  return session.query<Quote>(
    `select * from quotes where account_id = $1 and user_id = $2 and id < $3 and id >= $4
       ${condition}
     order by id desc limit $5`,
    [
      key.account_id,
      key.user_id,
      page.below_id,
      page.from_id,
      page.limit + 1,
      ...(condition.includes("$6") ? [now] : []),
    ],
  );
}

/** How many open quotes each of these users has. */
export async function countOpenQuotes(
  session: Session,
  keys: readonly UserKey[],
  now: Date,
): Promise<AccountMap<number>> {
  const accounts = accountsOf(session, keys);
  const rows = await session.query<UserKey & { count: number }>(
    `select account_id, user_id, count(*)::int as count from quotes
     where account_id ${accounts.equal} and user_id = any($2::uuid[]) and executed_at is null
       and closed_at is null and expires_at > $3
     group by account_id, user_id`,
    [accounts.value, keys.map((key) => key.user_id), now],
  );
  const counts = new AccountMap<number>();
  for (const row of rows) counts.set(row.account_id, row.user_id, row.count);
  return counts;
}

/**
 * Locks the quotes of a set in key order; absent ones are left out. Fails if somebody changed one:
 * what is written again has a MAC, and would be trusted.
 */
export async function lockQuotes(tx: Session, keys: readonly RecordKey[]): Promise<Quote[]> {
  return QUOTES.assertVouched(tx, await lockQuoteRows(tx, keys));
}

/** The same without those that somebody changed. */
export async function lockVouchedQuotes(tx: Session, keys: readonly RecordKey[]): Promise<Quote[]> {
  return QUOTES.vouchedOnly(tx, await lockQuoteRows(tx, keys));
}

/** The same unchecked, for whoever writes at most their totals. */
export function lockQuoteRows(tx: Session, keys: readonly RecordKey[]): Promise<Quote[]> {
  return lockRows(tx, "quotes", keys);
}

/**
 * Until the end of the transaction those of these quotes that wait for approval are not approved:
 * who reads that they wait can postpone work without missing the approval.
 */
export async function lockPendingApproval(tx: Session, keys: readonly RecordKey[]): Promise<void> {
  const accounts = accountsOf(tx, keys);
  await tx.query(
    `select id from quotes where account_id ${accounts.equal} and id = any($2::uuid[])
       and approval_status = 'pending' order by account_id, id for share`,
    [accounts.value, ...columnsOf(keys, "id")],
  );
}

/** How many offramps each of these quotes has. */
export function listOfframpCounts(
  session: Session,
  keys: readonly RecordKey[],
): Promise<(RecordKey & { offramp_count: number })[]> {
  const accounts = accountsOf(session, keys);
  return session.query(
    `select account_id, id, offramp_count from quotes
     where account_id ${accounts.equal} and id = any($2::uuid[])`,
    [accounts.value, ...columnsOf(keys, "id")],
  );
}

/** The quotes of a set, without a lock; absent ones are left out. */
export function findQuotes(session: Session, keys: readonly RecordKey[]): Promise<Quote[]> {
  return findRows(session, "quotes", keys);
}

/** Executed, not funded and open. */
const WAITS = "executed_at is not null and funded_at is null and closed_at is null";
const HAS_MONEY = "(received > 0 or from_balance > 0)";

/** The executed quotes of these users that have received something and wait for the rest. */
export function listReservingQuotes(session: Session, users: readonly UserKey[]): Promise<Quote[]> {
  const accounts = accountsOf(session, users);
  return session.query<Quote>(
    `select * from quotes where account_id ${accounts.equal} and user_id = any($2::uuid[])
       and ${WAITS} and ${HAS_MONEY}`,
    [accounts.value, ...columnsOf(users, "user_id")],
  );
}

/**
 * Other executed quotes of these users that are not funded: those that have received nothing, and
 * the newest of those that have ended; of each user so many of both.
 */
export function listUnfundedQuotes(
  session: Session,
  users: readonly UserKey[],
  limit: number,
): Promise<Quote[]> {
  const wanted = distinctSetOf(session, "wanted", "account_id uuid, user_id uuid", users);
  const own = `account_id = ${wanted.accountIn("wanted")} and user_id = wanted.user_id`;
  return session.query<Quote>(
    `select own.* from ${wanted.from} cross join lateral (
       (select * from quotes where ${own} and ${WAITS} and not ${HAS_MONEY} limit $3)
       union all
       (select * from quotes where ${own} and executed_at is not null and closed_at is not null
        order by id desc limit $3)) as own
     where own.funded_at is null`,
    [...wanted.values, limit],
  );
}

export function insertQuotes(tx: Transaction, quotes: readonly Quote[]): void {
  insertRows(
    tx,
    "quotes",
    `account_id uuid, id uuid, user_id uuid, deposit_token text, deposit_token_chain text,
     deposit_address text, price_version_id uuid, expires_at timestamptz, created_at timestamptz,
     updated_at timestamptz, mac bytea`,
    QUOTES.withMacs(tx, quotes),
  );
  insertRows(
    tx,
    "deposit_addresses",
    "chain text, address text, account_id uuid, quote_id uuid",
    quotes.map(({ deposit_token_chain: chain, deposit_address: address, account_id, id }) => {
      return { chain, address, account_id, quote_id: id };
    }),
  );
}

/** Writes the totals of locked quotes. */
export function updateTotals(tx: Transaction, quotes: readonly Quote[]): void {
  updateRows(
    tx,
    "quotes",
    "account_id uuid, id uuid",
    "token_amount bigint, token_fees bigint, offramp_count int, updated_at timestamptz",
    quotes,
  );
}

/** Writes what execution and funding change in a locked quote. */
export function updateProgress(tx: Transaction, quote: Quote): void {
  updateRows(
    tx,
    "quotes",
    "account_id uuid, id uuid",
    `executed_at timestamptz, tx_id text, tx_network text, tx_named_at timestamptz,
     tx_status text,
     received bigint, from_balance bigint, funded_at timestamptz, spent_before bigint,
     closed_at timestamptz, updated_at timestamptz, proposal_id uuid, approval_status text,
     shortfall bigint, mac bytea`,
    QUOTES.withMacs(tx, [quote]),
  );
}

/** Writes what the chain says about the transfers of locked quotes. */
export function updateTransferStatus(tx: Transaction, quotes: readonly Quote[]): void {
  updateRows(tx, "quotes", "account_id uuid, id uuid", "tx_status text", quotes);
}

/** The account's quotes that name this transfer, and those whose address received it. */
export function listQuotesByTransfer(
  session: Session,
  account_id: string,
  chain: string,
  tx_id: string,
): Promise<{ id: string; is_paid: boolean }[]> {
  return session.query(
    `select id, false as is_paid from quotes
     where account_id = $1 and deposit_token_chain = $2 and tx_id = $3
     union select quote_id, true from deposits
     where account_id = $1 and chain = $2 and tx_id = $3`,
    [account_id, chain, tx_id],
  );
}

import { AccountMap } from "../../platform/account-map.ts";
import type { Session, Transaction } from "../../platform/db/database.ts";
import type { Page } from "../../platform/http/list.ts";
import type { UserKey } from "../../users/store.ts";
import type { Quote, QuoteStatus } from "./model.ts";

export type QuoteKey = { account_id: string; id: string };

export async function findQuote(
  session: Session,
  key: UserKey,
  id: string,
): Promise<Quote | undefined> {
  const [quote] = await session.query<Quote>(
    "select * from quotes where account_id = $1 and user_id = $2 and id = $3",
    [key.account_id, key.user_id, id],
  );
  return quote;
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
  const rows = await session.query<UserKey & { count: number }>(
    `select account_id, user_id, count(*)::int as count from quotes
     where account_id = any($1::uuid[]) and user_id = any($2::uuid[]) and executed_at is null
       and closed_at is null and expires_at > $3
     group by account_id, user_id`,
    [keys.map((key) => key.account_id), keys.map((key) => key.user_id), now],
  );
  const counts = new AccountMap<number>();
  for (const row of rows) counts.set(row.account_id, row.user_id, row.count);
  return counts;
}

/** Locks the quotes of a set in key order; absent ones are left out. */
export function lockQuotes(tx: Session, keys: readonly QuoteKey[]): Promise<Quote[]> {
  return tx.query<Quote>(
    `select quotes.* from quotes
     join (select distinct * from unnest($1::uuid[], $2::uuid[])) as wanted (account_id, id)
       using (account_id, id)
     order by account_id, id for no key update of quotes`,
    [keys.map((key) => key.account_id), keys.map((key) => key.id)],
  );
}

/** The quotes of a set, without a lock; absent ones are left out. */
export function findQuotes(session: Session, keys: readonly QuoteKey[]): Promise<Quote[]> {
  return session.query<Quote>(
    "select * from quotes where account_id = any($1::uuid[]) and id = any($2::uuid[])",
    [keys.map((key) => key.account_id), keys.map((key) => key.id)],
  );
}

export function insertQuotes(tx: Transaction, quotes: readonly Quote[]): void {
  tx.write(
    `insert into quotes (account_id, id, user_id, deposit_token, deposit_token_chain,
       deposit_address, price_version_id, expires_at, created_at, updated_at)
     select *, created_at from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[],
       $6::text[], $7::uuid[], $8::timestamptz[], $9::timestamptz[])
       as t (account_id, id, user_id, deposit_token, deposit_token_chain, deposit_address,
         price_version_id, expires_at, created_at)`,
    [
      quotes.map((quote) => quote.account_id),
      quotes.map((quote) => quote.id),
      quotes.map((quote) => quote.user_id),
      quotes.map((quote) => quote.deposit_token),
      quotes.map((quote) => quote.deposit_token_chain),
      quotes.map((quote) => quote.deposit_address),
      quotes.map((quote) => quote.price_version_id),
      quotes.map((quote) => quote.expires_at),
      quotes.map((quote) => quote.created_at),
    ],
  );
  tx.write(
    `insert into deposit_addresses (chain, address, account_id, quote_id)
     select * from unnest($1::text[], $2::text[], $3::uuid[], $4::uuid[])`,
    [
      quotes.map((quote) => quote.deposit_token_chain),
      quotes.map((quote) => quote.deposit_address),
      quotes.map((quote) => quote.account_id),
      quotes.map((quote) => quote.id),
    ],
  );
}

/** Writes the totals of locked quotes. */
export function updateTotals(tx: Transaction, quotes: readonly Quote[]): void {
  tx.write(
    `update quotes set token_amount = t.token_amount, token_fees = t.token_fees,
       offramp_count = t.offramp_count, updated_at = t.updated_at
     from unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::bigint[], $5::int[], $6::timestamptz[])
       as t (account_id, id, token_amount, token_fees, offramp_count, updated_at)
     where quotes.account_id = t.account_id and quotes.id = t.id`,
    [
      quotes.map((quote) => quote.account_id),
      quotes.map((quote) => quote.id),
      quotes.map((quote) => quote.token_amount),
      quotes.map((quote) => quote.token_fees),
      quotes.map((quote) => quote.offramp_count),
      quotes.map((quote) => quote.updated_at),
    ],
  );
}

/** Writes what execution and funding change in a locked quote. */
export function updateProgress(tx: Transaction, quote: Quote): void {
  tx.write(
    `update quotes set executed_at = $3, tx_id = $4, tx_network = $5, tx_named_at = $6,
       received = $7, from_balance = $8, funded_at = $9, spent_before = $10, closed_at = $11,
       updated_at = $12, proposal_id = $13, approval_status = $14, shortfall = $15
     where account_id = $1 and id = $2`,
    [
      quote.account_id,
      quote.id,
      quote.executed_at,
      quote.tx_id,
      quote.tx_network,
      quote.tx_named_at,
      quote.received,
      quote.from_balance,
      quote.funded_at,
      quote.spent_before,
      quote.closed_at,
      quote.updated_at,
      quote.proposal_id,
      quote.approval_status,
      quote.shortfall,
    ],
  );
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

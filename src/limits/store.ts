import type { Session, Transaction } from "../platform/db/database.ts";
import { columnsOf, deleteRow, insertRows, type RecordKey } from "../platform/db/rows.ts";
import { firstIdAt } from "../platform/ids.ts";
import { EVERY, type LimitRule } from "./model.ts";

export function listRules(session: Session, account_ids: readonly string[]): Promise<LimitRule[]> {
  return session.query<LimitRule>(
    `select account_id, user_id, scope, time_window, amount_max, count_max from limit_rules
     where account_id = any($1::uuid[]) order by account_id, user_id, scope, time_window`,
    [[...account_ids, EVERY]],
  );
}

export function listAllRules(session: Session): Promise<LimitRule[]> {
  return session.query<LimitRule>(
    "select * from limit_rules order by account_id, user_id, scope, time_window",
  );
}

export function upsertRule(tx: Transaction, rule: LimitRule, now: Date): void {
  insertRows(
    tx,
    "limit_rules",
    `account_id uuid, user_id uuid, scope text, time_window text, amount_max bigint,
     count_max int, created_at timestamptz`,
    [{ ...rule, created_at: now }],
    `on conflict (account_id, user_id, scope, time_window) do update
       set amount_max = excluded.amount_max, count_max = excluded.count_max,
         created_at = excluded.created_at`,
  );
}

export function deleteRule(
  tx: Transaction,
  { account_id, user_id, scope, time_window }: Omit<LimitRule, "amount_max" | "count_max">,
): void {
  deleteRow(tx, "limit_rules", { account_id, user_id, scope, time_window });
}

/** What counts, in millionths of a token. */
export type TokenUse = {
  account_id: string;
  user_id: string;
  payee: Buffer | null;
  /** Null: the last one. */
  price_version_id: string | null;
  token: string;
  at: Date;
  tokens: bigint;
  count: number;
};

/**
 * What an account has committed since then: payouts of executed quotes, refunds and onramps, oldest
 * first. What failed is left out. Reads the tables of later modules, so that all of it is summed
 * under one lock.
 */
export function listUses(session: Session, account_id: string, since: Date): Promise<TokenUse[]> {
  return session.query<TokenUse>(
    `select q.account_id, q.user_id, coalesce(d.payee_index, uuid_send(d.id)) as payee,
       q.price_version_id, q.deposit_token as token, q.executed_at as at,
       sum(o.token_amount - o.token_fee)::bigint as tokens, count(*)::int as count
     from quotes q
     join offramps o on o.account_id = q.account_id and o.quote_id = q.id and o.status <> 'failed'
     join payment_details d on d.account_id = o.account_id and d.id = o.payment_detail_id
     where q.account_id = $1 and q.executed_at > $2
     group by q.account_id, q.id, coalesce(d.payee_index, uuid_send(d.id))
     union all
     select account_id, user_id, null, null, token, created_at, amount, 1 from refunds
     where account_id = $1 and id >= $3 and created_at > $2 and status <> 'failed'
     union all
     select account_id, user_id, null, price_version_id, crypto_currency, created_at,
       destination_amount, 1
     from onramps where account_id = $1 and id >= $3 and created_at > $2 and status <> 'failed'
     order by at`,
    [account_id, since, firstIdAt(since)],
  );
}

type QuotePart = {
  account_id: string;
  quote_id: string;
  payee: Buffer;
  tokens: bigint;
  largest: bigint;
  count: number;
};

/** What these quotes would pay to each bank account. */
export function listQuoteParts(
  session: Session,
  quotes: readonly RecordKey[],
): Promise<QuotePart[]> {
  return session.query<QuotePart>(
    `select o.account_id, o.quote_id, coalesce(d.payee_index, uuid_send(d.id)) as payee,
       sum(o.token_amount - o.token_fee)::bigint as tokens,
       max(o.token_amount - o.token_fee)::bigint as largest, count(*)::int as count
     from unnest($1::uuid[], $2::uuid[]) as wanted (account_id, id)
     join offramps o on o.account_id = wanted.account_id and o.quote_id = wanted.id
       and o.status <> 'failed'
     join payment_details d on d.account_id = o.account_id and d.id = o.payment_detail_id
     group by o.account_id, o.quote_id, coalesce(d.payee_index, uuid_send(d.id))`,
    columnsOf(quotes, "account_id", "id"),
  );
}

/** What open quotes would cost: not executed, or executed and not paid yet. */
export function listOpenQuotes(
  session: Session,
  account_id: string,
  now: Date,
): Promise<{ id: string; price_version_id: string; token: string; tokens: bigint }[]> {
  return session.query(
    `select id, price_version_id, deposit_token as token, token_amount as tokens from quotes
     where account_id = $1 and funded_at is null and closed_at is null
       and (executed_at is not null or expires_at > $2) and token_amount > 0`,
    [account_id, now],
  );
}

/** The bank account behind each payment detail. */
export async function findPayees(
  session: Session,
  details: readonly RecordKey[],
): Promise<Map<string, Buffer>> {
  const rows = await session.query<{ id: string; payee: Buffer }>(
    `select id, coalesce(payee_index, uuid_send(id)) as payee from payment_details
     where account_id = any($1::uuid[]) and id = any($2::uuid[])`,
    columnsOf(details, "account_id", "id"),
  );
  return new Map(rows.map((row) => [row.id, row.payee]));
}

import type { Session, Transaction } from "../platform/db/database.ts";
import {
  accountsOf,
  columnsOf,
  deleteRow,
  findRow,
  perAccount,
  type RecordKey,
  setOf,
} from "../platform/db/rows.ts";
import { DAY_MS } from "../platform/durations.ts";
import { firstIdAt } from "../platform/ids.ts";
import { vouchedTable } from "../platform/sealing/vouched-rows.ts";
import { insertVouched } from "../platform/sealing/write-vouched.ts";
import { EVERY, type LimitRule, type UseKey } from "./model.ts";
import type { Tokens } from "./usd-rates.ts";

export const LIMIT_RULES = vouchedTable(
  "limit_rules",
  ["account_id", "user_id", "scope", "time_window"],
  ["amount_max", "count_max", "created_at"],
);

/** Fails if somebody changed one: what it limits does not leave. */
export async function listRules(
  session: Session,
  account_ids: readonly string[],
): Promise<LimitRule[]> {
  const owned = [...account_ids, EVERY].map((account_id) => ({ account_id }));
  const rows = await perAccount(session, owned, (some) => {
    const accounts = accountsOf(session, some);
    return session.query<LimitRule>(
      `select * from limit_rules where account_id ${accounts.equal}
       order by account_id, user_id, scope, time_window`,
      [accounts.value],
    );
  });
  return LIMIT_RULES.assertVouched(session, rows);
}

export function listAllRules(session: Session): Promise<LimitRule[]> {
  return session.query<LimitRule>(
    "select * from limit_rules order by account_id, user_id, scope, time_window",
  );
}

export function findRule(
  session: Session,
  { account_id, user_id, scope, time_window }: LimitRule,
): Promise<LimitRule | undefined> {
  return findRow(session, "limit_rules", { account_id, user_id, scope, time_window });
}

export function upsertRule(tx: Transaction, rule: LimitRule, now: Date): void {
  const { account_id, user_id, scope, time_window, amount_max, count_max } = rule;
  insertVouched(
    tx,
    LIMIT_RULES,
    { account_id, user_id, scope, time_window, amount_max, count_max, created_at: now },
    `on conflict (account_id, user_id, scope, time_window) do update
       set amount_max = excluded.amount_max, count_max = excluded.count_max,
         created_at = excluded.created_at, mac = excluded.mac`,
  );
}

export function deleteRule(
  tx: Transaction,
  { account_id, user_id, scope, time_window }: Omit<LimitRule, "amount_max" | "count_max">,
): void {
  deleteRow(tx, "limit_rules", { account_id, user_id, scope, time_window });
}

/** So many uses at one version of the rates. */
export type TokenSum = Tokens & { count: number };
type TokenUse = TokenSum & { at: Date };

/** As text: a sum may be larger than a bigint. */
type SumRow = Omit<TokenSum, "tokens"> & { tokens: string };

/** No offramp is older than this when its quote is executed. */
const QUOTE_LIFE_MAX_MS = DAY_MS;

/*
 * Each of many rows finds one of another table. Where a table has no statistics yet, the planner
 * could compare all with all: `offset 0` makes a look-up of it, `|| ''` leaves only the primary
 * key.
 */

// Reads the tables of later modules, so that all of it is summed under one lock. In all statements
// $1 is the account, $2 the time, $4 the first id of quotes and offramps; $3 is the bank account or
// the first id of refunds and onramps, and $5 the user.

const SENT_TOKENS = "(o.token_amount - o.token_fee)";

/** The part of a payout that a return of `returned` gave back; rounded down, so never too much. */
const cameBack = (returned: string) =>
  `div(${SENT_TOKENS}::numeric * least(${returned}, o.destination_amount),
    o.destination_amount)::bigint`;

/**
 * A failed payout frees what did not leave or came back: all of it, unless a bank returned less.
 * `r.returned_amount` is that of the last return, null if there was none.
 */
const LAST_RETURN = `left join lateral (select p.returned_amount from payouts p
    where o.status = 'failed' and o.attempt > 0
      and p.account_id = o.account_id and p.offramp_id = o.id
      and p.status || '' = 'returned'
    order by p.attempt desc limit 1) r on true`;
const FREED_TOKENS = cameBack("coalesce(r.returned_amount, o.destination_amount)");
const IS_ALL_FREED = "coalesce(r.returned_amount, o.destination_amount) >= o.destination_amount";

const PAYEE_USE = "q.price_version_id, q.deposit_token as token, true as is_paid_out";
const TO_PAYEE = `payment_details d
  join offramps o on o.payment_detail_id = d.id and o.account_id = d.account_id
    and o.status not in ('failed', 'bounced')
  join quotes q on q.account_id = o.account_id and q.id = o.quote_id`;
const IS_PAYEE = `d.account_id = $1
  and coalesce(d.payee_index, uuid_send(d.id)) = decode($3, 'hex')`;

/**
 * Payouts to a bank account; a re-route counts from its own time, however old the payout is. Of a
 * payout that was returned, what the bank did not return still counts for the account it was sent
 * to, wherever the rest went.
 */
const PAYEE_USES = `select ${PAYEE_USE}, ${SENT_TOKENS} as tokens, q.executed_at as at
  from ${TO_PAYEE}
  where ${IS_PAYEE} and o.attempt <= 1 and o.id >= $4 and q.executed_at > $2
  union all
  select ${PAYEE_USE}, ${SENT_TOKENS} as tokens, p.created_at as at from ${TO_PAYEE}
  join payouts p on p.account_id = o.account_id and p.offramp_id = o.id and p.attempt = o.attempt
  where ${IS_PAYEE} and o.attempt > 1 and p.created_at > $2
  union all
  select * from (
    select ${PAYEE_USE}, ${SENT_TOKENS} - ${cameBack("p.returned_amount")} as tokens,
      case when p.attempt = 1 then q.executed_at else p.created_at end as at
    from payment_details d
    cross join lateral (select * from payouts
      where payment_detail_id = d.id and account_id = d.account_id
        and status = 'returned' offset 0) as p
    join offramps o on o.account_id = p.account_id and o.id = p.offramp_id
      and p.returned_amount < o.destination_amount
    join quotes q on q.account_id = o.account_id and q.id = o.quote_id
    where ${IS_PAYEE}) as kept
  where at > $2`;

type OfUser = (column: string) => string;
const OF_ANY_USER: OfUser = () => "";
const OF_ONE_USER: OfUser = (column) => `and ${column} = $5`;

type Bucket = (column: string) => string;
const ALL_TIMES: Bucket = () => "null::timestamptz";
/** The end of the hour. */
const BY_HOUR: Bucket = (column) =>
  `date_bin('1 hour', ${column}, timestamptz 'epoch') + interval '1 hour'`;

/** Sums what a quote is for, less what it frees: the quotes alone are read in most cases. */
function sumStatement(ofUser: OfUser, at: Bucket): string {
  const of_user = ofUser("user_id");
  return `select price_version_id, token, at, is_paid_out, sum(tokens)::text as tokens,
      sum(count)::int as count
    from (
      select price_version_id, deposit_token as token, ${at("executed_at")} as at,
        true as is_paid_out, sum(token_amount - token_fees) as tokens, sum(offramp_count) as count
      from quotes where account_id = $1 and executed_at > $2 and id >= $4 ${of_user}
      group by 1, 2, 3
      union all
      select q.price_version_id, q.deposit_token, ${at("q.executed_at")}, true,
        -sum(freed.tokens), -sum(freed.count)
      from (
        -- By quote first: there may be any number of payouts that were never sent.
        select o.quote_id, sum(${FREED_TOKENS}) as tokens,
          count(*) filter (where ${IS_ALL_FREED}) as count
        from offramps o ${LAST_RETURN}
        where o.account_id = $1 and o.status = 'failed' and o.id >= $4 ${ofUser("o.user_id")}
        group by o.quote_id) as freed
      cross join lateral (select * from quotes
        where account_id = $1 and id = freed.quote_id offset 0) as q
      where q.executed_at > $2
      group by 1, 2, 3
      union all
      select null::uuid, token, ${at("created_at")}, false, sum(amount), count(*) from refunds
      where account_id = $1 and id >= $3 and created_at > $2 and status <> 'failed' ${of_user}
      group by 1, 2, 3
      union all
      select price_version_id, crypto_currency, ${at("created_at")}, false,
        sum(destination_amount), count(*)
      from onramps
      where account_id = $1 and id >= $3 and created_at > $2 and status <> 'failed' ${of_user}
      group by 1, 2, 3
    ) as parts group by price_version_id, token, at, is_paid_out order by at`;
}

async function sumUses<At extends Date | null>(
  session: Session,
  key: UseKey,
  since: Date,
  at: Bucket,
): Promise<(TokenSum & { at: At })[]> {
  const of_payee = `select price_version_id, token, ${at("at")} as at, is_paid_out,
      sum(tokens)::text as tokens, count(*)::int as count
    from (${PAYEE_USES}) as uses group by 1, 2, 3, 4 order by 3`;
  const of_user = key.scope === "user" ? OF_ONE_USER : OF_ANY_USER;
  const statement = key.scope === "payee" ? of_payee : sumStatement(of_user, at);
  const rows = await session.query<SumRow & { at: At }>(statement, valuesOf(key, since));
  return rows.map((row) => ({ ...row, tokens: BigInt(row.tokens) }));
}

/**
 * What was committed since then: payouts of executed quotes, refunds and onramps. What failed
 * counts only as far as its money left and did not come back.
 */
export function findUseSums(session: Session, key: UseKey, since: Date): Promise<TokenSum[]> {
  return sumUses<null>(session, key, since, ALL_TIMES);
}

/** The same by hour, oldest first; `at` is the end of the hour. */
export function listUseHours(session: Session, key: UseKey, since: Date): Promise<TokenUse[]> {
  return sumUses<Date>(session, key, since, BY_HOUR);
}

export const USES_PER_PAGE = 500;

function pageStatement(ofUser: OfUser): string {
  const of_user = ofUser("user_id");
  const page = `order by at fetch first ${USES_PER_PAGE} rows with ties`;
  const refunds = `from refunds where account_id = $1 and id >= $3 and created_at > $2
    and status <> 'failed' ${of_user}`;
  const onramps = `from onramps where account_id = $1 and id >= $3 and created_at > $2
    and status <> 'failed' ${of_user}`;
  return `select price_version_id, token, is_paid_out, tokens, count, at from (
      (select q.price_version_id, q.deposit_token as token, true as is_paid_out,
        coalesce(sum(case when o.status = 'failed' then ${SENT_TOKENS} - ${FREED_TOKENS}
          else ${SENT_TOKENS} end), 0)::bigint as tokens,
        (count(o.id) filter (where o.status <> 'failed' or not ${IS_ALL_FREED}))::int as count,
        q.executed_at as at
      from (select account_id, id, price_version_id, deposit_token, executed_at,
          executed_at as at from quotes
        where account_id = $1 and executed_at > $2 and id >= $4 ${of_user} ${page}) as q
      left join offramps o on o.account_id = q.account_id and o.quote_id = q.id
      ${LAST_RETURN}
      group by q.id, q.price_version_id, q.deposit_token, q.executed_at)
      union all (select null, token, false, amount, 1, created_at as at ${refunds} ${page})
      union all (select price_version_id, crypto_currency, false, destination_amount, 1,
        created_at as at ${onramps} ${page})
    ) as uses ${page}`;
}

/** The oldest uses after a time, oldest first: a page, or all that are left. */
export function listOldestUses(session: Session, key: UseKey, since: Date): Promise<TokenUse[]> {
  return key.scope === "payee"
    ? session.query<TokenUse>(
        `select *, 1 as count from (${PAYEE_USES}) as uses
         order by at fetch first ${USES_PER_PAGE} rows with ties`,
        valuesOf(key, since),
      )
    : session.query<TokenUse>(
        pageStatement(key.scope === "user" ? OF_ONE_USER : OF_ANY_USER),
        valuesOf(key, since),
      );
}

function valuesOf({ account_id, scope, of }: UseKey, since: Date): unknown[] {
  const first_quote = firstIdAt(new Date(since.getTime() - QUOTE_LIFE_MAX_MS));
  if (scope === "payee") return [account_id, since, of, first_quote];
  const values = [account_id, since, firstIdAt(since), first_quote];
  return scope === "user" ? [...values, of] : values;
}

export type QuotePart = {
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
  const wanted = setOf(session, "wanted", "account_id uuid, id uuid", quotes);
  return session.query<QuotePart>(
    `select o.account_id, o.quote_id, coalesce(d.payee_index, uuid_send(d.id)) as payee,
       sum(o.token_amount - o.token_fee)::bigint as tokens,
       max(o.token_amount - o.token_fee)::bigint as largest, count(*)::int as count
     from ${wanted.from}
     join offramps o on o.account_id = wanted.account_id and o.quote_id = wanted.id
       and o.status <> 'failed'
     join payment_details d on d.account_id = o.account_id and d.id = o.payment_detail_id
     group by o.account_id, o.quote_id, coalesce(d.payee_index, uuid_send(d.id))`,
    wanted.values,
  );
}

/** What open quotes would cost: not executed, or executed and not paid yet. */
export async function findOpenQuoteSums(
  session: Session,
  account_id: string,
  now: Date,
): Promise<TokenSum[]> {
  const open = "account_id = $1 and closed_at is null and funded_at is null";
  const rows = await session.query<SumRow>(
    `select price_version_id, deposit_token as token, true as is_paid_out,
       sum(token_amount)::text as tokens, count(*)::int as count
     from (
       select * from quotes where ${open} and executed_at is null and expires_at > $2
       union all select * from quotes where ${open} and executed_at is not null
     ) as quotes where token_amount > 0 group by price_version_id, deposit_token`,
    [account_id, now],
  );
  return rows.map((row) => ({ ...row, tokens: BigInt(row.tokens) }));
}

/** The bank account behind each payment detail. */
export async function findPayees(
  session: Session,
  details: readonly RecordKey[],
): Promise<Map<string, Buffer>> {
  const accounts = accountsOf(session, details);
  const rows = await session.query<{ id: string; payee: Buffer }>(
    `select id, coalesce(payee_index, uuid_send(id)) as payee from payment_details
     where account_id ${accounts.equal} and id = any($2::uuid[])`,
    [accounts.value, ...columnsOf(details, "id")],
  );
  return new Map(rows.map((row) => [row.id, row.payee]));
}

import type { Session, Transaction } from "../../platform/db/database.ts";

/** What moved money in the books, and why. */
export type EffectKind =
  | "booked"
  | "returned"
  | "implied"
  | "rejected"
  | "sent_back"
  | "deposit"
  | "moving"
  | "bank_opened"
  | "bank_transfer"
  | "bank_fee";

/**
 * Everything that changed `bank:<account>` (`$1`) in the ledger, by the record that caused it. Each
 * has the reference of the bank's line, if it is from one.
 */
const EFFECTS = `select 'booked' as kind, b.bank_reference as reference, b.currency,
    -b.amount as amount, b.created_at as at
  from bank_answers b where b.bank_account = $1 and b.kind = 'booked' and (b.outcome = 'applied'
    or b.status = 'resolved' and b.resolution in ('assign', 'write_off'))
  union all
  select 'returned', b.bank_reference, b.currency, b.amount, b.created_at
  from bank_answers b where b.bank_account = $1 and b.kind = 'returned' and b.amount > 0
  union all
  select 'implied', p.end_to_end_id, o.destination_currency, -o.destination_amount, p.updated_at
  from payouts p join offramps o on o.account_id = p.account_id and o.id = p.offramp_id
  where p.bank_account = $1 and p.is_booking_implied
  union all
  select 'rejected', b.bank_reference, b.currency, b.amount, b.updated_at
  from bank_answers b join payouts p on p.account_id = b.account_id
    and p.offramp_id = b.assigned_offramp_id and p.attempt = b.assigned_attempt
  where p.bank_account = $1 and b.kind = 'rejected' and b.held = 0
    and b.status = 'resolved' and b.resolution = 'assign'
  union all
  select 'sent_back', coalesce(r.end_to_end_id, b.id::text), b.currency, -b.held, b.updated_at
  from bank_answers b
  left join bank_returns r on r.key = 'bank_exception:' || b.id || ':' || b.returns
  where b.bank_account = $1 and b.status = 'resolved' and b.resolution = 'return'
  union all
  select 'deposit', d.bank_reference, d.currency, d.amount, d.created_at
  from fiat_deposits d where d.ledger_account = 'bank:' || $1 and d.part = 0 and d.is_posted
    and d.status <> 'dismissed'
  union all
  select 'sent_back', coalesce(r.end_to_end_id, d.id::text), d.currency,
    -coalesce(d.matched_amount, d.amount), d.updated_at
  from fiat_deposits d
  left join bank_returns r on r.key = 'deposit:' || d.id || ':' || d.returns
  where d.ledger_account = 'bank:' || $1 and d.status = 'returned'
  union all
  select 'moving', d.id::text, d.currency,
    case d.status when 'matching' then o.received else -o.received end, d.updated_at
  from fiat_deposits d join onramps o on o.account_id = d.onramp_account_id
    and o.id = d.onramp_id and o.deposit_id = d.id
  where d.ledger_account = 'bank:' || $1 and (d.status = 'matching' and o.status <> 'failed'
    or d.status = 'releasing' and o.status = 'failed')
  union all
  select e.kind, case e.kind when 'bank_opened' then null else split_part(e.key, ':', 3) end,
    l.currency, l.amount, e.created_at
  from accounts a
  join ledger_lines l on l.account_id = a.id and l.ledger_account = 'bank:' || $1
  join ledger_entries e on e.account_id = a.id and e.id = l.entry_id
    and e.kind in ('bank_opened', 'bank_transfer', 'bank_fee')
  where a.is_operator`;

/** The line of each reference: the first one, should two lines claim to be the same. */
const REFERENCES = `select distinct on (reference) reference, entry_key, booked_on from (
    select entry_key, booked_on, unnest(answer_references) as reference
    from bank_lines where bank_account = $1
    union all
    select entry_key, booked_on, entry_key || '-' || part
    from bank_lines where bank_account = $1 and state = 'treasury') as named
  order by reference, entry_key`;

const LINKED = `with effects as (${EFFECTS}), reference as (${REFERENCES}),
  linked as (select e.*, r.booked_on, case when exists (
      select from bank_statement_entries s where s.entry_key = r.entry_key) then r.entry_key end
      as entry_key
    from effects e left join reference r using (reference) where e.currency = $2)`;

/** What the books have of each line that is on a statement. */
export async function findBookedEntries(
  session: Session,
  bank_account: string,
  currency: string,
): Promise<Map<string, bigint>> {
  const rows = await session.query<{ entry_key: string; amount: string }>(
    `${LINKED} select entry_key, sum(amount)::text as amount from linked
     where entry_key is not null group by entry_key`,
    [bank_account, currency],
  );
  return new Map(rows.map(({ entry_key, amount }) => [entry_key, BigInt(amount)]));
}

export type UnlistedEffect = {
  kind: EffectKind;
  reference: string | null;
  amount: bigint;
  /** YYYY-MM-DD: the bank's, else ours. */
  day: string;
};

/** What the books have and no statement. */
export async function listUnlistedEffects(
  session: Session,
  bank_account: string,
  currency: string,
): Promise<UnlistedEffect[]> {
  const rows = await session.query<Omit<UnlistedEffect, "amount"> & { amount: string }>(
    `${LINKED} select kind, reference, amount::text,
       coalesce(booked_on, (at at time zone 'UTC')::date)::text as day
     from linked where entry_key is null order by day, reference`,
    [bank_account, currency],
  );
  return rows.map((row) => ({ ...row, amount: BigInt(row.amount) }));
}

export type OpenLine = { number: bigint; entry_key: string; problem: string | null };

/** The parts of these lines that are not in the books. */
export function listOpenLines(
  session: Session,
  bank_account: string,
  entry_keys: readonly string[],
): Promise<OpenLine[]> {
  return session.query(
    `select number, entry_key, problem from bank_lines
     where bank_account = $1 and entry_key = any($2)
       and state in ('unmatched', 'settled') order by number`,
    [bank_account, entry_keys],
  );
}

type BankReconciliation = {
  bank_account: string;
  currency: string;
  /** YYYY-MM-DD */
  closed_on: string;
  /** What the ledger had then. */
  balance: bigint;
  difference: bigint;
  is_tampered: boolean;
  /** Real time. */
  at: Date;
};

export function upsertBankReconciliation(tx: Transaction, row: BankReconciliation): void {
  const { bank_account, currency, closed_on, balance, difference, is_tampered, at } = row;
  tx.write(
    `insert into bank_reconciliations
       (bank_account, currency, closed_on, balance, difference, is_tampered, at)
     values ($1, $2, $3, $4, $5, $6, $7) on conflict (bank_account, currency) do update set
       closed_on = excluded.closed_on, balance = excluded.balance,
       difference = excluded.difference,
       is_tampered = excluded.is_tampered, at = excluded.at`,
    [bank_account, currency, closed_on, String(balance), String(difference), is_tampered, at],
  );
}

export async function listBankReconciliations(session: Session): Promise<BankReconciliation[]> {
  const rows = await session.query<
    Omit<BankReconciliation, "balance" | "difference"> & Record<"balance" | "difference", string>
  >(
    `select bank_account, currency, closed_on::text as closed_on, balance::text as balance,
       difference::text as difference, is_tampered, at
     from bank_reconciliations order by bank_account, currency`,
  );
  return rows.map((row) => ({
    ...row,
    balance: BigInt(row.balance),
    difference: BigInt(row.difference),
  }));
}

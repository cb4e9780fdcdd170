import { CHAINS } from "../../catalogue/chains.ts";
import { onrampAccount, owedTo, payoutPending, refundPending } from "../../ledger/model.ts";
import type { Session } from "../../platform/db/database.ts";
import type { Page } from "../../platform/http/list.ts";

type JournalFilter = {
  /** An account of the chart, or the first word of those of single records. */
  ledger_account?: string;
  currency?: string;
  /** A payout, onramp, refund, quote, deposit or person. */
  record_id?: string;
};

/** What no index serves is compared entry by entry, for this many entries a request. */
const LOOKED_AT_MAX = 1_000;

/** Entries of a record that are on no ledger account of its own. */
const KEYS = ["fund", "fiat_deposit", "fiat_withdrawn", "fiat_kept"];

type JournalPage = {
  ids: string[];
  /** Where the next page begins. */
  next: string | null;
};

/** A page of the journal, newest first. A page that is not full may be followed by others. */
export async function listJournal(
  session: Session,
  account_id: string,
  filter: JournalFilter,
  { below_id, from_id, limit }: Page,
): Promise<JournalPage> {
  const { ledger_account = null, currency = null, record_id } = filter;
  const values: unknown[] = [account_id, below_id, from_id, LOOKED_AT_MAX, limit + 1];
  values.push(ledger_account, currency);
  if (record_id !== undefined) values.push(accountsOf(record_id), keysOf(record_id));
  const rows = await session.query<{ id: string | null; looked_at: number; looked_until: string }>(
    `with looked as materialized (
       ${record_id === undefined ? NEWEST : OF_RECORD} order by id desc limit $4),
     found as (
       select id from looked where ($6::text is null and $7::text is null) or exists (
         select from ledger_lines l where l.account_id = $1 and l.entry_id = looked.id
           and ($6::text is null or $6 in (l.ledger_account, split_part(l.ledger_account, ':', 1)))
           and ($7::text is null or l.currency = $7))
       order by id desc limit $5),
     extent as (select count(*)::integer as looked_at,
       (select id from looked order by id limit 1) as looked_until from looked)
     select found.id, extent.* from extent left join found on true order by found.id desc`,
    values,
  );
  const found = rows.flatMap(({ id }) => id ?? []);
  const ids = found.slice(0, limit);
  if (found.length > limit) return { ids, next: ids.at(-1)! };
  const { looked_at = 0, looked_until = null } = rows[0] ?? {};
  return { ids, next: looked_at === LOOKED_AT_MAX ? looked_until : null };
}

const NEWEST = `select id from ledger_entries
  where account_id = $1 and id < $2 and id >= $3`;

const OF_RECORD = `select id from (
  select line.id from unnest($8::text[]) as wanted (ledger_account)
  cross join lateral (
    select distinct entry_id as id from ledger_lines
    where account_id = $1 and ledger_account = wanted.ledger_account
      and entry_id < $2 and entry_id >= $3
    order by id desc limit $4
  ) as line
  union
  select id from ledger_entries
  where account_id = $1 and key = any($9::text[]) and id < $2 and id >= $3) as own`;

function accountsOf(record_id: string): string[] {
  return [
    ...[payoutPending(record_id), onrampAccount(record_id), refundPending(record_id)],
    ...CHAINS.map((chain) => owedTo(record_id, chain)),
  ];
}

function keysOf(record_id: string): string[] {
  return KEYS.map((kind) => `${kind}:${record_id}`);
}

import type { AuditRow } from "../accounts/audit-store.ts";
import type { LineSum } from "../ledger/day-sum-store.ts";
import type { Session } from "../platform/db/database.ts";
import type { Page } from "../platform/http/list.ts";

export type RecordKey = { account_id: string; record_id: string };

export type HistoryEvent = {
  account_id: string;
  id: string;
  name: string;
  from_status: string | null;
  to_status: string;
  actor: string | null;
  subject_id: string | null;
  /** Sealed; null after its retention ended, and beyond the newest of BODY_BYTES_MAX in all. */
  body: Buffer | null;
  created_at: Date;
};

const BODY_BYTES_MAX = 4_000_000;

export function listEventsOf(
  session: Session,
  { account_id, record_id }: RecordKey,
  limit: number,
): Promise<HistoryEvent[]> {
  return session.query(
    `select account_id, id, name, from_status, to_status, actor, subject_id, created_at,
       case when sum(octet_length(body)) over (order by sequence desc) <= ${BODY_BYTES_MAX}
         then body end as body
     from (select * from events where record_id = $2 and account_id = $1
       order by sequence desc limit $3) as newest
     order by sequence desc`,
    [account_id, record_id, limit],
  );
}

/** `records` are `kind:id`. Only the index by record has the order of `between`. */
export function listAuditOf(
  session: Session,
  account_id: string,
  records: readonly string[],
  limit: number,
): Promise<AuditRow[]> {
  return session.query(
    `select entry.* from unnest($2::text[]) as wanted (record)
     cross join lateral (
       select account_id, id, at, actor, action, record, reason, detail from audit_entries
       where account_id = $1 and record between wanted.record and wanted.record
       order by record desc, id desc limit $3
     ) as entry order by entry.id desc limit $3`,
    [account_id, records, limit],
  );
}

/** The matches of a user or a payment detail with screening lists. */
export async function listMatchIds(
  session: Session,
  { account_id, record_id }: RecordKey,
  limit: number,
): Promise<string[]> {
  const rows = await session.query<{ id: string }>(
    `select id from screening_matches where account_id = $1 and record_id = $2
     order by id desc limit $3`,
    [account_id, record_id, limit],
  );
  return rows.map(({ id }) => id);
}

export type HistoryProposal = {
  id: string;
  kind: string;
  summary: string;
  proposed_by: string;
  status: string;
  outcome: string | null;
  created_at: Date;
  updated_at: Date;
};

export function listProposalsOf(
  session: Session,
  { account_id, record_id }: RecordKey,
  limit: number,
): Promise<HistoryProposal[]> {
  return session.query(
    `select id, kind, summary, proposed_by, status, outcome, created_at, updated_at from proposals
     where account_id = $1 and record_id = $2 order by id desc limit $3`,
    [account_id, record_id, limit],
  );
}

/** The newest entries on these ledger accounts or with these keys. */
export async function listEntryIds(
  session: Session,
  account_id: string,
  of: { ledger_accounts: readonly string[]; keys: readonly string[] },
  limit: number,
): Promise<string[]> {
  const rows = await session.query<{ id: string }>(
    `select line.id from unnest($2::text[]) as wanted (ledger_account)
     cross join lateral (
       select distinct entry_id as id from ledger_lines
       where account_id = $1 and ledger_account = wanted.ledger_account
       order by id desc limit $4
     ) as line
     union
     select id from ledger_entries where account_id = $1 and key = any($3::text[])
     order by id desc limit $4`,
    [account_id, of.ledger_accounts, of.keys, limit],
  );
  return rows.map(({ id }) => id);
}

/**
 * The newest entries of a page; with a ledger account, those that have a line on it. `is_cut`: too
 * many entries fit only one of both filters, and there may be more beyond them.
 */
export async function listEntryPage(
  session: Session,
  { account_id, kind, ledger_account }: EntryFilter,
  { below_id, from_id, limit }: Page,
): Promise<{ ids: string[]; is_cut: boolean }> {
  const values = [account_id, below_id, from_id, limit + 1];
  const read = async (text: string, ...more: (string | number)[]) => {
    const rows = await session.query<{ id: string; is_match?: boolean }>(text, [
      ...values,
      ...more,
    ]);
    const ids = rows.filter(({ is_match }) => is_match !== false).map(({ id }) => id);
    return { ids, is_cut: ids.length < rows.length };
  };
  if (ledger_account === undefined) {
    const of_kind = kind === undefined ? "" : "and e.kind = $5";
    return read(
      `select e.id from ledger_entries e
       where e.account_id = $1 and e.id < $2 and e.id >= $3 ${of_kind}
       order by e.id desc limit $4`,
      ...(kind === undefined ? [] : [kind]),
    );
  }
  if (kind === undefined) {
    return read(
      `select distinct l.entry_id as id from ledger_lines l
       where l.account_id = $1 and l.ledger_account = $5
         and l.entry_id < $2 and l.entry_id >= $3 order by id desc limit $4`,
      ledger_account,
    );
  }
  return read(ENTRIES_OF_BOTH, ledger_account, kind, STEPS_MAX);
}

/** Where two filters alternate, a page would otherwise read the whole ledger. */
const STEPS_MAX = 10_000;

/**
 * Each step goes from the next entry of the kind to the next line of the account: it skips all
 * entries of the kind between two lines, and all lines between two entries of the kind. The last
 * allowed step is a row that is no match.
 */
const ENTRIES_OF_BOTH = `
  with recursive steps as (
    select $2::uuid as id, true as is_match, 0 as step
    union all
    select l.entry_id, l.entry_id = e.id and s.step + 1 < $7, s.step + 1 from steps s
    cross join lateral (
      select e.id from ledger_entries e
      where e.account_id = $1 and e.kind = $6 and e.id >= $3
        and e.id <= s.id and (e.id < s.id or not s.is_match)
      order by e.id desc limit 1
    ) as e
    cross join lateral (
      select l.entry_id from ledger_lines l
      where l.account_id = $1 and l.ledger_account = $5 and l.entry_id >= $3 and l.entry_id <= e.id
      order by l.entry_id desc limit 1
    ) as l
    where s.step < $7
  )
  select id, is_match from steps where is_match or step = $7 offset 1 limit $4`;

type EntryFilter = {
  account_id: string;
  kind?: string | undefined;
  ledger_account?: string | undefined;
};

/** The sums of the lines of one ledger account, of entries before an id. */
export async function listLineSums(
  session: Session,
  account_id: string,
  { below_id, ledger_account }: { below_id: string; ledger_account: string },
): Promise<LineSum[]> {
  // As text: the sum may be larger than a bigint.
  const rows = await session.query<{ ledger_account: string; currency: string; amount: string }>(
    `select ledger_account, currency, sum(amount)::text as amount from ledger_lines
     where account_id = $1 and entry_id < $2 and ledger_account = $3
     group by 1, 2 order by 1, 2`,
    [account_id, below_id, ledger_account],
  );
  return rows.map((row) => ({ ...row, amount: BigInt(row.amount) }));
}

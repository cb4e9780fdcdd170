import type { AuditRow } from "../accounts/audit-store.ts";
import type { Session } from "../platform/db/database.ts";
import type { Page } from "../platform/http/list.ts";

export type RecordKey = { account_id: string; record_id: string };

type HistoryEvent = {
  id: string;
  name: string;
  from_status: string | null;
  to_status: string;
  actor: string | null;
  created_at: Date;
};

export function listEventsOf(
  session: Session,
  { account_id, record_id }: RecordKey,
  limit: number,
): Promise<HistoryEvent[]> {
  return session.query(
    `select id, name, from_status, to_status, actor, created_at from events
     where record_id = $2 and account_id = $1 order by sequence desc limit $3`,
    [account_id, record_id, limit],
  );
}

/** `records` are `kind:id`. */
export function listAuditOf(
  session: Session,
  account_id: string,
  records: readonly string[],
  limit: number,
): Promise<AuditRow[]> {
  return session.query(
    `select account_id, id, at, actor, action, record, reason, detail from audit_entries
     where account_id = $1 and record = any($2::text[]) order by id desc limit $3`,
    [account_id, records, limit],
  );
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
    `select entry_id as id from ledger_lines
     where account_id = $1 and ledger_account = any($2::text[])
     union
     select id from ledger_entries where account_id = $1 and key = any($3::text[])
     order by id desc limit $4`,
    [account_id, of.ledger_accounts, of.keys, limit],
  );
  return rows.map(({ id }) => id);
}

/** The newest entries of a page; with a ledger account, those that have a line on it. */
export async function listEntryPage(
  session: Session,
  { account_id, kind, ledger_account }: EntryFilter,
  { below_id, from_id, limit }: Page,
): Promise<string[]> {
  const rows =
    ledger_account === undefined
      ? await session.query<{ id: string }>(
          `select id from ledger_entries
           where account_id = $1 and id < $2 and id >= $3 and ($5::text is null or kind = $5)
           order by id desc limit $4`,
          [account_id, below_id, from_id, limit + 1, kind ?? null],
        )
      : await session.query<{ id: string }>(
          `select distinct l.entry_id as id from ledger_lines l
           join ledger_entries e on e.account_id = l.account_id and e.id = l.entry_id
           where l.account_id = $1 and l.ledger_account = $6
             and l.entry_id < $2 and l.entry_id >= $3 and ($5::text is null or e.kind = $5)
           order by id desc limit $4`,
          [account_id, below_id, from_id, limit + 1, kind ?? null, ledger_account],
        );
  return rows.map(({ id }) => id);
}

type EntryFilter = {
  account_id: string;
  kind?: string | undefined;
  ledger_account?: string | undefined;
};

/**
 * The sums of all lines of entries before an id. Accounts of one record (`owed:…`) are summed under
 * their name, so that the answer stays small; a single one is asked for by its whole name.
 */
export async function listLineSums(
  session: Session,
  account_id: string,
  { below_id, ledger_account }: { below_id: string; ledger_account?: string | undefined },
): Promise<{ ledger_account: string; currency: string; amount: bigint }[]> {
  const name =
    ledger_account === undefined
      ? "case when starts_with(ledger_account, 'wallet:') then ledger_account " +
        "else split_part(ledger_account, ':', 1) end"
      : "ledger_account";
  // As text: the sum may be larger than a bigint.
  const rows = await session.query<{ ledger_account: string; currency: string; amount: string }>(
    `select ${name} as ledger_account, currency, sum(amount)::text as amount from ledger_lines
     where account_id = $1 and entry_id < $2 and ($3::text is null or ledger_account = $3)
     group by 1, 2 order by 1, 2`,
    [account_id, below_id, ledger_account ?? null],
  );
  return rows.map((row) => ({ ...row, amount: BigInt(row.amount) }));
}

import { CHAINS } from "../catalogue/chains.ts";
import type { Session, Transaction, Writer } from "../platform/db/database.ts";
import { insertRows, setOf, updateRows } from "../platform/db/rows.ts";
import { type Entry, type EntryLine, owedTo } from "./model.ts";

export type LedgerAccountKey = { account_id: string; ledger_account: string; currency: string };
export type BalanceChange = LedgerAccountKey & { change: bigint };

/** Balances in their natural sign; an account without postings has zero. */
export type Balances = { get(key: LedgerAccountKey): bigint };

/**
 * Stored balances (`owed`, `payout_pending`, `refund_pending`, `onramp`) by primary key. A caller
 * that will reduce what is owed to a user must lock the user's row first.
 */
export async function findBalances(
  session: Session,
  keys: readonly LedgerAccountKey[],
): Promise<Balances> {
  if (keys.length === 0) return { get: () => 0n };
  const t = setOf(session, "t", "account_id uuid, ledger_account text, currency text", keys);
  const rows = await session.query<LedgerAccountKey & { balance: bigint }>(
    `select account_id, ledger_account, currency, b.balance from ledger_balances b
     join ${t.from}
       using (account_id, ledger_account, currency)`,
    t.values,
  );
  const balances = new Map(rows.map((row) => [textOf(row), row.balance]));
  return { get: (key) => balances.get(textOf(key)) ?? 0n };
}

export type OwedBalance = { currency: string; chain: string; balance: bigint };

/** What is owed to a user, by token and chain; a balance that was used up is zero. */
export function listBalances(
  session: Session,
  { account_id, user_id }: { account_id: string; user_id: string },
): Promise<OwedBalance[]> {
  return session.query(
    `select currency, split_part(ledger_account, ':', 3) as chain, balance from ledger_balances
     where account_id = $1 and ledger_account = any($2::text[]) order by currency, chain`,
    [account_id, CHAINS.map((chain) => owedTo(user_id, chain))],
  );
}

/** Entries with their lines, by id; missing ones are left out. */
export function listEntriesById(
  session: Session,
  account_id: string,
  ids: readonly string[],
): Promise<StoredEntry[]> {
  return listEntries(session, account_id, "e.id = any($2::uuid[])", ids);
}

/** Entries with their lines, by business key; missing ones are left out. */
export function listEntriesByKey(
  session: Session,
  account_id: string,
  keys: readonly string[],
): Promise<Entry[]> {
  return listEntries(session, account_id, "e.key = any($2::text[])", keys);
}

/** Entries that have a line on one of these accounts. */
export function listEntriesByLedgerAccount(
  session: Session,
  account_id: string,
  ledger_accounts: readonly string[],
): Promise<Entry[]> {
  const chosen = `e.id in (select entry_id from ledger_lines
    where account_id = $1 and ledger_account = any($2::text[]))`;
  return listEntries(session, account_id, chosen, ledger_accounts);
}

type StoredEntry = Entry & { mac: Buffer | null };

type EntryLineRow = Omit<StoredEntry, "lines"> & {
  ledger_account: string | null;
  currency: string;
  amount: bigint;
};

async function listEntries(
  session: Session,
  account_id: string,
  chosen: string,
  values: readonly string[],
): Promise<StoredEntry[]> {
  if (values.length === 0) return [];
  const rows = await session.query<EntryLineRow>(
    `select e.account_id, e.id, e.key, e.kind, e.created_at, e.mac, l.ledger_account, l.currency,
       l.amount
     from ledger_entries e
     left join ledger_lines l on l.account_id = e.account_id and l.entry_id = e.id
     where e.account_id = $1 and ${chosen} order by e.id, l.number`,
    [account_id, values],
  );
  const entries = new Map<string, StoredEntry & { lines: EntryLine[] }>();
  for (const { ledger_account, currency, amount, ...row } of rows) {
    const entry = entries.get(row.id) ?? { ...row, lines: [] };
    if (ledger_account !== null) entry.lines.push({ ledger_account, currency, amount });
    entries.set(row.id, entry);
  }
  return [...entries.values()];
}

export async function findEntryCount(session: Session, account_id: string): Promise<bigint> {
  const [row] = await session.query<{ count: bigint }>(
    "select count(*) from ledger_entries where account_id = $1",
    [account_id],
  );
  return row!.count;
}

export function insertEntries(tx: Writer, entries: readonly (Entry & { mac: Buffer })[]): void {
  const columns = `account_id uuid, id uuid, key text, kind text, created_at timestamptz,
    mac bytea`;
  insertRows(tx, "ledger_entries", columns, entries);
}

export function insertLines(tx: Writer, entries: readonly Entry[]): void {
  const rows = entries.flatMap(({ account_id, id, lines }) =>
    lines.map((line, index) => ({ account_id, entry_id: id, number: index + 1, ...line })),
  );
  const columns = `account_id uuid, entry_id uuid, number smallint, ledger_account text,
    currency text, amount bigint`;
  insertRows(tx, "ledger_lines", columns, rows);
}

/** Creates missing rows with zero, so that they can be locked. */
export function insertBalances(tx: Writer, keys: readonly LedgerAccountKey[]): void {
  const columns = "account_id uuid, ledger_account text, currency text, balance bigint";
  const rows = keys.map((key) => ({ ...key, balance: 0n }));
  insertRows(tx, "ledger_balances", columns, rows, "on conflict do nothing");
}

export type StoredBalance = LedgerAccountKey & {
  balance: bigint;
  /** The newest entry in it; null before the first. */
  last_entry_id: string | null;
  mac: Buffer | null;
};

export type LockedBalance = StoredBalance & {
  is_stored: boolean;
  /** The newest entry on this account, whether or not it is in the balance. */
  newest_line: string | null;
  /** The sum of its lines, if it is not stored: of a balance that was used up, zero. */
  unstored: bigint | null;
};

/**
 * Locks balances with the writes of the transaction, one after the other in the order of the keys:
 * two postings never deadlock. One without a row is zero. Found key by key (`lateral`), because the
 * planner knows too little of a table that grows so fast.
 */
export function lockBalances(
  tx: Transaction,
  keys: readonly LedgerAccountKey[],
  next: (balances: LockedBalance[], writer: Writer) => void,
): void {
  const set = setOf(tx, "t", BALANCE_KEY, keys);
  tx.writeAfter<LockedBalance>(
    `select t.account_id, t.ledger_account, t.currency, coalesce(b.balance, 0) as balance,
       b.last_entry_id, b.mac, b.balance is not null as is_stored,
       (select l.entry_id from ledger_lines l
        where l.account_id = t.account_id and l.ledger_account = t.ledger_account
          and l.currency = t.currency order by l.entry_id desc limit 1) as newest_line,
       case when b.balance is null then coalesce((select sum(l.amount)::bigint from ledger_lines l
        where l.account_id = t.account_id and l.ledger_account = t.ledger_account
          and l.currency = t.currency), 0) end as unstored
     from ${set.from}
     left join lateral (
       select b.balance, b.last_entry_id, b.mac from ledger_balances b
       where b.account_id = t.account_id and b.ledger_account = t.ledger_account
         and b.currency = t.currency for update
     ) as b on true`,
    set.values,
    next,
  );
}

const BALANCE_KEY = "account_id uuid, ledger_account text, currency text";
const BALANCE_STATE = "balance bigint, last_entry_id uuid, mac bytea";

/** Writes locked balances, and those that had no row: it fails if another posting created one. */
export function upsertBalances(
  tx: Writer,
  balances: readonly (StoredBalance & Pick<LockedBalance, "is_stored">)[],
): void {
  const { stored = [], missing = [] } = Object.groupBy(balances, ({ is_stored }) =>
    is_stored ? "stored" : "missing",
  );
  insertRows(tx, "ledger_balances", `${BALANCE_KEY}, ${BALANCE_STATE}`, missing);
  updateRows(tx, "ledger_balances", BALANCE_KEY, BALANCE_STATE, stored);
}

export function deleteBalances(tx: Writer, keys: readonly LedgerAccountKey[]): void {
  if (keys.length === 0) return;
  const set = setOf(tx, "t", BALANCE_KEY, keys);
  tx.write(
    `delete from ledger_balances b using ${set.from} where b.account_id = t.account_id
       and b.ledger_account = t.ledger_account and b.currency = t.currency`,
    set.values,
  );
}

function textOf(key: LedgerAccountKey): string {
  return `${key.account_id} ${key.ledger_account} ${key.currency}`;
}

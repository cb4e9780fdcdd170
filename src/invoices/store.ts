import { columnsOf } from "../platform/db/columns.ts";
import type { Session, Transaction } from "../platform/db/database.ts";
import { insertRows } from "../platform/db/insert-rows.ts";
import { open, type Place, seal } from "../platform/encryption/cipher.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import type { Invoice, InvoiceChange, KeyedInvoice } from "./model.ts";

/** The key of an invoice: its owner's account and its id. */
export type InvoiceKey = { account_id: string; id: string };

export type InvoiceRow = Omit<Invoice, "document" | "payment" | "tracked"> & {
  document: Buffer;
  payment: Buffer | null;
  tracked: Buffer | null;
};
type ChangeRow = Omit<InvoiceChange, "input"> & {
  account_id: string;
  invoice_id: string;
  input: Buffer | null;
};

/** Invoices without a lock; absent ones are left out. */
export function findInvoices(session: Session, keys: readonly InvoiceKey[]): Promise<InvoiceRow[]> {
  if (keys.length === 0) return Promise.resolve([]);
  return session.query<InvoiceRow>(
    `select invoices.* from invoices
     join (select distinct * from unnest($1::uuid[], $2::uuid[])) as wanted (account_id, id)
       using (account_id, id)`,
    columnsOf(keys, "account_id", "id"),
  );
}

/** Locks invoices in key order; absent ones are left out. */
export function lockInvoices(tx: Session, keys: readonly InvoiceKey[]): Promise<InvoiceRow[]> {
  return tx.query<InvoiceRow>(
    `select invoices.* from invoices
     join (select distinct * from unnest($1::uuid[], $2::uuid[])) as wanted (account_id, id)
       using (account_id, id)
     order by account_id, id for no key update of invoices`,
    columnsOf(keys, "account_id", "id"),
  );
}

/** Decrypts the rows and loads their history, which cannot grow while they are locked. */
export async function openInvoices(
  session: Session,
  keyring: Keyring,
  rows: readonly InvoiceRow[],
): Promise<KeyedInvoice[]> {
  if (rows.length === 0) return [];
  const [keys, changes] = await Promise.all([
    keyring.openAccounts(
      session,
      rows.map((row) => row.account_id),
    ),
    listChanges(session, rows),
  ]);
  const by_invoice = Map.groupBy(changes, (change) => `${change.account_id} ${change.invoice_id}`);
  return rows.map((row) => {
    const key = keys.get(row.account_id)!;
    const past = by_invoice.get(`${row.account_id} ${row.id}`) ?? [];
    const history = past
      .filter((change) => change.sequence <= row.sequence)
      .map((change) => toChange(change, key));
    return { invoice: toInvoice(row, key), history, key };
  });
}

function listChanges(session: Session, keys: readonly InvoiceKey[]): Promise<ChangeRow[]> {
  return session.query<ChangeRow>(
    `select account_id, invoice_id, id, sequence, name, from_status, to_status, actor_account_id,
       input, at
     from invoice_changes
     where account_id = any($1::uuid[]) and invoice_id = any($2::uuid[])
     order by account_id, invoice_id, sequence`,
    columnsOf(keys, "account_id", "id"),
  );
}

function toInvoice(row: InvoiceRow, key: Buffer): Invoice {
  const read = (column: string, sealed: Buffer) =>
    JSON.parse(open(key, place(row, column), sealed).toString());
  return {
    ...row,
    document: read("document", row.document),
    payment: row.payment && read("payment", row.payment),
    tracked: row.tracked ? read("tracked", row.tracked) : [],
  };
}

function toChange(row: ChangeRow, key: Buffer): InvoiceChange {
  const { account_id, invoice_id, input, ...change } = row;
  const opened = input && open(key, inputPlace(account_id, change.id), input).toString();
  return { ...change, input: opened === null ? null : JSON.parse(opened) };
}

export function insertInvoices(tx: Transaction, entries: readonly KeyedInvoice[]): void {
  insertRows(
    tx,
    "invoices",
    `account_id uuid, id uuid, format text, status text, request_id text, number_index bytea,
     currency text, total bigint, total_without_tax bigint, creation_date timestamptz,
     due_at timestamptz, document bytea, party_index bytea, shared_with uuid, shared_from int,
     next_occurrence_at timestamptz, template_id uuid, occurrence int, app_id uuid, sequence int,
     created_at timestamptz, updated_at timestamptz`,
    entries.map(toRow),
  );
}

/** Writes every mutable column of locked invoices. */
export function updateInvoices(tx: Transaction, entries: readonly KeyedInvoice[]): void {
  const rows = entries.map(toRow);
  tx.write(
    `update invoices set status = t.status, request_id = t.request_id,
       shared_with = t.shared_with, shared_from = t.shared_from, was_accepted = t.was_accepted,
       payment = t.payment, offramp_id = t.offramp_id, next_occurrence_at = t.next_occurrence_at,
       occurrences = t.occurrences, sequence = t.sequence, updated_at = t.updated_at,
       document = t.document, tracked = t.tracked
     from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::uuid[], $6::int[],
       $7::boolean[], $8::bytea[], $9::uuid[], $10::timestamptz[], $11::int[], $12::int[],
       $13::timestamptz[], $14::bytea[], $15::bytea[])
       as t (account_id, id, status, request_id, shared_with, shared_from, was_accepted, payment,
         offramp_id, next_occurrence_at, occurrences, sequence, updated_at, document, tracked)
     where invoices.account_id = t.account_id and invoices.id = t.id`,
    [
      ...columnsOf(rows, "account_id", "id", "status", "request_id", "shared_with", "shared_from"),
      ...columnsOf(rows, "was_accepted", "payment", "offramp_id", "next_occurrence_at"),
      ...columnsOf(rows, "occurrences", "sequence", "updated_at", "document", "tracked"),
    ],
  );
}

function toRow({ invoice, key }: KeyedInvoice): InvoiceRow {
  const write = (column: string, value: unknown) => sealJson(key, place(invoice, column), value);
  return {
    ...invoice,
    document: write("document", invoice.document),
    payment: invoice.payment && write("payment", invoice.payment),
    tracked: invoice.tracked.length > 0 ? write("tracked", invoice.tracked) : null,
  };
}

/** Which of these numbers are taken, as `account_id number_index`. */
export async function findTakenNumbers(
  session: Session,
  numbers: readonly { account_id: string; number_index: Buffer }[],
): Promise<Set<string>> {
  const rows = await session.query<{ account_id: string; number_index: Buffer }>(
    `select account_id, number_index from invoices
     where account_id = any($1::uuid[]) and number_index = any($2::bytea[])`,
    columnsOf(numbers, "account_id", "number_index"),
  );
  return new Set(rows.map((row) => numberKey(row.account_id, row.number_index)));
}

export function numberKey(account_id: string, number_index: Buffer): string {
  return `${account_id} ${number_index.toString("base64")}`;
}

/** An account's invoices to a party without access to them yet, by the hash of its address. */
export function listUnshared(
  session: Session,
  which: { account_id: string; party_index: Buffer; above_id: string },
  limit: number,
): Promise<{ id: string }[]> {
  return session.query<{ id: string }>(
    `select id from invoices
     where account_id = $1 and party_index = $2 and id > $3 and shared_with is null
       and status not in ('draft', 'scheduled')
     order by id limit $4`,
    [which.account_id, which.party_index, which.above_id, limit],
  );
}

export function sealJson(key: Buffer, at: Place, value: unknown): Buffer {
  return seal(key, 1, at, Buffer.from(JSON.stringify(value)));
}

function place({ account_id, id }: InvoiceKey, column: string): Place {
  return { account_id, table: "invoices", column, record_id: id };
}

export function inputPlace(account_id: string, change_id: string): Place {
  return { account_id, table: "invoice_changes", column: "input", record_id: change_id };
}

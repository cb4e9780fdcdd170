import type { Session, Transaction } from "../platform/db/database.ts";
import {
  accountsOf,
  columnsOf,
  distinctSetOf,
  findRows,
  insertRows,
  lockRows,
  perAccount,
  type RecordKey,
  updateRows,
} from "../platform/db/rows.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { sealedJson } from "../platform/encryption/sealed-column.ts";
import type { Invoice, InvoiceChange, KeyedInvoice } from "./model.ts";

/** The key of an invoice: its owner's account and its id. */
export type InvoiceKey = RecordKey;

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

const DOCUMENT = sealedJson<Invoice["document"]>("invoices", "document");
const PAYMENT = sealedJson<Invoice["payment"]>("invoices", "payment");
const TRACKED = sealedJson<Invoice["tracked"]>("invoices", "tracked");
export const CHANGE_INPUT = sealedJson<InvoiceChange["input"]>("invoice_changes", "input");

/** Invoices without a lock; absent ones are left out. */
export function findInvoices(session: Session, keys: readonly InvoiceKey[]): Promise<InvoiceRow[]> {
  return keys.length === 0 ? Promise.resolve([]) : findRows(session, "invoices", keys);
}

type InvoiceState = InvoiceKey &
  Pick<InvoiceRow, "status" | "currency" | "total" | "offramp_id"> & {
    /** How many steps of offramps it has followed, and how large it is. */
    steps: number;
    bytes: number;
  };

/** Without their documents: a payment may depend on thousands of invoices. */
export function findInvoiceStates(
  session: Session,
  keys: readonly InvoiceKey[],
): Promise<InvoiceState[]> {
  return perAccount(session, keys, (own) => {
    const wanted = distinctSetOf(session, "wanted", "account_id uuid, id uuid", own);
    return session.query<InvoiceState>(
      `select account_id, id, status, currency, total, offramp_id,
         octet_length(document) as bytes, (
           select count(*)::int from invoice_payments p
           where p.account_id = invoices.account_id and p.invoice_id = invoices.id) as steps
       from invoices join ${wanted.from} using (account_id, id)`,
      wanted.values,
    );
  });
}

/** Locks invoices in key order; absent ones are left out. */
export function lockInvoices(tx: Session, keys: readonly InvoiceKey[]): Promise<InvoiceRow[]> {
  return lockRows(tx, "invoices", keys);
}

/** How many bytes opening each of these invoices reads. */
export function listInvoiceSizes(
  session: Session,
  keys: readonly InvoiceKey[],
): Promise<(InvoiceKey & { bytes: number })[]> {
  return perAccount(session, keys, (own) => {
    const accounts = accountsOf(session, own);
    return session.query(
      `select account_id, id, octet_length(document) + coalesce(octet_length(tracked), 0) + (
           select coalesce(sum(octet_length(c.input)), 0)::int from invoice_changes c
           where c.account_id = invoices.account_id and c.invoice_id = invoices.id) as bytes
       from invoices where account_id ${accounts.equal} and id = any($2::uuid[])`,
      [accounts.value, ...columnsOf(own, "id")],
    );
  });
}

/** Decrypts the rows and loads their history, which cannot grow while they are locked. */
export async function openInvoices(
  session: Session,
  keyring: Keyring,
  rows: readonly InvoiceRow[],
): Promise<KeyedInvoice[]> {
  if (rows.length === 0) return [];
  const [keys, changes] = await Promise.all([
    keyring.openAccounts(session, rows),
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
  const accounts = accountsOf(session, keys);
  return session.query<ChangeRow>(
    `select account_id, invoice_id, id, sequence, name, from_status, to_status, actor_account_id,
       input, at
     from invoice_changes
     where account_id ${accounts.equal} and invoice_id = any($2::uuid[])
     order by account_id, invoice_id, sequence`,
    [accounts.value, ...columnsOf(keys, "id")],
  );
}

function toInvoice(row: InvoiceRow, key: Buffer): Invoice {
  return {
    ...row,
    document: DOCUMENT.open(key, row, row.document),
    payment: row.payment && PAYMENT.open(key, row, row.payment),
    tracked: row.tracked ? TRACKED.open(key, row, row.tracked) : [],
  };
}

function toChange(row: ChangeRow, key: Buffer): InvoiceChange {
  const { account_id, invoice_id, ...change } = row;
  return { ...change, input: row.input && CHANGE_INPUT.open(key, row, row.input) };
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
  updateRows(
    tx,
    "invoices",
    "account_id uuid, id uuid",
    `status text, request_id text, shared_with uuid, shared_from int, was_accepted boolean,
     payment bytea, offramp_id uuid, next_occurrence_at timestamptz, occurrences int,
     sequence int, updated_at timestamptz, document bytea, tracked bytea`,
    entries.map(toRow),
  );
}

function toRow({ invoice, key }: KeyedInvoice): InvoiceRow {
  const { document, payment, tracked } = invoice;
  return {
    ...invoice,
    document: DOCUMENT.seal(key, invoice, document),
    payment: payment && PAYMENT.seal(key, invoice, payment),
    tracked: tracked.length > 0 ? TRACKED.seal(key, invoice, tracked) : null,
  };
}

/** Which of these numbers are taken, as `account_id number_index`. */
export async function findTakenNumbers(
  session: Session,
  numbers: readonly { account_id: string; number_index: Buffer }[],
): Promise<Set<string>> {
  const accounts = accountsOf(session, numbers);
  const rows = await session.query<{ account_id: string; number_index: Buffer }>(
    `select account_id, number_index from invoices
     where account_id ${accounts.equal} and number_index = any($2::bytea[])`,
    [accounts.value, ...columnsOf(numbers, "number_index")],
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

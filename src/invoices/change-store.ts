import { columnsOf } from "../platform/db/columns.ts";
import type { Session, Transaction } from "../platform/db/database.ts";
import { open, type Place, seal } from "../platform/encryption/cipher.ts";
import { digestFacts, type InvoiceChange, type KeyedInvoice } from "./model.ts";
import { type InvoiceKey, inputPlace, sealJson } from "./store.ts";

/** A change with the invoice as it was after it. */
type RecordedChange = KeyedInvoice & {
  change: InvoiceChange;
  change_key: Buffer | null;
  /** The event for the other party; null when that party is not notified. */
  other_body: string | null;
};

export function insertChanges(tx: Transaction, changes: readonly RecordedChange[]): void {
  const rows = changes.map(({ invoice, change, key, change_key, other_body }) => ({
    ...change,
    account_id: invoice.account_id,
    invoice_id: invoice.id,
    input: change.input && sealJson(key, inputPlace(invoice.account_id, change.id), change.input),
    change_key,
    facts: digestFacts(invoice),
    other_body:
      other_body === null
        ? null
        : seal(key, 1, bodyPlace(invoice.account_id, change.id), Buffer.from(other_body)),
  }));
  tx.write(
    `insert into invoice_changes (account_id, invoice_id, sequence, id, name, from_status,
       to_status, actor_account_id, input, change_key, facts, other_body, at)
     select * from unnest($1::uuid[], $2::uuid[], $3::int[], $4::uuid[], $5::text[], $6::text[],
       $7::text[], $8::uuid[], $9::bytea[], $10::bytea[], $11::bytea[], $12::bytea[],
       $13::timestamptz[])`,
    [
      ...columnsOf(rows, "account_id", "invoice_id", "sequence", "id", "name", "from_status"),
      ...columnsOf(rows, "to_status", "actor_account_id", "input", "change_key", "facts"),
      ...columnsOf(rows, "other_body", "at"),
    ],
  );
}

/** Whether a repeatable request was applied before. */
export async function findChangeByKey(
  session: Session,
  key: InvoiceKey,
  change_key: Buffer,
): Promise<boolean> {
  const rows = await session.query(
    `select 1 from invoice_changes
     where account_id = $1 and invoice_id = $2 and change_key = $3`,
    [key.account_id, key.id, change_key],
  );
  return rows.length > 0;
}

/** A change that the other party has not received yet. */
export type UnsyncedChange = {
  id: string;
  sequence: number;
  name: InvoiceChange["name"];
  from_status: InvoiceChange["from_status"];
  to_status: InvoiceChange["to_status"];
  facts: Buffer;
  body: string | null;
  at: Date;
};

/** Up to the version of the invoice that was read; later changes are not listed. */
export async function listUnsynced(
  session: Session,
  invoice: InvoiceKey & { sequence: number },
  after_sequence: number,
  account_key: Buffer,
): Promise<UnsyncedChange[]> {
  const rows = await session.query<Omit<UnsyncedChange, "body"> & { other_body: Buffer | null }>(
    `select id, sequence, name, from_status, to_status, facts, other_body, at
     from invoice_changes where account_id = $1 and invoice_id = $2
       and sequence > $3 and sequence <= $4
     order by sequence`,
    [invoice.account_id, invoice.id, after_sequence, invoice.sequence],
  );
  const placeOf = (id: string) => bodyPlace(invoice.account_id, id);
  return rows.map(({ other_body, ...change }) => ({
    ...change,
    body: other_body && open(account_key, placeOf(change.id), other_body).toString(),
  }));
}

export function insertRequestIds(
  tx: Transaction,
  entries: readonly { request_id: string; account_id: string; id: string }[],
): void {
  if (entries.length === 0) return;
  tx.write(
    `insert into invoice_request_ids (request_id, account_id, invoice_id)
     select * from unnest($1::text[], $2::uuid[], $3::uuid[])`,
    columnsOf(entries, "request_id", "account_id", "id"),
  );
}

/** The invoice that has, or once had, this requestId. */
export async function findRequest(
  session: Session,
  request_id: string,
): Promise<InvoiceKey | undefined> {
  const [row] = await session.query<InvoiceKey>(
    "select account_id, invoice_id as id from invoice_request_ids where request_id = $1",
    [request_id],
  );
  return row;
}

export function insertLinks(
  tx: Transaction,
  links: readonly (InvoiceKey & { token_hash: Buffer })[],
): void {
  if (links.length === 0) return;
  tx.write(
    `insert into invoice_links (token_hash, account_id, invoice_id)
     select * from unnest($1::bytea[], $2::uuid[], $3::uuid[])`,
    columnsOf(links, "token_hash", "account_id", "id"),
  );
}

export async function findLink(
  session: Session,
  token_hash: Buffer,
): Promise<InvoiceKey | undefined> {
  const [row] = await session.query<InvoiceKey>(
    "select account_id, invoice_id as id from invoice_links where token_hash = $1",
    [token_hash],
  );
  return row;
}

function bodyPlace(account_id: string, change_id: string): Place {
  return { account_id, table: "invoice_changes", column: "other_body", record_id: change_id };
}

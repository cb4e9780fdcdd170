import type { Session, Transaction } from "../platform/db/database.ts";
import { insertRows } from "../platform/db/rows.ts";
import { sealedJson, sealedText } from "../platform/encryption/sealed-column.ts";
import { digestFacts, type InvoiceChange, type KeyedInvoice } from "./model.ts";
import type { ActedBy } from "./record-acts.ts";
import { CHANGE_INPUT, type InvoiceKey } from "./store.ts";

const OTHER_BODY = sealedText("invoice_changes", "other_body");
const ACTED_BY = sealedJson<ActedBy>("invoice_changes", "acted_by");

/** A change with the invoice as it was after it. */
type RecordedChange = KeyedInvoice & {
  change: InvoiceChange;
  change_key: Buffer | null;
  acted_by: ActedBy | null;
  /** The event for the other party; null when that party is not notified. */
  other_body: string | null;
};

export function insertChanges(tx: Transaction, changes: readonly RecordedChange[]): void {
  const rows = changes.map(({ invoice, change, key, change_key, acted_by, other_body }) => {
    const record = { account_id: invoice.account_id, id: change.id };
    return {
      ...change,
      ...record,
      invoice_id: invoice.id,
      input: change.input && CHANGE_INPUT.seal(key, record, change.input),
      change_key,
      acted_by: acted_by && ACTED_BY.seal(key, record, acted_by),
      facts: digestFacts(invoice),
      other_body: other_body === null ? null : OTHER_BODY.seal(key, record, other_body),
    };
  });
  insertRows(
    tx,
    "invoice_changes",
    `account_id uuid, invoice_id uuid, sequence int, id uuid, name text, from_status text,
     to_status text, actor_account_id uuid, input bytea, change_key bytea, acted_by bytea,
     facts bytea, other_body bytea, at timestamptz`,
    rows,
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
export type UnsyncedChange = Omit<InvoiceChange, "actor_account_id" | "input"> & {
  facts: Buffer;
  body: string | null;
  /** Whoever made it for the other party. */
  acted_by: ActedBy | null;
};

/** Up to the version of the invoice that was read; later changes are not listed. */
export async function listUnsynced(
  session: Session,
  invoice: InvoiceKey & { sequence: number },
  after_sequence: number,
  account_key: Buffer,
): Promise<UnsyncedChange[]> {
  const rows = await session.query<
    Omit<UnsyncedChange, "body" | "acted_by"> & {
      other_body: Buffer | null;
      acted_by: Buffer | null;
    }
  >(
    `select id, sequence, name, from_status, to_status, facts, other_body, acted_by, at
     from invoice_changes where account_id = $1 and invoice_id = $2
       and sequence > $3 and sequence <= $4
     order by sequence`,
    [invoice.account_id, invoice.id, after_sequence, invoice.sequence],
  );
  const { account_id } = invoice;
  return rows.map(({ other_body, acted_by, ...change }) => {
    const record = { account_id, id: change.id };
    return {
      ...change,
      body: other_body && OTHER_BODY.open(account_key, record, other_body),
      acted_by: acted_by && ACTED_BY.open(account_key, record, acted_by),
    };
  });
}

export function insertRequestIds(
  tx: Transaction,
  entries: readonly { request_id: string; account_id: string; invoice_id: string }[],
): void {
  const columns = "request_id text, account_id uuid, invoice_id uuid";
  insertRows(tx, "invoice_request_ids", columns, entries);
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
  links: readonly { token_hash: Buffer; account_id: string; invoice_id: string }[],
): void {
  insertRows(tx, "invoice_links", "token_hash bytea, account_id uuid, invoice_id uuid", links);
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

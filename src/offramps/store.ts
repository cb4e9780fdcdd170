import type { Session, Transaction } from "../platform/db/database.ts";
import {
  distinctSetOf,
  findRow,
  findRows,
  insertRows,
  listRows,
  lockRows,
  type RecordKey,
  updateRow,
  updateRows,
} from "../platform/db/rows.ts";
import type { Keyring, SubjectKeys } from "../platform/encryption/keyring.ts";
import { sealedJson } from "../platform/encryption/sealed-column.ts";
import { PAGE_BYTES_MAX, type Page } from "../platform/http/list.ts";
import { FIRST_ID, isId } from "../platform/ids.ts";
import type { UserKey } from "../users/store.ts";
import type { QuotePayment } from "./gates.ts";
import type { InvoicePayment } from "./invoice-problems.ts";
import { indexReference, OFFRAMP_STATUSES, type Offramp, type OfframpStatus } from "./model.ts";

export type OfframpRow = Omit<Offramp, "details"> & { details: Buffer };

const SEALED = sealedJson<Offramp["details"]>("offramps", "details");

/** An offramp with the key that encrypts its personal data. */
export type KeyedOfframp = { offramp: Offramp; key: Buffer };

export function findOfframp(
  session: Session,
  { account_id, user_id }: UserKey,
  id: string,
): Promise<OfframpRow | undefined> {
  return findRow(session, "offramps", { account_id, user_id, id });
}

type OfframpFilter = { user_id?: string; status?: OfframpStatus; quote_id?: string };

export function listOfframps(
  session: Session,
  account_id: string,
  filter: OfframpFilter,
  page: Page,
): Promise<OfframpRow[]> {
  return listRows(session, "offramps", { account_id, ...filter }, page);
}

/**
 * Offramps of a quote in the order in which they were added, up to the bytes of a page. Each is
 * looked up by its key: in a join, a plan made while the table was small reads all offramps of the
 * account, and the quote anew for each of them.
 */
export function listQuoteOfframps(
  session: Session,
  account_id: string,
  quote_id: string,
  limit: number,
  after_id = FIRST_ID,
): Promise<OfframpRow[]> {
  return session.query<OfframpRow>(
    `select found.* from (
       select id, sum(octet_length(details)) over (order by id) as bytes
       from offramps where account_id = $1 and quote_id = $2 and id > $5 order by id limit $3
     ) as listed cross join lateral (
       select * from offramps where account_id = $1 and id = listed.id offset 0
     ) as found where bytes <= $4 order by listed.id`,
    [account_id, quote_id, limit, PAGE_BYTES_MAX, after_id],
  );
}

/** The currencies that a page of quotes pays out, with their rates. */
export function listQuoteRates(
  session: Session,
  account_id: string,
  quote_ids: readonly string[],
): Promise<{ quote_id: string; destination_currency: string; rate: string }[]> {
  return session.query(
    `select distinct quote_id, destination_currency, rate from offramps
     where account_id = $1 and quote_id = any($2::uuid[])`,
    [account_id, quote_ids],
  );
}

/** The account of an offramp, for the operator. */
export async function findAccountOfOfframp(
  session: Session,
  id: string,
): Promise<string | undefined> {
  if (!isId(id)) return undefined;
  const [row] = await session.query<{ account_id: string }>(
    `select offramps.account_id from accounts
     join offramps on offramps.account_id = accounts.id and offramps.id = $1`,
    [id],
  );
  return row?.account_id;
}

/** Offramps by id, without a lock; absent ones are left out. */
export function findOfframps(session: Session, keys: readonly RecordKey[]): Promise<OfframpRow[]> {
  return findRows(session, "offramps", keys);
}

/** The details of offramps without their other columns; of erased users, none. */
export async function listDetails(
  session: Session,
  keyring: Keyring,
  keys: readonly RecordKey[],
): Promise<Pick<Offramp, "id" | "details">[]> {
  const wanted = distinctSetOf(session, "wanted", "account_id uuid, id uuid", keys);
  const rows = await session.query<Pick<OfframpRow, "account_id" | "id" | "user_id" | "details">>(
    `select account_id, id, user_id, details from offramps join ${wanted.from}
       using (account_id, id)`,
    wanted.values,
  );
  const user_keys = await keyring.openUserKeys(session, rows);
  return rows.flatMap((row) => {
    const key = user_keys.get(row.account_id, row.user_id);
    return key ? [{ id: row.id, details: SEALED.open(key, row, row.details) }] : [];
  });
}

/** What to lock before an offramp, and how large its details are. */
export type OfframpLinks = RecordKey &
  Pick<Offramp, "user_id" | "quote_id" | "payment_detail_id"> & { bytes: number };

/** The same, without their details. */
export function findOfframpLinks(
  session: Session,
  keys: readonly RecordKey[],
): Promise<OfframpLinks[]> {
  const wanted = distinctSetOf(session, "wanted", "account_id uuid, id uuid", keys);
  return session.query<OfframpLinks>(
    `select account_id, id, user_id, quote_id, payment_detail_id, octet_length(details) as bytes
     from offramps
     join ${wanted.from}
       using (account_id, id)`,
    wanted.values,
  );
}

/** Locks offramps in key order; absent ones are left out. */
export function lockOfframps(tx: Session, keys: readonly RecordKey[]): Promise<OfframpRow[]> {
  return lockRows(tx, "offramps", keys);
}

/** All created at the same time, `now`. */
export function insertOfframps(
  tx: Transaction,
  index_key: Buffer,
  entries: readonly KeyedOfframp[],
  now: Date,
): void {
  insertRows(
    tx,
    "offramps",
    `account_id uuid, id uuid, user_id uuid, quote_id uuid, payment_detail_id uuid, status text,
     destination_amount bigint, destination_currency text, rails text, rate numeric, fee bigint,
     token_amount bigint, token_fee bigint, details bytea, document_status text,
     document_source text, deposit_token text, invoice_id uuid, document_id uuid,
     document_file text, document_hash bytea, document_type text, deposit_token_chain text,
     reference_index bytea, created_at timestamptz, updated_at timestamptz`,
    entries.map(({ offramp, key }) => ({
      ...offramp,
      details: sealDetails(offramp, key),
      reference_index: indexReference(index_key, offramp),
      created_at: now,
      updated_at: now,
    })),
  );
}

/** After their references changed. */
export function updateReferences(
  tx: Transaction,
  index_key: Buffer,
  offramps: readonly Offramp[],
): void {
  updateRows(
    tx,
    "offramps",
    "account_id uuid, id uuid",
    "reference_index bytea",
    offramps.map((offramp) => ({
      ...offramp,
      reference_index: indexReference(index_key, offramp),
    })),
  );
}

/** Writes every mutable column of locked offramps; the details, which can be large, if changed. */
export function updateOfframpRows(
  tx: Transaction,
  entries: readonly (KeyedOfframp & { has_new_details: boolean })[],
): void {
  const key_columns = "account_id uuid, id uuid";
  updateRows(
    tx,
    "offramps",
    key_columns,
    `payment_detail_id uuid, status text, status_message text, document_status text,
     document_source text, document_file text, document_hash bytea, document_type text,
     document_version int, document_after_approval boolean, funded_at timestamptz, attempt int,
     sequence int,
     updated_at timestamptz, document_id uuid, given_back bigint, refund_rate numeric,
     rate_until timestamptz, rate_paused_at timestamptz, payout_reference jsonb`,
    entries.map(({ offramp }) => offramp),
  );
  updateRows(
    tx,
    "offramps",
    key_columns,
    "details bytea",
    entries
      .filter(({ has_new_details }) => has_new_details)
      .map(({ offramp, key }) => ({ ...offramp, details: sealDetails(offramp, key) })),
  );
}

/** Decrypts the rows with the keys of their users; rows of erased users are left out. */
export async function openOfframps(
  session: Session,
  keyring: Keyring,
  rows: readonly OfframpRow[],
): Promise<KeyedOfframp[]> {
  return toOfframps(rows, await keyring.openUserKeys(session, rows));
}

/** The same with keys that are already loaded. */
export function toOfframps(rows: readonly OfframpRow[], keys: SubjectKeys): KeyedOfframp[] {
  return rows.flatMap((row) => {
    const key = keys.get(row.account_id, row.user_id);
    if (!key) return [];
    return [{ offramp: { ...row, details: SEALED.open(key, row, row.details) }, key }];
  });
}

export function updateFetchFailures(
  tx: Transaction,
  { account_id, id }: RecordKey,
  document_fetch_failures: number,
): void {
  updateRow(tx, "offramps", { account_id, id }, { document_fetch_failures });
}

function sealDetails(offramp: Offramp, key: Buffer): Buffer {
  return SEALED.seal(key, offramp, offramp.details);
}

/** The kinds of payment in a quote, and the state of the bank accounts that receive them. */
export function listQuotePayments(
  session: Session,
  account_id: string,
  quote_id: string,
): Promise<QuotePayment[]> {
  return session.query<QuotePayment>(
    `select offramps.destination_currency, offramps.rails,
       case when payment_details.status = 'approved' and exists (select from screening_state
           where version is not null and version is distinct from payment_details.screening_version)
         then 'pending' else payment_details.status end as detail_status,
       max(payment_details.created_at) as newest_at
     from offramps join payment_details on payment_details.account_id = offramps.account_id
       and payment_details.id = offramps.payment_detail_id
     where offramps.account_id = $1 and offramps.quote_id = $2
     group by 1, 2, 3`,
    [account_id, quote_id],
  );
}

/** The offramps of a quote that pay invoices. */
export function listInvoicePayments(
  session: Session,
  account_id: string,
  quote_id: string,
): Promise<InvoicePayment[]> {
  return session.query<InvoicePayment>(
    `select account_id, id, invoice_id from offramps
     where account_id = $1 and quote_id = $2 and invoice_id is not null and status <> 'failed'
     order by id`,
    [account_id, quote_id],
  );
}

export type Totals = { token_amount: bigint; token_fees: bigint };

/**
 * The total of a quote's offramps, and of those given up before it was funded: it no longer pays
 * for them.
 */
export async function findOfframpTotals(
  session: Session,
  quote: RecordKey,
): Promise<{ all: Totals; abandoned: Totals }> {
  const rows = await session.query<Totals & { is_abandoned: boolean }>(
    `select status = 'failed' and funded_at is null as is_abandoned,
       sum(token_amount)::bigint as token_amount, sum(token_fee)::bigint as token_fees
     from offramps where account_id = $1 and quote_id = $2 group by 1`,
    [quote.account_id, quote.id],
  );
  const sumOf = (counted: typeof rows) => ({
    token_amount: counted.reduce((sum, row) => sum + row.token_amount, 0n),
    token_fees: counted.reduce((sum, row) => sum + row.token_fees, 0n),
  });
  return { all: sumOf(rows), abandoned: sumOf(rows.filter((row) => row.is_abandoned)) };
}

/** The next offramps of a user that a gate may hold, in the order of their ids. */
export async function listWaitingIds(
  session: Session,
  key: UserKey,
  after_id: string,
  limit: number,
): Promise<string[]> {
  const rows = await session.query<{ id: string }>(
    `select next.id from unnest(array['ongoing_checks', 'sending_fiat']) as held (status)
     cross join lateral (
       select id from offramps
       where account_id = $1 and user_id = $2 and status = held.status and id > $3
       order by id limit $4) as next
     order by next.id limit $4`,
    [key.account_id, key.user_id, after_id, limit],
  );
  return rows.map(({ id }) => id);
}

const UNFINISHED = OFFRAMP_STATUSES.filter((one) => one !== "fiat_sent" && one !== "failed");

/** Whether this user has an unfinished payout. */
export async function existsOpenOfframp(session: Session, key: UserKey): Promise<boolean> {
  const rows = await session.query(
    `select from unnest($3::text[]) as unfinished (status) cross join lateral (
       select from offramps
       where account_id = $1 and user_id = $2 and status = unfinished.status limit 1) as first`,
    [key.account_id, key.user_id, UNFINISHED],
  );
  return rows.length > 0;
}

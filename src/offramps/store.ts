import type { Session, Transaction } from "../platform/db/database.ts";
import { insertRows } from "../platform/db/insert-rows.ts";
import { open, type Place, seal } from "../platform/encryption/cipher.ts";
import type { Keyring, SubjectKeys } from "../platform/encryption/keyring.ts";
import type { Page } from "../platform/http/list.ts";
import type { UserKey } from "../users/store.ts";
import type { QuotePayment } from "./gates.ts";
import type { InvoicePayment } from "./invoice-problems.ts";
import { BEFORE_PAYOUT, type Offramp, type OfframpStatus } from "./model.ts";

export type OfframpRow = Omit<Offramp, "details"> & { details: Buffer };

/** An offramp with the key that encrypts its personal data. */
export type KeyedOfframp = { offramp: Offramp; key: Buffer };

export async function findOfframp(
  session: Session,
  key: UserKey,
  id: string,
): Promise<OfframpRow | undefined> {
  const [row] = await session.query<OfframpRow>(
    "select * from offramps where account_id = $1 and user_id = $2 and id = $3",
    [key.account_id, key.user_id, id],
  );
  return row;
}

type OfframpFilter = { user_id?: string; status?: OfframpStatus; quote_id?: string };

export function listOfframps(
  session: Session,
  account_id: string,
  filter: OfframpFilter,
  page: Page,
): Promise<OfframpRow[]> {
  const values: unknown[] = [account_id, page.below_id, page.from_id, page.limit + 1];
  const conditions = Object.entries(filter)
    .filter(([, value]) => value !== undefined)
    .map(([column, value]) => `and ${column} = $${values.push(value)}`);
  return session.query<OfframpRow>(
    `select * from offramps
     where account_id = $1 and id < $2 and id >= $3 ${conditions.join(" ")}
     order by id desc limit $4`,
    values,
  );
}

/** The offramps of a quote, in the order in which they were added. */
export function listQuoteOfframps(
  session: Session,
  account_id: string,
  quote_id: string,
  limit: number,
): Promise<OfframpRow[]> {
  return session.query<OfframpRow>(
    "select * from offramps where account_id = $1 and quote_id = $2 order by id limit $3",
    [account_id, quote_id, limit],
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

/** Offramps by id, without a lock; absent ones are left out. */
export function findOfframps(
  session: Session,
  keys: readonly { account_id: string; id: string }[],
): Promise<OfframpRow[]> {
  return session.query<OfframpRow>(
    "select * from offramps where account_id = any($1::uuid[]) and id = any($2::uuid[])",
    [keys.map((key) => key.account_id), keys.map((key) => key.id)],
  );
}

/** Locks offramps in key order; absent ones are left out. */
export function lockOfframps(
  tx: Session,
  keys: readonly { account_id: string; id: string }[],
): Promise<OfframpRow[]> {
  return tx.query<OfframpRow>(
    `select offramps.* from offramps
     join (select distinct * from unnest($1::uuid[], $2::uuid[])) as wanted (account_id, id)
       using (account_id, id)
     order by account_id, id for no key update of offramps`,
    [keys.map((key) => key.account_id), keys.map((key) => key.id)],
  );
}

/** All created at the same time, `now`. */
export function insertOfframps(tx: Transaction, entries: readonly KeyedOfframp[], now: Date): void {
  insertRows(
    tx,
    "offramps",
    `account_id uuid, id uuid, user_id uuid, quote_id uuid, payment_detail_id uuid, status text,
     destination_amount bigint, destination_currency text, rails text, rate numeric, fee bigint,
     token_amount bigint, token_fee bigint, details bytea, document_status text,
     document_source text, deposit_token text, invoice_id uuid, document_id uuid,
     document_file text, document_hash bytea, document_type text, deposit_token_chain text,
     created_at timestamptz, updated_at timestamptz`,
    entries.map(({ offramp, key }) => {
      return { ...offramp, details: sealDetails(offramp, key), created_at: now, updated_at: now };
    }),
  );
}

/** Writes every mutable column of locked offramps. */
export function updateOfframpRows(tx: Transaction, entries: readonly KeyedOfframp[]): void {
  tx.write(
    `update offramps set payment_detail_id = t.payment_detail_id, status = t.status,
       status_message = t.status_message, document_status = t.document_status,
       document_source = t.document_source, document_file = t.document_file,
       document_hash = t.document_hash, document_type = t.document_type,
       document_version = t.document_version, funded_at = t.funded_at, attempt = t.attempt,
       sequence = t.sequence, updated_at = t.updated_at, document_id = t.document_id,
       given_back = t.given_back, refund_rate = t.refund_rate,
       rate_until = t.rate_until, rate_paused_at = t.rate_paused_at,
       payout_reference = t.payout_reference, details = t.details
     from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[],
       $7::text[], $8::text[], $9::bytea[], $10::text[], $11::int[], $12::timestamptz[],
       $13::int[], $14::int[], $15::timestamptz[], $16::uuid[], $17::bigint[], $18::numeric[],
       $19::timestamptz[], $20::timestamptz[], $21::jsonb[], $22::bytea[])
       as t (account_id, id, payment_detail_id, status, status_message, document_status,
         document_source, document_file, document_hash, document_type, document_version,
         funded_at, attempt, sequence, updated_at, document_id, given_back, refund_rate,
         rate_until, rate_paused_at, payout_reference, details)
     where offramps.account_id = t.account_id and offramps.id = t.id`,
    [
      ...columnsOf(entries, [
        "account_id",
        "id",
        "payment_detail_id",
        "status",
        "status_message",
        "document_status",
        "document_source",
        "document_file",
        "document_hash",
        "document_type",
        "document_version",
        "funded_at",
        "attempt",
        "sequence",
        "updated_at",
        "document_id",
        "given_back",
        "refund_rate",
        "rate_until",
        "rate_paused_at",
      ]),
      entries.map(({ offramp: { payout_reference: proof } }) => proof && JSON.stringify(proof)),
      entries.map(({ offramp, key }) => sealDetails(offramp, key)),
    ],
  );
}

function columnsOf(
  entries: readonly KeyedOfframp[],
  names: readonly Exclude<keyof Offramp, "details" | "payout_reference">[],
): unknown[][] {
  return names.map((name) => entries.map(({ offramp }) => offramp[name]));
}

/** Decrypts the rows with the keys of their users; rows of erased users are left out. */
export async function openOfframps(
  session: Session,
  keyring: Keyring,
  rows: readonly OfframpRow[],
): Promise<KeyedOfframp[]> {
  const subjects = rows.map((row) => ({ account_id: row.account_id, subject_id: row.user_id }));
  return toOfframps(rows, await keyring.openSubjects(session, subjects));
}

/** The same with keys that are already loaded. */
export function toOfframps(rows: readonly OfframpRow[], keys: SubjectKeys): KeyedOfframp[] {
  return rows.flatMap((row) => {
    const key = keys.get(row.account_id, row.user_id);
    if (!key) return [];
    const details = JSON.parse(open(key, detailsPlace(row), row.details).toString());
    return [{ offramp: { ...row, details }, key }];
  });
}

export function updateFetchFailures(
  tx: Transaction,
  { account_id, id }: { account_id: string; id: string },
  failures: number,
): void {
  tx.write("update offramps set document_fetch_failures = $3 where account_id = $1 and id = $2", [
    account_id,
    id,
    failures,
  ]);
}

function sealDetails(offramp: Offramp, key: Buffer): Buffer {
  return seal(key, 1, detailsPlace(offramp), Buffer.from(JSON.stringify(offramp.details)));
}

function detailsPlace({ account_id, id }: { account_id: string; id: string }): Place {
  return { account_id, table: "offramps", column: "details", record_id: id };
}

/** The kinds of payment in a quote, and the state of the bank accounts that receive them. */
export function listQuotePayments(
  session: Session,
  account_id: string,
  quote_id: string,
): Promise<QuotePayment[]> {
  return session.query<QuotePayment>(
    `select offramps.destination_currency, offramps.rails,
       payment_details.status as detail_status, max(payment_details.created_at) as newest_at
     from offramps join payment_details on payment_details.account_id = offramps.account_id
       and payment_details.id = offramps.payment_detail_id
     where offramps.account_id = $1 and offramps.quote_id = $2
     group by 1, 2, 3`,
    [account_id, quote_id],
  );
}

export type OfframpTerms = Pick<
  Offramp,
  | "id"
  | "payment_detail_id"
  | "destination_amount"
  | "destination_currency"
  | "token_amount"
  | "status"
>;

/** Who gets how much from a quote, in the order in which they were added. */
export function listQuoteTerms(
  session: Session,
  account_id: string,
  quote_id: string,
): Promise<OfframpTerms[]> {
  return session.query<OfframpTerms>(
    `select id, payment_detail_id, destination_amount, destination_currency, token_amount, status
     from offramps where account_id = $1 and quote_id = $2 order by id`,
    [account_id, quote_id],
  );
}

/** Locks the next offramps of a quote that were not instructed yet. */
export function claimBeforePayout(
  tx: Session,
  quote: { account_id: string; id: string },
  limit: number,
): Promise<OfframpRow[]> {
  return tx.query<OfframpRow>(
    `select * from offramps
     where account_id = $1 and quote_id = $2 and status = any($3::text[])
     order by account_id, id limit $4 for no key update`,
    [quote.account_id, quote.id, BEFORE_PAYOUT, limit],
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

/**
 * Locks the next offramps of a quote that are not funded yet; with a message, only those that do
 * not show it already.
 */
export function claimUnfunded(
  tx: Session,
  quote: { account_id: string; id: string },
  status_message: string | null,
  limit: number,
): Promise<OfframpRow[]> {
  return tx.query<OfframpRow>(
    `select * from offramps
     where account_id = $1 and quote_id = $2 and funded_at is null and status <> 'failed'
       and ($3::text is null or status_message is distinct from $3)
     order by account_id, id limit $4 for no key update`,
    [quote.account_id, quote.id, status_message, limit],
  );
}

/** The total of offramps given up before the quote was funded: it no longer pays for them. */
export async function findAbandoned(
  session: Session,
  quote: { account_id: string; id: string },
): Promise<{ token_amount: bigint; token_fees: bigint }> {
  const [row] = await session.query<{ token_amount: bigint; token_fees: bigint }>(
    `select coalesce(sum(token_amount), 0)::bigint as token_amount,
       coalesce(sum(token_fee), 0)::bigint as token_fees
     from offramps
     where account_id = $1 and quote_id = $2 and status = 'failed' and funded_at is null`,
    [quote.account_id, quote.id],
  );
  return row!;
}

/** The offramps of a user that a gate may hold. */
export async function listWaitingIds(session: Session, key: UserKey): Promise<string[]> {
  const rows = await session.query<{ id: string }>(
    `select id from offramps where account_id = $1 and user_id = $2
       and status in ('ongoing_checks', 'sending_fiat')`,
    [key.account_id, key.user_id],
  );
  return rows.map(({ id }) => id);
}

/** Whether this user has an unfinished payout. */
export async function existsOpenOfframp(session: Session, key: UserKey): Promise<boolean> {
  const rows = await session.query(
    `select 1 from offramps where account_id = $1 and user_id = $2
       and status not in ('fiat_sent', 'failed') limit 1`,
    [key.account_id, key.user_id],
  );
  return rows.length > 0;
}

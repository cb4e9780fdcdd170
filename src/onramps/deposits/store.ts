import type { Session, Transaction } from "../../platform/db/database.ts";
import { open, type Place, seal } from "../../platform/encryption/cipher.ts";
import type { Keyring } from "../../platform/encryption/keyring.ts";
import type { Page } from "../../platform/http/list.ts";
import { COUNT_MAX } from "../../platform/metrics/model.ts";
import type { DepositDetails, DepositStatus, FiatDeposit } from "../model.ts";

export type FiatDepositRow = Omit<FiatDeposit, "details"> & { details: Buffer };

/** Without personal data: for code that only moves money. */
export type DepositFacts = Omit<FiatDeposit, "details">;

export type NewDeposit = Omit<
  FiatDeposit,
  "matched_amount" | "returns" | "created_at" | "updated_at"
>;

/**
 * Writes bank lines that are not stored yet, and returns the ids of those it wrote. `part` and
 * `is_conflict` decide which unique key applies.
 */
export async function insertFiatDeposits(
  tx: Session,
  deposits: readonly (NewDeposit & { key: Buffer })[],
  now: Date,
): Promise<Set<string>> {
  const of = <Value>(read: (deposit: NewDeposit) => Value) => deposits.map(read);
  const rows = await tx.query<{ id: string }>(
    `insert into fiat_deposits (account_id, id, bank_account, bank_reference, part, is_conflict,
       amount, currency, booked_at, details, status, reason, is_posted, matched_by,
       onramp_account_id, onramp_id, matched_amount, returns, created_at, updated_at)
     select *, null, 0, $17, $17 from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[],
       $5::int[], $6::boolean[], $7::bigint[], $8::text[], $9::timestamptz[], $10::bytea[],
       $11::text[], $12::text[], $13::boolean[], $14::text[], $15::uuid[], $16::uuid[])
     on conflict do nothing returning id`,
    [
      of((deposit) => deposit.account_id),
      of((deposit) => deposit.id),
      of((deposit) => deposit.bank_account),
      of((deposit) => deposit.bank_reference),
      of((deposit) => deposit.part),
      of((deposit) => deposit.is_conflict),
      of((deposit) => deposit.amount),
      of((deposit) => deposit.currency),
      of((deposit) => deposit.booked_at.toISOString()),
      deposits.map((deposit) => sealDetails(deposit, deposit.details, deposit.key)),
      of((deposit) => deposit.status),
      of((deposit) => deposit.reason),
      of((deposit) => deposit.is_posted),
      of((deposit) => deposit.matched_by),
      of((deposit) => deposit.onramp_account_id),
      of((deposit) => deposit.onramp_id),
      now,
    ],
  );
  return new Set(rows.map((row) => row.id));
}

/** What the bank has reported under these references so far. */
export function findLines(
  session: Session,
  account_id: string,
  references: readonly string[],
): Promise<FiatDepositRow[]> {
  return session.query<FiatDepositRow>(
    `select * from fiat_deposits
     where account_id = $1 and bank_reference = any($2::text[]) and part = 0`,
    [account_id, references],
  );
}

/** The number of the last excess part of a line; 0 when there is none. */
export async function findLastPart(
  session: Session,
  line: Pick<FiatDeposit, "account_id" | "bank_account" | "bank_reference">,
): Promise<number> {
  const [row] = await session.query<{ part: number }>(
    `select max(part) as part from fiat_deposits
     where account_id = $1 and bank_account = $2 and bank_reference = $3`,
    [line.account_id, line.bank_account, line.bank_reference],
  );
  return row!.part;
}

export function lockDeposits(
  tx: Session,
  account_id: string,
  ids: readonly string[],
): Promise<FiatDepositRow[]> {
  return tx.query<FiatDepositRow>(
    `select * from fiat_deposits where account_id = $1 and id = any($2::uuid[])
     order by account_id, id for no key update`,
    [account_id, ids],
  );
}

/** Locks deposits with all lines that the bank reported under their references, in key order. */
export function lockLines(
  tx: Session,
  account_id: string,
  ids: readonly string[],
): Promise<FiatDepositRow[]> {
  return tx.query<FiatDepositRow>(
    `select * from fiat_deposits
     where account_id = $1 and (bank_account, bank_reference) in (
       select bank_account, bank_reference from fiat_deposits
       where account_id = $1 and id = any($2::uuid[]))
     order by account_id, id for no key update`,
    [account_id, ids],
  );
}

export async function findDeposit(
  session: Session,
  account_id: string,
  id: string,
): Promise<FiatDepositRow | undefined> {
  const [row] = await session.query<FiatDepositRow>(
    "select * from fiat_deposits where account_id = $1 and id = $2",
    [account_id, id],
  );
  return row;
}

/** How many wait for the operator, counted up to COUNT_MAX, and since when. */
export async function findUnmatched(
  session: Session,
  account_id: string,
): Promise<{ deposits: number; oldest_at: Date | null }> {
  const [row] = await session.query<{ deposits: number; oldest_at: Date | null }>(
    `select count(*)::integer as deposits, min(first.created_at) as oldest_at from (
       select created_at from fiat_deposits where account_id = $1 and status = 'unmatched'
       order by id limit ${COUNT_MAX}
     ) as first`,
    [account_id],
  );
  return row!;
}

export function listDeposits(
  session: Session,
  account_id: string,
  status: DepositStatus | undefined,
  page: Page,
): Promise<FiatDepositRow[]> {
  const values = [account_id, page.below_id, page.from_id, page.limit + 1];
  return session.query<FiatDepositRow>(
    `select * from fiat_deposits
     where account_id = $1 and id < $2 and id >= $3
       ${status === undefined ? "" : "and status = $5"}
     order by id desc limit $4`,
    status === undefined ? values : [...values, status],
  );
}

/** Writes every mutable column of locked deposits. */
export function updateDeposits(tx: Transaction, deposits: readonly DepositFacts[]): void {
  if (deposits.length === 0) return;
  tx.write(
    `update fiat_deposits set status = t.status, reason = t.reason, is_posted = t.is_posted,
       matched_by = t.matched_by, onramp_account_id = t.onramp_account_id,
       onramp_id = t.onramp_id, matched_amount = t.matched_amount, returns = t.returns,
       updated_at = t.updated_at
     from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::boolean[], $6::text[],
       $7::uuid[], $8::uuid[], $9::bigint[], $10::int[], $11::timestamptz[])
       as t (account_id, id, status, reason, is_posted, matched_by, onramp_account_id, onramp_id,
         matched_amount, returns, updated_at)
     where fiat_deposits.account_id = t.account_id and fiat_deposits.id = t.id`,
    [
      deposits.map((deposit) => deposit.account_id),
      deposits.map((deposit) => deposit.id),
      deposits.map((deposit) => deposit.status),
      deposits.map((deposit) => deposit.reason),
      deposits.map((deposit) => deposit.is_posted),
      deposits.map((deposit) => deposit.matched_by),
      deposits.map((deposit) => deposit.onramp_account_id),
      deposits.map((deposit) => deposit.onramp_id),
      deposits.map((deposit) => deposit.matched_amount),
      deposits.map((deposit) => deposit.returns),
      deposits.map((deposit) => deposit.updated_at.toISOString()),
    ],
  );
}

/** With personal data; for erased payers only the money is left. */
export async function openDeposits(
  session: Session,
  keyring: Keyring,
  rows: readonly FiatDepositRow[],
): Promise<FiatDeposit[]> {
  const subjects = rows.map(({ account_id, id }) => ({ account_id, subject_id: id }));
  const keys = await keyring.openSubjects(session, subjects);
  return rows.map(({ details, ...row }) => {
    const key = keys.get(row.account_id, row.id);
    return { ...row, details: key ? openDetails(row, details, key) : ERASED };
  });
}

const ERASED: DepositDetails = { text: "", payer_name: "" };

function sealDetails(deposit: DepositKey, details: DepositDetails, key: Buffer): Buffer {
  return seal(key, 1, detailsPlace(deposit), Buffer.from(JSON.stringify(details)));
}

function openDetails(deposit: DepositKey, sealed: Buffer, key: Buffer): DepositDetails {
  return JSON.parse(open(key, detailsPlace(deposit), sealed).toString());
}

type DepositKey = { account_id: string; id: string };

function detailsPlace({ account_id, id }: DepositKey): Place {
  return { account_id, table: "fiat_deposits", column: "details", record_id: id };
}

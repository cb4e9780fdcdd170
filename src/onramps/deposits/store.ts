import type { Session, Transaction } from "../../platform/db/database.ts";
import { findRow, listRows, setOf, updateRows } from "../../platform/db/rows.ts";
import { DAY_MS } from "../../platform/durations.ts";
import type { Keyring } from "../../platform/encryption/keyring.ts";
import { sealedJson } from "../../platform/encryption/sealed-column.ts";
import type { Page } from "../../platform/http/list.ts";
import { COUNT_MAX } from "../../platform/metrics/model.ts";
import { vouchedTable } from "../../platform/sealing/vouched-rows.ts";
import type { DepositDetails, DepositStatus, FiatDeposit } from "../model.ts";

export type FiatDepositRow = Omit<FiatDeposit, "details"> & { details: Buffer };

/** What the payer wrote is encrypted for its row. */
export const FIAT_DEPOSITS = vouchedTable(
  "fiat_deposits",
  ["account_id", "id"],
  [
    ...["bank_account", "bank_reference", "part", "is_conflict", "amount", "currency", "booked_at"],
    ...["status", "reason", "is_posted", "matched_by", "onramp_account_id", "onramp_id"],
    ...["matched_amount", "returns", "ledger_account", "created_at", "updated_at"],
  ],
);

const SEALED = sealedJson<DepositDetails>("fiat_deposits", "details");

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
  const rows = FIAT_DEPOSITS.withMacs(
    tx,
    deposits.map((deposit) => ({
      ...deposit,
      ...{ matched_amount: null, returns: 0, created_at: now, updated_at: now },
      details: SEALED.seal(deposit.key, deposit, deposit.details),
    })),
  );
  const columns = `account_id uuid, id uuid, bank_account text, bank_reference text, part int,
    is_conflict boolean, amount bigint, currency text, booked_at timestamptz, details bytea,
    status text, reason text, is_posted boolean, matched_by text, onramp_account_id uuid,
    onramp_id uuid, ledger_account text, mac bytea`;
  const set = setOf(tx, "t", columns, rows);
  const written = await tx.query<{ id: string }>(
    `insert into fiat_deposits (account_id, id, bank_account, bank_reference, part, is_conflict,
       amount, currency, booked_at, details, status, reason, is_posted, matched_by,
       onramp_account_id, onramp_id, ledger_account, mac, matched_amount, returns, created_at,
       updated_at)
     select *, null, 0, $19, $19 from ${set.from}
     on conflict do nothing returning id`,
    [...set.values, now],
  );
  return new Set(written.map((row) => row.id));
}

/** A line of a bank, apart from what its payer wrote. */
export type BankLine = Pick<
  FiatDeposit,
  "bank_account" | "bank_reference" | "amount" | "currency" | "booked_at"
>;
type Reference = Pick<BankLine, "bank_account" | "bank_reference">;

/** The first lines that the bank has reported under this reference. */
export function listLines(
  session: Session,
  account_id: string,
  { bank_account, bank_reference }: Reference,
  limit: number,
): Promise<FiatDepositRow[]> {
  return session.query<FiatDepositRow>(
    `select * from fiat_deposits where account_id = $1 and bank_account = $2
       and bank_reference = $3 and part = 0 order by is_conflict limit $4`,
    [account_id, bank_account, bank_reference, limit],
  );
}

/** The line with this reference, amount and currency. */
export function findLine(
  session: Session,
  account_id: string,
  { bank_account, bank_reference, amount, currency }: Omit<BankLine, "booked_at">,
): Promise<FiatDepositRow | undefined> {
  const key = { account_id, bank_account, bank_reference, part: 0, amount, currency };
  return findRow(session, "fiat_deposits", key);
}

/**
 * Of each line the first one under its reference, and one that it repeats: of the same amount,
 * currency and day. Not all of the reference: some banks give many payments the same.
 */
export function listEarlierLines(
  session: Session,
  account_id: string,
  lines: readonly BankLine[],
): Promise<BankLine[]> {
  const days = lines.map(({ booked_at }) => Math.floor(booked_at.getTime() / DAY_MS) * DAY_MS);
  const rows = lines.map((line, at) => ({
    ...line,
    day_begins: new Date(days[at]!),
    day_ends: new Date(days[at]! + DAY_MS),
  }));
  const set = setOf(
    session,
    "t",
    `bank_account text, bank_reference text, amount bigint, currency text,
     day_begins timestamptz, day_ends timestamptz`,
    rows,
  );
  const account = `$${set.values.length + 1}`;
  const earlier = (condition: string) =>
    `(select bank_account, bank_reference, amount, currency, booked_at from fiat_deposits
      where account_id = ${account} and bank_account = t.bank_account
        and bank_reference = t.bank_reference and part = 0 and ${condition} limit 1)`;
  return session.query<BankLine>(
    `select l.* from ${set.from} cross join lateral (
       ${earlier("not is_conflict")}
       union all
       ${earlier(`is_conflict and amount = t.amount and currency = t.currency
        and booked_at >= t.day_begins and booked_at < t.day_ends`)}
     ) as l`,
    [...set.values, account_id],
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

/** Fails if somebody changed one. */
export async function lockDeposits(
  tx: Session,
  account_id: string,
  ids: readonly string[],
): Promise<FiatDepositRow[]> {
  const rows = await tx.query<FiatDepositRow>(
    `select * from fiat_deposits where account_id = $1 and id = any($2::uuid[])
     order by account_id, id for no key update`,
    [account_id, ids],
  );
  return FIAT_DEPOSITS.assertVouched(tx, rows);
}

/** Locks deposits with all lines that the bank reported under their references, in key order. */
export async function lockLines(
  tx: Session,
  account_id: string,
  ids: readonly string[],
): Promise<FiatDepositRow[]> {
  const rows = await tx.query<FiatDepositRow>(
    `select * from fiat_deposits
     where account_id = $1 and (bank_account, bank_reference) in (
       select bank_account, bank_reference from fiat_deposits
       where account_id = $1 and id = any($2::uuid[]))
     order by account_id, id for no key update`,
    [account_id, ids],
  );
  return FIAT_DEPOSITS.assertVouched(tx, rows);
}

export function findDeposit(
  session: Session,
  account_id: string,
  id: string,
): Promise<FiatDepositRow | undefined> {
  return findRow(session, "fiat_deposits", { account_id, id });
}

/** Whether a user, or their account, is frozen whose onramp this line or a part of it names. */
export async function findLineFreeze(
  session: Session,
  line: Pick<FiatDeposit, "account_id" | "bank_account" | "bank_reference">,
): Promise<boolean> {
  const parts = await session.query<{ account_id: string; id: string }>(
    `select distinct onramp_account_id as account_id, onramp_id as id from fiat_deposits
     where account_id = $1 and bank_account = $2 and bank_reference = $3
       and onramp_id is not null`,
    [line.account_id, line.bank_account, line.bank_reference],
  );
  for (const { account_id, id } of parts) {
    const frozen = await session.query(
      `select from onramps o
       join users u on u.account_id = o.account_id and u.id = o.user_id
       join accounts a on a.id = u.account_id
       where o.account_id = $1 and o.id = $2
         and (u.frozen_at is not null or a.frozen_at is not null)`,
      [account_id, id],
    );
    if (frozen.length > 0) return true;
  }
  return false;
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
  return listRows(session, "fiat_deposits", { account_id, status }, page);
}

/** Writes every mutable column of locked deposits. */
export function updateDeposits(tx: Transaction, deposits: readonly DepositFacts[]): void {
  updateRows(
    tx,
    "fiat_deposits",
    "account_id uuid, id uuid",
    `status text, reason text, is_posted boolean, matched_by text, onramp_account_id uuid,
     onramp_id uuid, matched_amount bigint, returns int, updated_at timestamptz, mac bytea`,
    FIAT_DEPOSITS.withMacs(tx, deposits),
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
    return { ...row, details: key ? SEALED.open(key, row, details) : ERASED };
  });
}

const ERASED: DepositDetails = { text: "", payer_name: "" };

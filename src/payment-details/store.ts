import { assertAsLastEvents, findLastEvents } from "../events/last-events.ts";
import type { Session, Transaction } from "../platform/db/database.ts";
import {
  accountsOf,
  distinctSetOf,
  insertRows,
  type RecordKey,
  updateRows,
} from "../platform/db/rows.ts";
import type { SubjectKeys } from "../platform/encryption/keyring.ts";
import { sealedJson } from "../platform/encryption/sealed-column.ts";
import type { Page } from "../platform/http/list.ts";
import { vouchedTable } from "../platform/sealing/vouched-rows.ts";
import type { UserKey } from "../users/store.ts";
import { digestDetail, type PaymentDetail, type PaymentDetailStatus } from "./model.ts";

export type PaymentDetailRow = {
  account_id: string;
  id: string;
  user_id: string;
  currency: string;
  rails: string;
  beneficiary_type: string;
  status: PaymentDetailStatus;
  details: Buffer;
  mac: Buffer | null;
  sequence: number;
  created_at: Date;
  updated_at: Date;
  /** Not screened against the lists in use. */
  is_stale: boolean;
};

const FIELDS = sealedJson<PaymentDetail["fields"]>("payment_details", "details");

/**
 * Not covered: the details, which are encrypted for their row; `payee_index`, which follows from
 * them; and which lists they were compared with.
 */
export const PAYMENT_DETAILS = vouchedTable(
  "payment_details",
  ["account_id", "id"],
  [
    ...["user_id", "currency", "rails", "beneficiary_type", "status", "sequence", "created_at"],
    "updated_at",
  ],
);

const COLUMNS = `account_id, id, user_id, currency, rails, beneficiary_type, status, details,
  sequence, created_at, updated_at, mac,
  exists (select from screening_state where version is not null
    and version is distinct from payment_details.screening_version) as is_stale`;

export async function findPaymentDetail(
  session: Session,
  key: UserKey,
  id: string,
): Promise<PaymentDetailRow | undefined> {
  const [row] = await session.query<PaymentDetailRow>(
    `select ${COLUMNS} from payment_details where account_id = $1 and user_id = $2 and id = $3`,
    [key.account_id, key.user_id, id],
  );
  return row;
}

export function listPaymentDetails(
  session: Session,
  key: UserKey,
  status: PaymentDetailStatus | undefined,
  page: Page,
): Promise<PaymentDetailRow[]> {
  const values = [key.account_id, key.user_id, page.below_id, page.from_id, page.limit + 1];
  return session.query<PaymentDetailRow>(
    `select ${COLUMNS} from payment_details
     where account_id = $1 and user_id = $2 and id < $3 and id >= $4
       ${status ? "and status = $6" : ""}
     order by id desc limit $5`,
    status ? [...values, status] : values,
  );
}

/** The payment details of a set; unknown ones are absent. */
export function findPaymentDetails(
  session: Session,
  keys: readonly RecordKey[],
): Promise<PaymentDetailRow[]> {
  const accounts = accountsOf(session, keys);
  return session.query<PaymentDetailRow>(
    `select ${COLUMNS} from payment_details
     where account_id ${accounts.equal} and id = any($2::uuid[])`,
    [accounts.value, [...new Set(keys.map((key) => key.id))]],
  );
}

/**
 * Locks payment details in key order; unknown ones are absent. Fails if somebody changed one, or
 * put one back to what it was before its last event.
 */
export async function lockPaymentDetails(
  tx: Session,
  keys: readonly RecordKey[],
  strength: "no key update" | "share" = "no key update",
): Promise<PaymentDetailRow[]> {
  const wanted = distinctSetOf(tx, "wanted", "account_id uuid, id uuid", keys);
  const [rows, last] = await Promise.all([
    tx.query<PaymentDetailRow>(
      `select ${COLUMNS} from payment_details
       join ${wanted.from}
         using (account_id, id)
       order by account_id, id for ${strength} of payment_details`,
      wanted.values,
    ),
    // In the same flush, and after the lock: nobody adds an event meanwhile.
    findLastEvents(tx, keys),
  ]);
  const evented = PAYMENT_DETAILS.assertVouched(tx, rows).map((row) => {
    return { ...row, facts: digestDetail(row) };
  });
  assertAsLastEvents(tx, PAYMENT_DETAILS.table, last, evented);
  return rows;
}

/** Until the end of the transaction nobody changes them; others may do the same meanwhile. */
export function lockShownDetails(
  tx: Session,
  keys: readonly RecordKey[],
): Promise<PaymentDetailRow[]> {
  return lockPaymentDetails(tx, keys, "share");
}

/** An account of which a payment detail has no payee index. */
export async function findAccountWithoutPayee(session: Session): Promise<string | undefined> {
  const [row] = await session.query<{ account_id: string }>(
    "select account_id from payment_details where payee_index is null limit 1",
  );
  return row?.account_id;
}

/** The first payment details of an account without a payee index, locked. */
export function lockWithoutPayee(
  tx: Session,
  account_id: string,
  rows_max: number,
): Promise<PaymentDetailRow[]> {
  return tx.query<PaymentDetailRow>(
    `select ${COLUMNS} from payment_details where account_id = $1 and payee_index is null
     order by id limit $2 for no key update`,
    [account_id, rows_max],
  );
}

export function updatePayees(
  tx: Transaction,
  payees: readonly (RecordKey & { payee_index: Buffer })[],
): void {
  updateRows(tx, "payment_details", "account_id uuid, id uuid", "payee_index bytea", payees);
}

/** Locks the users' first payment details not screened with this version, in key order. */
export function lockUnscreenedDetails(
  tx: Session,
  users: readonly UserKey[],
  version: string,
  limit: number,
): Promise<PaymentDetailRow[]> {
  const wanted = distinctSetOf(tx, "wanted", "account_id uuid, user_id uuid", users);
  return tx.query<PaymentDetailRow>(
    `select ${COLUMNS} from payment_details
     join ${wanted.from}
       using (account_id, user_id)
     where status in ('approved', 'pending') and screening_version is distinct from $3
     order by account_id, id limit $4 for no key update of payment_details`,
    [...wanted.values, version, limit],
  );
}

export function updateDetailsScreened(
  tx: Transaction,
  details: readonly { account_id: string; id: string; screening_version: string }[],
): void {
  const changes = "screening_version text";
  updateRows(tx, "payment_details", "account_id uuid, id uuid", changes, details);
}

export function insertPaymentDetails(
  tx: Transaction,
  unsorted: readonly {
    detail: PaymentDetail;
    key: Buffer;
    payee_index: Buffer | null;
    screening_version: string | null;
  }[],
): void {
  // Each insert locks its user's key: in one order, so that two processes cannot deadlock.
  const rows = unsorted
    .map(({ detail, key, payee_index, screening_version }) => ({
      payee_index,
      screening_version,
      ...detail,
      ...detail.fields,
      details: FIELDS.seal(key, detail, detail.fields),
      order: `${detail.account_id} ${detail.user_id}`,
    }))
    .sort((a, b) => (a.order < b.order ? -1 : 1));
  insertRows(
    tx,
    "payment_details",
    `account_id uuid, id uuid, user_id uuid, currency text, rails text, beneficiary_type text,
     status text, details bytea, payee_index bytea, screening_version text,
     created_at timestamptz, updated_at timestamptz, mac bytea`,
    PAYMENT_DETAILS.withMacs(tx, rows),
  );
}

export function updateStatuses(tx: Transaction, details: readonly PaymentDetail[]): void {
  const changes = "status text, sequence int, updated_at timestamptz, mac bytea";
  const rows = details.map((detail) => ({ ...detail.fields, ...detail }));
  updateRows(
    tx,
    "payment_details",
    "account_id uuid, id uuid",
    changes,
    PAYMENT_DETAILS.withMacs(tx, rows),
  );
}

/** Decrypts the personal data of the rows; rows of an erased user are left out. */
export function toPaymentDetails(
  rows: readonly PaymentDetailRow[],
  keys: SubjectKeys,
): PaymentDetail[] {
  return rows.flatMap(({ details, is_stale: _, mac: __, ...row }) => {
    const key = keys.get(row.account_id, row.user_id);
    if (!key) return [];
    return [{ ...row, fields: FIELDS.open(key, row, details) }];
  });
}

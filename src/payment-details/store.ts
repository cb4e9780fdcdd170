import { columnsOf } from "../platform/db/columns.ts";
import type { Session, Transaction } from "../platform/db/database.ts";
import { insertRows } from "../platform/db/insert-rows.ts";
import { open, type Place, seal } from "../platform/encryption/cipher.ts";
import type { SubjectKeys } from "../platform/encryption/keyring.ts";
import type { Page } from "../platform/http/list.ts";
import type { UserKey } from "../users/store.ts";
import type { PaymentDetail, PaymentDetailStatus } from "./model.ts";

export type PaymentDetailRow = {
  account_id: string;
  id: string;
  user_id: string;
  status: PaymentDetailStatus;
  details: Buffer;
  sequence: number;
  created_at: Date;
  updated_at: Date;
};

const COLUMNS = "account_id, id, user_id, status, details, sequence, created_at, updated_at";

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
  keys: readonly { account_id: string; id: string }[],
): Promise<PaymentDetailRow[]> {
  return session.query<PaymentDetailRow>(
    `select ${COLUMNS} from payment_details
     where account_id = any($1::uuid[]) and id = any($2::uuid[])`,
    [[...new Set(keys.map((key) => key.account_id))], [...new Set(keys.map((key) => key.id))]],
  );
}

/** Locks payment details in key order; unknown ones are absent. */
export function lockPaymentDetails(
  tx: Session,
  keys: readonly { account_id: string; id: string }[],
): Promise<PaymentDetailRow[]> {
  return tx.query<PaymentDetailRow>(
    `select ${COLUMNS} from payment_details
     join (select distinct * from unnest($1::uuid[], $2::uuid[])) as wanted (account_id, id)
       using (account_id, id)
     order by account_id, id for no key update of payment_details`,
    columnsOf(keys, "account_id", "id"),
  );
}

export function insertPaymentDetails(
  tx: Transaction,
  unsorted: readonly { detail: PaymentDetail; key: Buffer; payee_index: Buffer | null }[],
): void {
  // Each insert locks its user's key: in one order, so that two processes cannot deadlock.
  const rows = unsorted
    .map(({ detail, key, payee_index }) => ({
      payee_index,
      ...detail,
      ...detail.fields,
      details: sealDetails(detail, key),
      order: `${detail.account_id} ${detail.user_id}`,
    }))
    .sort((a, b) => (a.order < b.order ? -1 : 1));
  insertRows(
    tx,
    "payment_details",
    `account_id uuid, id uuid, user_id uuid, currency text, rails text, beneficiary_type text,
     status text, details bytea, payee_index bytea, created_at timestamptz,
     updated_at timestamptz`,
    rows,
  );
}

export function updateStatuses(tx: Transaction, details: readonly PaymentDetail[]): void {
  tx.write(
    `update payment_details set status = t.status, sequence = t.sequence,
       updated_at = t.updated_at
     from unnest($1::uuid[], $2::uuid[], $3::text[], $4::int[], $5::timestamptz[])
       as t (account_id, id, status, sequence, updated_at)
     where payment_details.account_id = t.account_id and payment_details.id = t.id`,
    columnsOf(details, "account_id", "id", "status", "sequence", "updated_at"),
  );
}

/** Decrypts the personal data of the rows; rows of an erased user are left out. */
export function toPaymentDetails(
  rows: readonly PaymentDetailRow[],
  keys: SubjectKeys,
): PaymentDetail[] {
  return rows.flatMap(({ details, ...row }) => {
    const key = keys.get(row.account_id, row.user_id);
    if (!key) return [];
    const fields = JSON.parse(open(key, detailsPlace(row.account_id, row.id), details).toString());
    return [{ ...row, fields }];
  });
}

function sealDetails(detail: PaymentDetail, key: Buffer): Buffer {
  const place = detailsPlace(detail.account_id, detail.id);
  return seal(key, 1, place, Buffer.from(JSON.stringify(detail.fields)));
}

function detailsPlace(account_id: string, id: string): Place {
  return { account_id, table: "payment_details", column: "details", record_id: id };
}

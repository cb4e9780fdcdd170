import { AccountMap } from "../platform/account-map.ts";
import type { Session, Transaction } from "../platform/db/database.ts";
import {
  accountsOf,
  columnsOf,
  findRow,
  findRows,
  insertRows,
  listRows,
  lockRows,
  type RecordKey,
  updateRows,
} from "../platform/db/rows.ts";
import type { Keyring, SubjectKeys } from "../platform/encryption/keyring.ts";
import { sealedText } from "../platform/encryption/sealed-column.ts";
import type { Page } from "../platform/http/list.ts";
import { vouchedTable } from "../platform/sealing/vouched-rows.ts";
import type { UserKey } from "../users/store.ts";
import type { Onramp, OnrampStatus } from "./model.ts";
import { DELIVER_ONRAMP_TASK } from "./task-kinds.ts";

export type OnrampRow = Omit<Onramp, "destination_address"> & { details: Buffer };

/** An onramp with the key that encrypts its personal data. */
export type KeyedOnramp = { onramp: Onramp; key: Buffer };

/** The address is encrypted for its row. */
export const ONRAMPS = vouchedTable(
  "onramps",
  ["account_id", "id"],
  [
    ...["user_id", "status", "status_message", "crypto_currency", "crypto_rails", "rate", "fee"],
    ...["destination_amount", "fiat_currency", "fiat_rails", "deposit_amount", "price_version_id"],
    ...["deposit_instructions", "deposit_message", "deposit_id", "received", "deposit_account"],
    ...["delivery", "tx_id", "sequence", "paid_at", "created_at", "updated_at"],
  ],
);

const SEALED_ADDRESS = sealedText("onramps", "details");

export function findOnramp(
  session: Session,
  { account_id, user_id }: UserKey,
  id: string,
): Promise<OnrampRow | undefined> {
  return findRow(session, "onramps", { account_id, user_id, id });
}

export function listOnramps(
  session: Session,
  { account_id, user_id }: UserKey,
  status: OnrampStatus | undefined,
  page: Page,
): Promise<OnrampRow[]> {
  return listRows(session, "onramps", { account_id, user_id, status }, page);
}

/** Of all users of the account, or of one. */
export function listAccountOnramps(
  session: Session,
  filter: { account_id: string; status: string | undefined; user_id: string | undefined },
  page: Page,
): Promise<OnrampRow[]> {
  return listRows(session, "onramps", filter, page);
}

/** Onramps by id, without a lock; absent ones are left out. */
export function findOnramps(session: Session, keys: readonly RecordKey[]): Promise<OnrampRow[]> {
  return findRows(session, "onramps", keys);
}

/** Locks onramps in key order; absent ones are left out. Fails if somebody changed one. */
export async function lockOnramps(tx: Session, keys: readonly RecordKey[]): Promise<OnrampRow[]> {
  return ONRAMPS.assertVouched(tx, await lockRows<OnrampRow>(tx, "onramps", keys));
}

export function insertOnramps(tx: Transaction, entries: readonly KeyedOnramp[]): void {
  insertRows(
    tx,
    "onramps",
    `account_id uuid, id uuid, user_id uuid, status text, crypto_currency text, crypto_rails text,
     destination_amount bigint, details bytea, fiat_currency text, fiat_rails text, rate numeric,
     fee bigint, deposit_amount bigint, price_version_id uuid, deposit_instructions jsonb,
     deposit_message text, created_at timestamptz, updated_at timestamptz, mac bytea`,
    ONRAMPS.withMacs(
      tx,
      entries.map(({ onramp, key }) => {
        return { ...onramp, details: SEALED_ADDRESS.seal(key, onramp, onramp.destination_address) };
      }),
    ),
  );
  insertRows(
    tx,
    "deposit_codes",
    "account_id uuid, onramp_id uuid, code text",
    entries.map(({ onramp: { account_id, id, deposit_message } }) => {
      return { account_id, onramp_id: id, code: deposit_message };
    }),
  );
}

/** Writes every mutable column of locked onramps. */
export function updateOnramps(tx: Transaction, onramps: readonly Onramp[]): void {
  updateRows(
    tx,
    "onramps",
    "account_id uuid, id uuid",
    `status text, status_message text, deposit_id uuid, received bigint,
     deposit_account text, delivery text, tx_id text, sequence int, updated_at timestamptz,
     paid_at timestamptz, mac bytea`,
    ONRAMPS.withMacs(tx, onramps),
  );
}

/** The given codes that were ever issued, and for which onramp. */
export function findCodes(
  session: Session,
  codes: readonly string[],
): Promise<{ code: string; account_id: string; onramp_id: string }[]> {
  return session.query("select * from deposit_codes where code = any($1::text[])", [codes]);
}

/** The owners of these onramps, in any account. */
export function findOwners(
  session: Session,
  onramp_ids: readonly string[],
): Promise<{ account_id: string; onramp_id: string }[]> {
  return session.query(
    "select account_id, onramp_id from deposit_codes where onramp_id = any($1::uuid[])",
    [onramp_ids],
  );
}

/** Makes the waiting deliveries of a user's onramps due now. */
export function updateDeliveriesDue(tx: Transaction, key: UserKey, now: Date): void {
  tx.write(
    `update tasks set due_at = $3
     where account_id = $1 and kind = '${DELIVER_ONRAMP_TASK}' and due_at > $3
       and record_id in (select id from onramps
         where account_id = $1 and user_id = $2 and status = 'sending_fiat')`,
    [key.account_id, key.user_id, now],
  );
}

/** How many unpaid onramps each of these users has. */
export async function countInitiated(
  session: Session,
  keys: readonly UserKey[],
): Promise<AccountMap<number>> {
  const accounts = accountsOf(session, keys);
  const rows = await session.query<UserKey & { count: number }>(
    `select account_id, user_id, count(*)::int as count from onramps
     where account_id ${accounts.equal} and user_id = any($2::uuid[]) and status = 'initiated'
     group by account_id, user_id`,
    [accounts.value, ...columnsOf(keys, "user_id")],
  );
  const counts = new AccountMap<number>();
  for (const { account_id, user_id, count } of rows) counts.set(account_id, user_id, count);
  return counts;
}

/** Whether this user has an unfinished onramp. */
export async function findOpenOnramp(session: Session, key: UserKey): Promise<boolean> {
  const rows = await session.query(
    `select 1 from onramps
     where account_id = $1 and user_id = $2 and status in ('initiated', 'sending_fiat') limit 1`,
    [key.account_id, key.user_id],
  );
  return rows.length > 0;
}

export async function openOnramps(
  session: Session,
  keyring: Keyring,
  rows: readonly OnrampRow[],
): Promise<KeyedOnramp[]> {
  return toOnramps(rows, await keyring.openUserKeys(session, rows));
}

/** Onramps of erased users are left out: their addresses can no longer be decrypted. */
function toOnramps(rows: readonly OnrampRow[], keys: SubjectKeys): KeyedOnramp[] {
  return rows.flatMap(({ details, ...row }) => {
    const key = keys.get(row.account_id, row.user_id);
    if (!key) return [];
    const destination_address = SEALED_ADDRESS.open(key, row, details);
    return [{ onramp: { ...row, destination_address }, key }];
  });
}

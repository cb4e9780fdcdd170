import { AccountMap } from "../platform/account-map.ts";
import type { Session, Transaction } from "../platform/db/database.ts";
import { open, type Place, seal } from "../platform/encryption/cipher.ts";
import type { Keyring, SubjectKeys } from "../platform/encryption/keyring.ts";
import type { Page } from "../platform/http/list.ts";
import type { UserKey } from "../users/store.ts";
import type { Onramp, OnrampStatus } from "./model.ts";
import { DELIVER_ONRAMP_TASK } from "./task-kinds.ts";

export type OnrampRow = Omit<Onramp, "destination_address"> & { details: Buffer };

/** An onramp with the key that encrypts its personal data. */
export type KeyedOnramp = { onramp: Onramp; key: Buffer };

export type OnrampKey = { account_id: string; id: string };

export async function findOnramp(
  session: Session,
  key: UserKey,
  id: string,
): Promise<OnrampRow | undefined> {
  const [row] = await session.query<OnrampRow>(
    "select * from onramps where account_id = $1 and user_id = $2 and id = $3",
    [key.account_id, key.user_id, id],
  );
  return row;
}

export function listOnramps(
  session: Session,
  key: UserKey,
  status: OnrampStatus | undefined,
  page: Page,
): Promise<OnrampRow[]> {
  const values = [key.account_id, key.user_id, page.below_id, page.from_id, page.limit + 1];
  return session.query<OnrampRow>(
    `select * from onramps
     where account_id = $1 and user_id = $2 and id < $3 and id >= $4
       ${status === undefined ? "" : "and status = $6"}
     order by id desc limit $5`,
    status === undefined ? values : [...values, status],
  );
}

/** Onramps by id, without a lock; absent ones are left out. */
export function findOnramps(session: Session, keys: readonly OnrampKey[]): Promise<OnrampRow[]> {
  return session.query<OnrampRow>(
    "select * from onramps where account_id = any($1::uuid[]) and id = any($2::uuid[])",
    [keys.map((key) => key.account_id), keys.map((key) => key.id)],
  );
}

/** Locks onramps in key order; absent ones are left out. */
export function lockOnramps(tx: Session, keys: readonly OnrampKey[]): Promise<OnrampRow[]> {
  return tx.query<OnrampRow>(
    `select onramps.* from onramps
     join (select distinct * from unnest($1::uuid[], $2::uuid[])) as wanted (account_id, id)
       using (account_id, id)
     order by account_id, id for no key update of onramps`,
    [keys.map((key) => key.account_id), keys.map((key) => key.id)],
  );
}

export function insertOnramps(tx: Transaction, entries: readonly KeyedOnramp[]): void {
  const of = <Value>(read: (onramp: Onramp) => Value) => entries.map(({ onramp }) => read(onramp));
  const ids = [of((onramp) => onramp.account_id), of((onramp) => onramp.id)];
  const codes = of((onramp) => onramp.deposit_message);
  tx.write(
    `insert into onramps (account_id, id, user_id, status, crypto_currency, crypto_rails,
       destination_amount, details, fiat_currency, fiat_rails, rate, fee, deposit_amount,
       price_version_id, deposit_instructions, deposit_message, created_at, updated_at)
     select account_id, id, user_id, status, crypto_currency, crypto_rails, destination_amount,
       details, fiat_currency, fiat_rails, rate, fee, deposit_amount, price_version_id,
       instructions, message, created_at, created_at
     from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[],
       $7::bigint[], $8::bytea[], $9::text[], $10::text[], $11::numeric[], $12::bigint[],
       $13::bigint[], $14::uuid[], $15::jsonb[], $16::text[], $17::timestamptz[])
       as t (account_id, id, user_id, status, crypto_currency, crypto_rails, destination_amount,
         details, fiat_currency, fiat_rails, rate, fee, deposit_amount, price_version_id,
         instructions, message, created_at)`,
    [
      ...ids,
      of((onramp) => onramp.user_id),
      of((onramp) => onramp.status),
      of((onramp) => onramp.crypto_currency),
      of((onramp) => onramp.crypto_rails),
      of((onramp) => onramp.destination_amount),
      entries.map(({ onramp, key }) => sealAddress(onramp, key)),
      of((onramp) => onramp.fiat_currency),
      of((onramp) => onramp.fiat_rails),
      of((onramp) => onramp.rate),
      of((onramp) => onramp.fee),
      of((onramp) => onramp.deposit_amount),
      of((onramp) => onramp.price_version_id),
      of((onramp) => JSON.stringify(onramp.deposit_instructions)),
      codes,
      of((onramp) => onramp.created_at.toISOString()),
    ],
  );
  tx.write(
    `insert into deposit_codes (account_id, onramp_id, code)
     select * from unnest($1::uuid[], $2::uuid[], $3::text[])`,
    [...ids, codes],
  );
}

/** Writes every mutable column of locked onramps. */
export function updateOnramps(tx: Transaction, onramps: readonly Onramp[]): void {
  if (onramps.length === 0) return;
  tx.write(
    `update onramps set status = t.status, status_message = t.status_message,
       deposit_id = t.deposit_id, received = t.received, delivery = t.delivery, tx_id = t.tx_id,
       sequence = t.sequence, updated_at = t.updated_at, paid_at = t.paid_at
     from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::uuid[], $6::bigint[],
       $7::text[], $8::text[], $9::int[], $10::timestamptz[], $11::timestamptz[])
       as t (account_id, id, status, status_message, deposit_id, received, delivery, tx_id,
         sequence, updated_at, paid_at)
     where onramps.account_id = t.account_id and onramps.id = t.id`,
    [
      onramps.map((onramp) => onramp.account_id),
      onramps.map((onramp) => onramp.id),
      onramps.map((onramp) => onramp.status),
      onramps.map((onramp) => onramp.status_message),
      onramps.map((onramp) => onramp.deposit_id),
      onramps.map((onramp) => onramp.received),
      onramps.map((onramp) => onramp.delivery),
      onramps.map((onramp) => onramp.tx_id),
      onramps.map((onramp) => onramp.sequence),
      onramps.map((onramp) => onramp.updated_at.toISOString()),
      onramps.map((onramp) => onramp.paid_at?.toISOString() ?? null),
    ],
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
  const rows = await session.query<UserKey & { count: number }>(
    `select account_id, user_id, count(*)::int as count from onramps
     where account_id = any($1::uuid[]) and user_id = any($2::uuid[]) and status = 'initiated'
     group by account_id, user_id`,
    [keys.map((key) => key.account_id), keys.map((key) => key.user_id)],
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
  const subjects = rows.map(({ account_id, user_id }) => ({ account_id, subject_id: user_id }));
  return toOnramps(rows, await keyring.openSubjects(session, subjects));
}

/** Onramps of erased users are left out: their addresses can no longer be decrypted. */
function toOnramps(rows: readonly OnrampRow[], keys: SubjectKeys): KeyedOnramp[] {
  return rows.flatMap(({ details, ...row }) => {
    const key = keys.get(row.account_id, row.user_id);
    if (!key) return [];
    const destination_address = open(key, detailsPlace(row), details).toString();
    return [{ onramp: { ...row, destination_address }, key }];
  });
}

function sealAddress(onramp: Onramp, key: Buffer): Buffer {
  return seal(key, 1, detailsPlace(onramp), Buffer.from(onramp.destination_address));
}

function detailsPlace({ account_id, id }: OnrampKey): Place {
  return { account_id, table: "onramps", column: "details", record_id: id };
}

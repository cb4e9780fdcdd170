import type { BeneficiaryType } from "../catalogue/payment-detail-fields.ts";
import { AccountMap } from "../platform/account-map.ts";
import type { Session, Transaction } from "../platform/db/database.ts";
import { keyedHash, open, type Place, seal } from "../platform/encryption/cipher.ts";
import type { Keyring, SubjectKeys } from "../platform/encryption/keyring.ts";
import type { Page } from "../platform/http/list.ts";
import type { Identity, Kyc, KycStatus, User } from "./model.ts";

export type UserRow = {
  account_id: string;
  id: string;
  beneficiary_type: BeneficiaryType;
  identity: Buffer;
  kyc_status: KycStatus;
  kyc_comment: Buffer | null;
  kyc_usd_status: KycStatus;
  kyc_usd_swift_status: KycStatus;
  kyc_eur_status: KycStatus;
  kyc_eur_swift_status: KycStatus;
  sequence: number;
  created_at: Date;
  updated_at: Date;
};

type KycColumns = Omit<UserRow, "identity" | "kyc_comment" | "sequence">;

/** Of the user itself, or of the whole account. */
const IS_FROZEN = `(users.frozen_at is not null or exists (select from accounts
  where accounts.id = users.account_id and accounts.frozen_at is not null))`;

const COLUMNS = `account_id, id, beneficiary_type, identity, kyc_status, kyc_comment,
  kyc_usd_status, kyc_usd_swift_status, kyc_eur_status, kyc_eur_swift_status,
  sequence, created_at, updated_at`;

/** A user's id within an account. */
export type UserKey = { account_id: string; user_id: string };

export async function findUser(session: Session, key: UserKey): Promise<UserRow | undefined> {
  const [row] = await session.query<UserRow>(
    `select ${COLUMNS} from users where account_id = $1 and id = $2 and erased_at is null`,
    [key.account_id, key.user_id],
  );
  return row;
}

export function listUsers(
  session: Session,
  account_id: string,
  status: KycStatus | undefined,
  page: Page,
): Promise<UserRow[]> {
  const values = [account_id, page.below_id, page.from_id, page.limit + 1];
  return session.query<UserRow>(
    `select ${COLUMNS} from users
     where account_id = $1 and id < $2 and id >= $3 and erased_at is null
       ${status ? "and kyc_status = $5" : ""}
     order by id desc limit $4`,
    status ? [...values, status] : values,
  );
}

/**
 * Locks users in key order; unknown ones are absent. "no key", because inserting a record that
 * refers to a user locks the user's key, which must not wait for this lock.
 */
export function lockUsers(tx: Session, keys: readonly UserKey[]): Promise<UserRow[]> {
  return tx.query<UserRow>(
    `select ${COLUMNS} from users
     join (select distinct * from unnest($1::uuid[], $2::uuid[])) as wanted (account_id, id)
       using (account_id, id)
     where erased_at is null
     order by account_id, id for no key update of users`,
    [keys.map((key) => key.account_id), keys.map((key) => key.user_id)],
  );
}

/** The KYC status maps of users (without the reviewer's comments). */
export function findKycs(session: Session, keys: readonly UserKey[]): Promise<AccountMap<Kyc>> {
  return readKycs(session, keys, "");
}

/**
 * The same, locked until the transaction ends. The lock also prevents an erasure before the rows
 * about to be written are there to be erased.
 */
export function lockKycs(tx: Session, keys: readonly UserKey[]): Promise<AccountMap<Kyc>> {
  return readKycs(tx, keys, "order by account_id, id for share");
}

async function readKycs(
  session: Session,
  keys: readonly UserKey[],
  locking: string,
): Promise<AccountMap<Kyc>> {
  const rows = await session.query<KycColumns & { is_frozen: boolean }>(
    `select account_id, id, kyc_status, kyc_usd_status, kyc_usd_swift_status, kyc_eur_status,
       kyc_eur_swift_status, ${IS_FROZEN} as is_frozen
     from users where account_id = any($1::uuid[]) and id = any($2::uuid[]) and erased_at is null
     ${locking}`,
    [keys.map((key) => key.account_id), keys.map((key) => key.user_id)],
  );
  const kycs = new AccountMap<Kyc>();
  for (const row of rows)
    kycs.set(row.account_id, row.id, { ...toKyc(row, null), is_frozen: row.is_frozen });
  return kycs;
}

function toKyc(row: KycColumns, comment: string | null): Kyc {
  return {
    general: { status: row.kyc_status, moderation_comment: comment },
    usd: { status: row.kyc_usd_status, swift_status: row.kyc_usd_swift_status },
    eur: { status: row.kyc_eur_status, swift_status: row.kyc_eur_swift_status },
  };
}

/** Which of these e-mails are taken, as `account_id hex`. */
export async function findTakenEmails(
  session: Session,
  emails: readonly { account_id: string; email_index: Buffer }[],
): Promise<Map<string, string>> {
  if (emails.length === 0) return new Map();
  const rows = await session.query<{ account_id: string; email_index: Buffer; id: string }>(
    `select account_id, email_index, id from users
     where account_id = any($1::uuid[]) and email_index = any($2::bytea[])`,
    [[...new Set(emails.map((email) => email.account_id))], emails.map((e) => e.email_index)],
  );
  return new Map(rows.map((row) => [emailKey(row.account_id, row.email_index), row.id]));
}

export function emailKey(account_id: string, email_index: Buffer): string {
  return `${account_id} ${email_index.toString("hex")}`;
}

export function hashUserEmail(index_key: Buffer, account_id: string, email: string): Buffer {
  return keyedHash(index_key, "user email", account_id, email);
}

export function insertUsers(
  tx: Transaction,
  users: readonly { user: User; email_index: Buffer; key: Buffer }[],
): void {
  // In the order of the unique key, so that two processes cannot deadlock.
  const sorted = [...users].sort((a, b) =>
    emailKey(a.user.account_id, a.email_index) < emailKey(b.user.account_id, b.email_index)
      ? -1
      : 1,
  );
  tx.write(
    `insert into users (account_id, id, beneficiary_type, email_index, identity, kyc_status,
       kyc_usd_status, kyc_usd_swift_status, kyc_eur_status, kyc_eur_swift_status,
       created_at, updated_at)
     select account_id, id, beneficiary_type, email_index, identity, kyc_status,
       kyc_status, kyc_status, kyc_status, kyc_status, created_at, created_at
     from unnest($1::uuid[], $2::uuid[], $3::text[], $4::bytea[], $5::bytea[], $6::text[],
       $7::timestamptz[])
       as t (account_id, id, beneficiary_type, email_index, identity, kyc_status, created_at)`,
    [
      sorted.map(({ user }) => user.account_id),
      sorted.map(({ user }) => user.id),
      sorted.map(({ user }) => user.beneficiary_type),
      sorted.map(({ email_index }) => email_index),
      sorted.map(({ user, key }) => sealIdentity(user, key)),
      sorted.map(({ user }) => user.kyc.general.status),
      sorted.map(({ user }) => user.created_at),
    ],
  );
}

export function updateIdentities(
  tx: Transaction,
  users: readonly { user: User; email_index: Buffer; key: Buffer }[],
): void {
  tx.write(
    `update users set email_index = t.email_index, identity = t.identity, updated_at = t.updated_at
     from unnest($1::uuid[], $2::uuid[], $3::bytea[], $4::bytea[], $5::timestamptz[])
       as t (account_id, id, email_index, identity, updated_at)
     where users.account_id = t.account_id and users.id = t.id`,
    [
      users.map(({ user }) => user.account_id),
      users.map(({ user }) => user.id),
      users.map(({ email_index }) => email_index),
      users.map(({ user, key }) => sealIdentity(user, key)),
      users.map(({ user }) => user.updated_at),
    ],
  );
}

/** Writes the identity of a locked user, except the e-mail. */
export function updateIdentity(tx: Transaction, user: User, key: Buffer): void {
  tx.write("update users set identity = $3 where account_id = $1 and id = $2", [
    user.account_id,
    user.id,
    sealIdentity(user, key),
  ]);
}

export function updateFrozen(tx: Transaction, key: UserKey, frozen_at: Date | null): void {
  tx.write("update users set frozen_at = $3 where account_id = $1 and id = $2", [
    key.account_id,
    key.user_id,
    frozen_at,
  ]);
}

/** Locks a user of any account, for the operator. */
export async function lockUserAnywhere(
  tx: Session,
  id: string,
): Promise<{ account_id: string; frozen_at: Date | null } | undefined> {
  const [row] = await tx.query<{ account_id: string; frozen_at: Date | null }>(
    "select account_id, frozen_at from users where id = $1 and erased_at is null for no key update",
    [id],
  );
  return row;
}

/** Writes the KYC status map of a locked user. */
export function updateKyc(tx: Transaction, user: User, key: Buffer): void {
  const { general, usd, eur } = user.kyc;
  const place = userPlace(user.account_id, user.id, "kyc_comment");
  const comment = general.moderation_comment;
  tx.write(
    `update users set kyc_status = $3, kyc_comment = $4, kyc_usd_status = $5,
       kyc_usd_swift_status = $6, kyc_eur_status = $7, kyc_eur_swift_status = $8, sequence = $9,
       updated_at = $10
     where account_id = $1 and id = $2`,
    [
      user.account_id,
      user.id,
      general.status,
      comment === null ? null : seal(key, 1, place, Buffer.from(comment)),
      usd.status,
      usd.swift_status,
      eur.status,
      eur.swift_status,
      user.sequence,
      user.updated_at,
    ],
  );
}

/** Leaves the bare row: other records refer to it, but it no longer identifies a person. */
export function updateErased(tx: Transaction, key: UserKey, now: Date): void {
  tx.write(
    `update users set email_index = null, identity = null, kyc_comment = null, erased_at = $3
     where account_id = $1 and id = $2`,
    [key.account_id, key.user_id, now],
  );
}

/** Decrypts the personal data of the rows. */
export async function openUsers(
  session: Session,
  keyring: Keyring,
  rows: readonly UserRow[],
): Promise<User[]> {
  const subjects = rows.map(({ account_id, id }) => ({ account_id, subject_id: id }));
  const keys = await keyring.openSubjects(session, subjects);
  return toUsers(rows, keys);
}

/** A row without a key is being erased: it is left out. */
export function toUsers(rows: readonly UserRow[], keys: SubjectKeys): User[] {
  return rows.flatMap((row) => {
    const key = keys.get(row.account_id, row.id);
    return key ? [toUser(row, key)] : [];
  });
}

function toUser(row: UserRow, key: Buffer): User {
  const place = (column: string) => userPlace(row.account_id, row.id, column);
  const identity: Identity = JSON.parse(open(key, place("identity"), row.identity).toString());
  const comment = row.kyc_comment && open(key, place("kyc_comment"), row.kyc_comment).toString();
  return {
    account_id: row.account_id,
    id: row.id,
    beneficiary_type: row.beneficiary_type,
    identity,
    kyc: toKyc(row, comment),
    sequence: row.sequence,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

function sealIdentity(user: User, key: Buffer): Buffer {
  const place = userPlace(user.account_id, user.id, "identity");
  return seal(key, 1, place, Buffer.from(JSON.stringify(user.identity)));
}

function userPlace(account_id: string, id: string, column: string): Place {
  return { account_id, table: "users", column, record_id: id };
}

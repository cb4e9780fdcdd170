import type { BeneficiaryType } from "../catalogue/payment-detail-fields.ts";
import type { Session, Transaction } from "../platform/db/database.ts";
import {
  accountsOf,
  distinctSetOf,
  insertRows,
  perAccount,
  updateRow,
  updateRows,
} from "../platform/db/rows.ts";
import { keyedHash } from "../platform/encryption/cipher.ts";
import type { Keyring, SubjectKeys } from "../platform/encryption/keyring.ts";
import { sealedJson, sealedText } from "../platform/encryption/sealed-column.ts";
import type { Page } from "../platform/http/list.ts";
import { updateVouched, updateVouchedRows } from "../platform/sealing/write-vouched.ts";
import type { HeldUser, Identity, Kyc, KycStatus, User } from "./model.ts";
import { UNHELD, USERS } from "./vouched-users.ts";

const IDENTITY = sealedJson<Identity>("users", "identity");
const COMMENT = sealedText("users", "kyc_comment");

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
  deactivated_at: Date | null;
};

export type KycColumns = Omit<UserRow, "identity" | "kyc_comment" | "sequence">;

const COLUMNS = `account_id, id, beneficiary_type, identity, kyc_status, kyc_comment,
  kyc_usd_status, kyc_usd_swift_status, kyc_eur_status, kyc_eur_swift_status,
  sequence, created_at, updated_at, deactivated_at`;

/** A user's id within an account. */
export type UserKey = { account_id: string; user_id: string };

/** The users that these commands are about. */
export function usersOf(
  commands: readonly { account_id: string; input: { user_id: string } }[],
): UserKey[] {
  return commands.map(({ account_id, input }) => ({ account_id, user_id: input.user_id }));
}

export async function findUser(session: Session, key: UserKey): Promise<UserRow | undefined> {
  const [row] = await session.query<UserRow>(
    `select ${COLUMNS} from users where account_id = $1 and id = $2 and erased_at is null`,
    [key.account_id, key.user_id],
  );
  return row;
}

/** The users of a set; unknown and erased ones are absent. */
export function findUsers(session: Session, keys: readonly UserKey[]): Promise<UserRow[]> {
  return perAccount(session, keys, (own) => {
    const accounts = accountsOf(session, own);
    return session.query<UserRow>(
      `select ${COLUMNS} from users
       where account_id ${accounts.equal} and id = any($2::uuid[]) and erased_at is null`,
      [accounts.value, own.map((key) => key.user_id)],
    );
  });
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
  const records = keys.map(({ account_id, user_id: id }) => ({ account_id, id }));
  const wanted = distinctSetOf(tx, "wanted", "account_id uuid, id uuid", records);
  return tx.query<UserRow>(
    `select ${COLUMNS} from users join ${wanted.from} using (account_id, id)
     where erased_at is null
     order by account_id, id for no key update of users`,
    wanted.values,
  );
}

export function toKyc(row: KycColumns, comment: string | null): Kyc {
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
  const accounts = accountsOf(session, emails);
  const rows = await session.query<{ account_id: string; email_index: Buffer; id: string }>(
    `select account_id, email_index, id from users
     where account_id ${accounts.equal} and email_index = any($2::bytea[])`,
    [accounts.value, emails.map((e) => e.email_index)],
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
  insertRows(
    tx,
    "users",
    `account_id uuid, id uuid, beneficiary_type text, email_index bytea, identity bytea,
     kyc_status text, kyc_usd_status text, kyc_usd_swift_status text, kyc_eur_status text,
     kyc_eur_swift_status text, created_at timestamptz, updated_at timestamptz, mac bytea`,
    USERS.withMacs(
      tx,
      sorted.map(({ user, email_index, key }) => ({
        ...{ ...user, ...kycColumns(user), ...UNHELD, email_index },
        identity: sealIdentity(user, key),
      })),
    ),
  );
}

export function updateIdentities(
  tx: Transaction,
  users: readonly { user: User; email_index: Buffer; key: Buffer }[],
): void {
  updateRows(
    tx,
    "users",
    "account_id uuid, id uuid",
    "email_index bytea, identity bytea, screening_version text, updated_at timestamptz",
    users.map(({ user, email_index, key }) => {
      return { ...user, ...UNSCREENED, email_index, identity: sealIdentity(user, key) };
    }),
  );
}

/** Writes the identity of a locked user, except the e-mail. */
export function updateIdentity(tx: Transaction, user: User, key: Buffer): void {
  const { account_id, id } = user;
  const identity = sealIdentity(user, key);
  updateRow(tx, "users", { account_id, id }, { identity, ...UNSCREENED });
}

/** Whoever has changed is screened again before anything leaves. */
const UNSCREENED = { screening_version: null };

/** Whether there are lists to screen people against. */
export async function existsScreening(session: Session): Promise<boolean> {
  const rows = await session.query("select from screening_state where version is not null", []);
  return rows.length > 0;
}

/** Something else that is compared with the lists has changed. */
export function updateUnscreened(tx: Transaction, keys: readonly UserKey[]): void {
  if (keys.length === 0) return;
  const wanted = distinctSetOf(tx, "wanted", "account_id uuid, user_id uuid", keys);
  tx.write(
    `update users set screening_version = null from ${wanted.from}
     where users.account_id = wanted.account_id and users.id = wanted.user_id`,
    wanted.values,
  );
}

export function updateScreened(
  tx: Transaction,
  users: readonly (HeldUser & { screening_version: string })[],
): void {
  const changes = "screening_version text, screening_status text, screening_held_at timestamptz";
  updateVouchedRows(tx, USERS, changes, users);
}

/** After a reviewer's decision; what was screened stays so. */
export function updateHeld(tx: Transaction, { account_id, id, ...held }: HeldUser): void {
  updateVouched(tx, USERS, { account_id, id }, held);
}

export function updateFrozen(
  tx: Transaction,
  { account_id, user_id }: UserKey,
  frozen_at: Date | null,
): void {
  updateVouched(tx, USERS, { account_id, id: user_id }, { frozen_at });
}

export function updateDeactivated(
  tx: Transaction,
  { account_id, user_id }: UserKey,
  deactivated_at: Date | null,
): void {
  updateVouched(tx, USERS, { account_id, id: user_id }, { deactivated_at });
}

/** Writes the KYC status map of a locked user. */
export function updateKyc(tx: Transaction, user: User, key: Buffer): void {
  const { account_id, id, sequence, updated_at } = user;
  const comment = user.kyc.general.moderation_comment;
  const kyc_comment = comment === null ? null : COMMENT.seal(key, user, comment);
  const changes = { ...kycColumns(user), kyc_comment, sequence, updated_at };
  updateVouched(tx, USERS, { account_id, id }, changes);
}

function kycColumns({ kyc: { general, usd, eur } }: User) {
  return {
    kyc_status: general.status,
    kyc_usd_status: usd.status,
    kyc_usd_swift_status: usd.swift_status,
    kyc_eur_status: eur.status,
    kyc_eur_swift_status: eur.swift_status,
  };
}

/** Leaves the bare row: other records refer to it, but it no longer identifies a person. */
export function updateErased(tx: Transaction, { account_id, user_id }: UserKey, now: Date): void {
  const erased = { email_index: null, identity: null, kyc_comment: null, erased_at: now };
  updateVouched(tx, USERS, { account_id, id: user_id }, erased);
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

function toUser({ identity, kyc_comment, ...row }: UserRow, key: Buffer): User {
  const comment = kyc_comment && COMMENT.open(key, row, kyc_comment);
  return {
    account_id: row.account_id,
    id: row.id,
    beneficiary_type: row.beneficiary_type,
    identity: IDENTITY.open(key, row, identity),
    kyc: toKyc(row, comment),
    sequence: row.sequence,
    created_at: row.created_at,
    updated_at: row.updated_at,
    deactivated_at: row.deactivated_at,
  };
}

function sealIdentity(user: User, key: Buffer): Buffer {
  return IDENTITY.seal(key, user, user.identity);
}

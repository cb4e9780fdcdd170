import type { Session, Transaction } from "../platform/db/database.ts";
import {
  accountsOf,
  deleteRow,
  findRow,
  insertRow,
  insertRows,
  lockRow,
  updateRow,
} from "../platform/db/rows.ts";
import type { Account, Role } from "./model.ts";

/** One process at a time sets up a new installation. */
export async function lockInstallation(tx: Session): Promise<void> {
  await tx.query("select id from installation for update");
}

export function insertAccount(
  tx: Transaction,
  account: Pick<Account, "id" | "name" | "is_operator" | "webhooks_enabled_at" | "created_at">,
): void {
  const columns = `id uuid, name text, is_operator boolean, webhooks_enabled_at timestamptz,
    created_at timestamptz`;
  insertRows(tx, "accounts", columns, [account]);
  insertRow(tx, "account_controls", { account_id: account.id });
}

export function listAccounts(session: Session): Promise<Account[]> {
  return session.query<Account>("select * from accounts order by id");
}

export async function findAccount(
  session: Session,
  name_or_id: string,
): Promise<Account | undefined> {
  const [account] = await session.query<Account>(
    "select * from accounts where name = $1 or id::text = $1",
    [name_or_id],
  );
  return account;
}

export function findAccountById(session: Session, id: string): Promise<Account | undefined> {
  return findRow(session, "accounts", { id });
}

export function updateAccountReview(tx: Transaction, account: Account): void {
  const { id, kyc_two_person_approval, kyc_review_by_account, document_review_by_account } =
    account;
  const review = { kyc_two_person_approval, kyc_review_by_account, document_review_by_account };
  updateRow(tx, "accounts", { id }, review);
}

export function updateAccountFrozen(tx: Transaction, id: string, frozen_at: Date | null): void {
  updateRow(tx, "accounts", { id }, { frozen_at });
}

/** Filters accounts to those that are frozen. */
export async function listFrozenAccounts(
  session: Session,
  ids: readonly string[],
): Promise<Set<string>> {
  const rows = await session.query<{ id: string }>(
    "select id from accounts where id = any($1::uuid[]) and frozen_at is not null",
    [ids],
  );
  return new Set(rows.map((row) => row.id));
}

export type OwnReviews = Pick<Account, "kyc_review_by_account" | "document_review_by_account">;

/** Which of these accounts review their own users and documents, and what of it. */
export async function listOwnReviews(
  session: Session,
  ids: readonly string[],
): Promise<Map<string, OwnReviews>> {
  const rows = await session.query<OwnReviews & { id: string }>(
    `select id, kyc_review_by_account, document_review_by_account from accounts
     where id = any($1::uuid[]) and (kyc_review_by_account or document_review_by_account)`,
    [ids],
  );
  return new Map(rows.map(({ id, ...own }) => [id, own]));
}

export async function findOperator(session: Session): Promise<Account | undefined> {
  const [account] = await session.query<Account>("select * from accounts where is_operator");
  return account;
}

export type PersonRow = {
  id: string;
  email_index: Buffer;
  email: Buffer;
  /** Null until the person has accepted an invitation. */
  password_hash: string | null;
  created_at: Date;
};

export function insertPerson(tx: Transaction, person: PersonRow): void {
  insertRow(tx, "people", person);
}

export function findPerson(session: Session, email_index: Buffer): Promise<PersonRow | undefined> {
  return findRow(session, "people", { email_index });
}

/** Locked: whether the person has a password, and is a member elsewhere, stays as it is. */
export function lockPerson(tx: Session, email_index: Buffer): Promise<PersonRow | undefined> {
  return lockRow(tx, "people", { email_index });
}

export function lockPersonById(tx: Session, id: string): Promise<PersonRow | undefined> {
  return lockRow(tx, "people", { id });
}

export function findPersonById(session: Session, id: string): Promise<PersonRow | undefined> {
  return findRow(session, "people", { id });
}

export function insertMember(tx: Transaction, member: MemberRow): void {
  insertRow(tx, "members", member);
}

export function findMember(
  session: Session,
  account_id: string,
  person_id: string,
): Promise<MemberRow | undefined> {
  return findRow(session, "members", { account_id, person_id });
}

export type MemberRow = {
  account_id: string;
  person_id: string;
  role: Role;
  /** Null: at once. */
  votes_from: Date | null;
  created_at: Date;
};

/** All members of an account, oldest first, with their sealed e-mails. */
export function listMembers(
  session: Session,
  account_id: string,
): Promise<(MemberRow & { email: Buffer; has_password: boolean; has_factor: boolean })[]> {
  return session.query(
    `select members.*, people.email, people.password_hash is not null as has_password,
       exists (select from totp_factors where person_id = people.id)
         or exists (select from passkeys where person_id = people.id) as has_factor
     from members join people on people.id = members.person_id
     where members.account_id = $1 order by members.created_at, members.person_id`,
    [account_id],
  );
}

export function lockMembers(tx: Session, account_id: string): Promise<MemberRow[]> {
  return tx.query<MemberRow>(
    "select * from members where account_id = $1 order by person_id for update",
    [account_id],
  );
}

export function updateMemberRole(
  tx: Transaction,
  { account_id, person_id, role, votes_from }: Omit<MemberRow, "created_at">,
): void {
  updateRow(tx, "members", { account_id, person_id }, { role, votes_from });
}

/** The person votes in no account before then. */
export function updateVotesFrom(tx: Transaction, person_id: string, votes_from: Date): void {
  // The later of both; a null counts as none.
  tx.write("update members set votes_from = greatest(votes_from, $2) where person_id = $1", [
    person_id,
    votes_from,
  ]);
}

/**
 * With what applications hold for the member (`apps/oauth`): the consents, codes and tokens. In key
 * order, as the OAuth library deletes them.
 */
export function deleteMember(
  tx: Transaction,
  { account_id, person_id }: { account_id: string; person_id: string },
): void {
  deleteRow(tx, "members", { account_id, person_id });
  deleteRow(tx, "sessions", { account_id, person_id });
  tx.write(
    `delete from oauth_artifacts where (model, id_hash) in (
       select model, id_hash from oauth_artifacts where grant_id in (
         select grant_id from oauth_artifacts
         where model = 'Grant' and person_id = $1 and account_id = $2)
       order by model, id_hash for update)`,
    [person_id, account_id],
  );
}

export type Membership = { account_id: string; account_name: string; role: Role };

/**
 * The accounts that a person belongs to, in the order in which they joined: another account,
 * however old, must not become the one in which they sign in by adding them.
 */
export function listMemberships(
  session: Session,
  person_id: string,
  limit: number,
): Promise<Membership[]> {
  return session.query<Membership>(
    `select members.account_id, accounts.name as account_name, members.role
     from members join accounts on accounts.id = members.account_id
     where members.person_id = $1
     order by members.created_at, members.account_id limit $2`,
    [person_id, limit],
  );
}

/** Filters people to members of the accounts, with their sealed e-mails. */
export function listMembersById(
  session: Session,
  account_ids: string[],
  person_ids: string[],
): Promise<{ person_id: string; email: Buffer }[]> {
  const accounts = accountsOf(session, account_ids);
  return session.query(
    `select distinct members.person_id, people.email
     from members join people on people.id = members.person_id
     where members.account_id ${accounts.equal} and members.person_id = any($2::uuid[])`,
    [accounts.value, person_ids],
  );
}

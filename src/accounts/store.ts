import type { Session, Transaction } from "../platform/db/database.ts";
import {
  accountsOf,
  deleteRow,
  findRow,
  insertRow,
  lockRow,
  perAccount,
  updateRow,
} from "../platform/db/rows.ts";
import { vouchedTable } from "../platform/sealing/vouched-rows.ts";
import { insertVouched, updateVouched } from "../platform/sealing/write-vouched.ts";
import { ACCOUNT_CONTROLS } from "./controls-store.ts";
import type { Account, Role } from "./model.ts";
import { deleteTokens } from "./tokens-store.ts";

/** One process at a time sets up a new installation. */
export async function lockInstallation(tx: Session): Promise<void> {
  await tx.query("select id from installation for update");
}

/** Not covered: since when webhooks are enabled. It says only what is sent, not what is paid. */
export const ACCOUNTS = vouchedTable(
  "accounts",
  ["id"],
  [
    ...["name", "is_operator", "kyc_two_person_approval", "kyc_review_by_account"],
    ...["document_review_by_account", "frozen_at", "created_at"],
  ],
);

export function insertAccount(tx: Transaction, account: Account): void {
  insertVouched(tx, ACCOUNTS, { ...account, frozen_at: null });
  insertVouched(tx, ACCOUNT_CONTROLS, { account_id: account.id, approval_above_usd: null });
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

/** Fails if somebody changed it, like all that reads what an account may do. */
export async function findAccountById(session: Session, id: string): Promise<Account | undefined> {
  const row = await findRow<Account>(session, "accounts", { id });
  return row && ACCOUNTS.assertVouched(session, [row])[0];
}

export function updateAccountReview(tx: Transaction, account: Account): void {
  const { id, kyc_two_person_approval, kyc_review_by_account, document_review_by_account } =
    account;
  const review = { kyc_two_person_approval, kyc_review_by_account, document_review_by_account };
  updateVouched(tx, ACCOUNTS, { id }, review);
}

export function updateAccountFrozen(tx: Transaction, id: string, frozen_at: Date | null): void {
  updateVouched(tx, ACCOUNTS, { id }, { frozen_at });
}

/** Fails if somebody changed one. */
export async function listAccountsById(session: Session, ids: readonly string[]) {
  const rows = await session.query<Account & { frozen_at: Date | null }>(
    "select * from accounts where id = any($1::uuid[])",
    [ids],
  );
  return ACCOUNTS.assertVouched(session, rows);
}

export type OwnReviews = Pick<Account, "kyc_review_by_account" | "document_review_by_account">;

/** Which of these accounts review their own users and documents, and what of it. */
export async function listOwnReviews(
  session: Session,
  ids: readonly string[],
): Promise<Map<string, OwnReviews>> {
  const rows = await listAccountsById(session, ids);
  const own = rows.filter((row) => row.kyc_review_by_account || row.document_review_by_account);
  return new Map(
    own.map(({ id, kyc_review_by_account, document_review_by_account }) => {
      return [id, { kyc_review_by_account, document_review_by_account }];
    }),
  );
}

/** Filters accounts to those that review their own documents: the operator's, and by delegation. */
export async function listDocumentReviewers(
  session: Session,
  ids: readonly string[],
): Promise<Set<string>> {
  const rows = await listAccountsById(session, ids);
  const own = rows.filter((row) => row.is_operator || row.document_review_by_account);
  return new Set(own.map(({ id }) => id));
}

/** Without the check of its MAC: a restore and `verify --without-keys` have no keys. */
export async function findOperatorId(session: Session): Promise<string | undefined> {
  const rows = await session.query<{ id: string }>("select id from accounts where is_operator");
  return rows[0]?.id;
}

export async function findOperator(session: Session): Promise<Account | undefined> {
  const rows = await session.query<Account>("select * from accounts where is_operator");
  return ACCOUNTS.assertVouched(session, rows)[0];
}

export type PersonRow = {
  id: string;
  email_index: Buffer;
  email: Buffer;
  /** Null until the person has accepted an invitation. */
  password_hash: string | null;
  created_at: Date;
  /** When the second factor was removed for them, if they have to wait before they vote again. */
  factor_reset_at: Date | null;
};

/** The e-mail itself is encrypted for its row; its index finds the person who signs in. */
export const PEOPLE = vouchedTable(
  "people",
  ["id"],
  ["password_hash", "email_index", "created_at"],
  { added: ["factor_reset_at"] },
);

export function insertPerson(tx: Transaction, person: PersonRow): void {
  insertRow(tx, "people", PEOPLE.withMacs(tx, [person])[0]!);
}

/** People are absent whose password somebody changed: they cannot sign in. */
export async function findPerson(
  session: Session,
  email_index: Buffer,
): Promise<PersonRow | undefined> {
  return knownPerson(session, await findRow(session, "people", { email_index }));
}

/** Locked: whether the person has a password, and is a member elsewhere, stays as it is. */
export async function lockPerson(tx: Session, email_index: Buffer): Promise<PersonRow | undefined> {
  return knownPerson(tx, await lockRow(tx, "people", { email_index }));
}

export async function lockPersonById(tx: Session, id: string): Promise<PersonRow | undefined> {
  return knownPerson(tx, await lockRow(tx, "people", { id }));
}

export async function findPersonById(session: Session, id: string): Promise<PersonRow | undefined> {
  return knownPerson(session, await findRow(session, "people", { id }));
}

/** Fails if somebody changed the person: then nobody knows how long they wait. */
export async function findFactorReset(session: Session, person_id: string): Promise<Date | null> {
  const row = await findRow<PersonRow>(session, "people", { id: person_id });
  if (!row) throw new Error(`a member without a person: ${person_id}`);
  return PEOPLE.assertVouched(session, [row])[0]!.factor_reset_at;
}

/** Kept with the person: one row, however many accounts they vote in. */
export function updateFactorReset(tx: Transaction, id: string, factor_reset_at: Date): void {
  updateVouched(tx, PEOPLE, { id }, { factor_reset_at });
}

function knownPerson(session: Session, row: PersonRow | undefined): PersonRow | undefined {
  return row && PEOPLE.vouchedOnly(session, [row])[0];
}

export const MEMBERS = vouchedTable(
  "members",
  ["account_id", "person_id"],
  ["role", "votes_from", "created_at"],
);

export function insertMember(tx: Transaction, member: MemberRow): void {
  insertRow(tx, "members", MEMBERS.withMacs(tx, [member])[0]!);
}

export type MemberRow = {
  account_id: string;
  person_id: string;
  role: Role;
  /** Null: at once. */
  votes_from: Date | null;
  created_at: Date;
  /** Null until the person first used the account, which is how they accept the membership. */
  joined_at: Date | null;
};

type ListedMember = MemberRow & { email: Buffer };

/** All members of an account, oldest first, with their sealed e-mails. */
export async function listMembers(session: Session, account_id: string): Promise<ListedMember[]> {
  const rows = await session.query<ListedMember>(
    `select members.*, people.email
     from members join people on people.id = members.person_id
     where members.account_id = $1 order by members.created_at, members.person_id`,
    [account_id],
  );
  return MEMBERS.vouchedOnly(session, rows);
}

/** Names of accounts, not frozen, in which fewer than two members have one of these roles. */
export async function listAccountsWithoutTwo(
  session: Session,
  roles: readonly Role[],
  limit: number,
): Promise<string[]> {
  const rows = await session.query<{ name: string }>(
    `select name from accounts where frozen_at is null and (
       select count(*) from members where account_id = accounts.id and role = any($1::text[])) < 2
     order by id limit $2`,
    [[...roles], limit],
  );
  return rows.map(({ name }) => name);
}

/**
 * In turns, which the rows' locks alone do not ensure: whoever waited for one has not seen a member
 * added meanwhile, and would lock that row after others who see it and lock it first.
 */
export async function lockMembers(tx: Session, account_id: string): Promise<MemberRow[]> {
  const turn = "select pg_advisory_xact_lock(hashtextextended('members of ' || $1, 0))";
  await tx.query(turn, [account_id]);
  const rows = await tx.query<MemberRow>(
    "select * from members where account_id = $1 order by person_id for update",
    [account_id],
  );
  return MEMBERS.vouchedOnly(tx, rows);
}

export function updateMemberRole(tx: Transaction, member: MemberRow): void {
  const { account_id, person_id, role, votes_from, mac } = MEMBERS.withMacs(tx, [member])[0]!;
  updateRow(tx, "members", { account_id, person_id }, { role, votes_from, mac });
}

/** With what applications hold for the member. */
export function deleteMember(
  tx: Transaction,
  { account_id, person_id }: { account_id: string; person_id: string },
): void {
  deleteRow(tx, "members", { account_id, person_id });
  deleteRow(tx, "sessions", { account_id, person_id });
  deleteTokens(tx, { account_id, person_id });
}

/** Nothing that a person let in receives events any more: of one account, or of all without one. */
export function updateConsentsRevoked(
  tx: Transaction,
  { account_id, person_id }: { account_id: string | null; person_id: string },
  now: Date,
): void {
  const [of_account, values] =
    account_id === null ? ["", []] : ["and account_id = $3", [account_id]];
  tx.write(
    `update app_grants set revoked_at = $2
     where person_id = $1 and revoked_at is null ${of_account}`,
    [person_id, now, ...values],
  );
}

/**
 * The accounts in which the person consented to something that has not ended, in the order of their
 * ids. Whatever `members` says: somebody may have changed it.
 */
export async function listConsentedAccounts(
  session: Session,
  person_id: string,
  after_account_id: string,
  limit: number,
): Promise<string[]> {
  const rows = await session.query<{ account_id: string }>(
    `select distinct account_id from app_grants
     where person_id = $1 and account_id > $2 and revoked_at is null
     order by account_id limit $3`,
    [person_id, after_account_id, limit],
  );
  return rows.map((row) => row.account_id);
}

export type Membership = { account_id: string; account_name: string; role: Role };
type ListedMembership = MemberRow & { account_name: string };

/**
 * The accounts that a person belongs to, in the order in which they joined: another account,
 * however old, must not become the one in which they sign in by adding them.
 */
export async function listMemberships(
  session: Session,
  person_id: string,
  limit: number,
): Promise<Membership[]> {
  const rows = await session.query<ListedMembership>(
    `select members.*, accounts.name as account_name
     from members join accounts on accounts.id = members.account_id
     where members.person_id = $1
     order by members.created_at, members.account_id limit $2`,
    [person_id, limit],
  );
  return MEMBERS.vouchedOnly(session, rows).map(({ account_id, account_name, role }) => {
    return { account_id, account_name, role };
  });
}

/** Filters people to members of the accounts, with their sealed e-mails. */
export function listMembersById(
  session: Session,
  account_ids: string[],
  person_ids: string[],
): Promise<{ person_id: string; email: Buffer }[]> {
  const owned = account_ids.map((account_id) => ({ account_id }));
  return perAccount(session, owned, (some) => {
    const accounts = accountsOf(session, some);
    return session.query(
      `select distinct members.person_id, people.email
       from members join people on people.id = members.person_id
       where members.account_id ${accounts.equal} and members.person_id = any($2::uuid[])`,
      [accounts.value, person_ids],
    );
  });
}

import type { Session, Transaction } from "../../platform/db/database.ts";
import { deleteRow, lockRow } from "../../platform/db/rows.ts";
import { vouchedTable } from "../../platform/sealing/vouched-rows.ts";
import { insertVouched, updateVouched } from "../../platform/sealing/write-vouched.ts";
import { findMember } from "../audited/find-member.ts";
import type { Role } from "../model.ts";
import { ACCOUNTS } from "../store.ts";

type StoredState = "awaiting_factor" | "active";

type SessionRow = {
  token_hash: Buffer;
  id: string;
  account_id: string;
  person_id: string;
  state: StoredState;
  origin: Buffer | null;
  created_at: Date;
  used_at: Date;
  confirmed_at: Date;
  /** Null: no second factor was given. */
  factor_at: Date | null;
  expires_at: Date;
};

/** Not covered: the time of the last use, which is written often; `expires_at` ends it anyway. */
export const SESSIONS = vouchedTable(
  "sessions",
  ["token_hash"],
  [
    ...["id", "account_id", "person_id", "state", "created_at", "confirmed_at", "factor_at"],
    "expires_at",
  ],
);

export function insertSession(tx: Transaction, row: SessionRow): void {
  insertVouched(tx, SESSIONS, row);
}

type SessionView = {
  id: string;
  person_id: string;
  account_id: string;
  account_name: string;
  is_operator: boolean;
  role: Role;
  email: Buffer;
  state: StoredState;
  origin: Buffer | null;
  signed_in_at: Date;
  used_at: Date;
  confirmed_at: Date;
  factor_at: Date | null;
  has_app: boolean;
  has_passkey: boolean;
};

/** What the MACs of the session, its member and its account cover beyond what is shown. */
type Vouched = {
  token_hash: Buffer;
  expires_at: Date;
  mac: Buffer | null;
  votes_from: Date | null;
  member_since: Date;
  member_mac: Buffer | null;
  kyc_two_person_approval: boolean;
  kyc_review_by_account: boolean;
  document_review_by_account: boolean;
  frozen_at: Date | null;
  account_since: Date;
  account_mac: Buffer | null;
};

/**
 * Neither expired at `now` nor unused since `used_after`. Absent too if somebody changed the
 * session, the member or the account.
 */
export async function findSessionByHash(
  session: Session,
  token_hash: Buffer,
  now: Date,
  used_after: Date,
): Promise<SessionView | undefined> {
  const [row] = await session.query<Omit<SessionView, "role"> & Vouched>(
    `select sessions.id, sessions.person_id, sessions.account_id, accounts.name as account_name,
       accounts.is_operator, people.email, sessions.state, sessions.origin,
       sessions.created_at as signed_in_at, sessions.used_at, sessions.confirmed_at,
       sessions.factor_at,
       exists (select from totp_factors where person_id = sessions.person_id) as has_app,
       exists (select from passkeys where person_id = sessions.person_id) as has_passkey,
       sessions.token_hash, sessions.expires_at, sessions.mac,
       accounts.kyc_two_person_approval, accounts.kyc_review_by_account,
       accounts.document_review_by_account, accounts.frozen_at,
       accounts.created_at as account_since, accounts.mac as account_mac
     from sessions
     join accounts on accounts.id = sessions.account_id
     join people on people.id = sessions.person_id
     where token_hash = $1 and expires_at > $2 and used_at > $3`,
    [token_hash, now, used_after],
  );
  if (!row || !isVouched(session, row)) return undefined;
  const { account_id, person_id } = row;
  const member = await findMember(session, account_id, person_id);
  return member && toView({ ...row, role: member.role });
}

function isVouched(session: Session, row: Omit<SessionView, "role"> & Vouched): boolean {
  const account = {
    ...{ ...row, id: row.account_id, name: row.account_name },
    ...{ created_at: row.account_since, mac: row.account_mac },
  };
  return (
    SESSIONS.vouchedOnly(session, [{ ...row, created_at: row.signed_in_at }]).length > 0 &&
    ACCOUNTS.vouchedOnly(session, [account]).length > 0
  );
}

function toView(row: SessionView): SessionView {
  const { id, person_id, account_id, account_name, is_operator, role, email, state } = row;
  const { origin, signed_in_at, used_at, confirmed_at, factor_at, has_app, has_passkey } = row;
  return {
    ...{ id, person_id, account_id, account_name, is_operator, role, email, state, origin },
    ...{ signed_in_at, used_at, confirmed_at, factor_at, has_app, has_passkey },
  };
}

type OwnSession = Pick<SessionRow, "id" | "origin" | "created_at" | "used_at"> & {
  account_name: string;
};

/** The person's sessions that have not ended, the last used first. */
export function listSessions(
  session: Session,
  person_id: string,
  now: Date,
  used_after: Date,
): Promise<OwnSession[]> {
  return session.query<OwnSession>(
    `select sessions.id, origin, sessions.created_at, used_at, accounts.name as account_name
     from sessions join accounts on accounts.id = sessions.account_id
     where person_id = $1 and state = 'active' and expires_at > $2 and used_at > $3
     order by used_at desc, sessions.id limit 100`,
    [person_id, now, used_after],
  );
}

/** Written once a minute at most, whatever the session is used for. */
export async function updateSessionUsed(
  session: Session,
  token_hash: Buffer,
  used_at: Date,
): Promise<void> {
  await session.query("update sessions set used_at = $2 where token_hash = $1 and used_at < $2", [
    token_hash,
    used_at,
  ]);
}

export function updateSessionAccount(
  tx: Transaction,
  token_hash: Buffer,
  account_id: string,
): void {
  updateVouched(tx, SESSIONS, { token_hash }, { account_id });
}

/** The session goes on under another token. False when it has ended meanwhile. */
export async function updateSessionToken(
  tx: Transaction,
  token_hash: Buffer,
  changes: { token_hash: Buffer; confirmed_at: Date; factor_at: Date | null },
): Promise<boolean> {
  const row = await lockRow<SessionRow>(tx, "sessions", { token_hash });
  const [known] = row ? SESSIONS.vouchedOnly(tx, [row]) : [];
  if (!known) return false;
  const [changed] = SESSIONS.withMacs(tx, [{ ...known, ...changes }]);
  const rows = await tx.query(
    `update sessions set token_hash = $2, confirmed_at = $3, used_at = $3, factor_at = $4, mac = $5
     where token_hash = $1 returning 1`,
    [token_hash, changes.token_hash, changes.confirmed_at, changes.factor_at, changed!.mac],
  );
  return rows.length > 0;
}

export function deleteSession(tx: Transaction, token_hash: Buffer): void {
  deleteRow(tx, "sessions", { token_hash });
}

/** False when it has ended meanwhile. */
export async function claimSession(tx: Transaction, token_hash: Buffer): Promise<boolean> {
  const rows = await tx.query("delete from sessions where token_hash = $1 returning 1", [
    token_hash,
  ]);
  return rows.length > 0;
}

/** Returns how many ended. */
export async function deleteSessionById(
  tx: Transaction,
  person_id: string,
  id: string,
): Promise<number> {
  const rows = await tx.query("delete from sessions where person_id = $1 and id = $2 returning 1", [
    ...[person_id, id],
  ]);
  return rows.length;
}

export async function deleteOtherSessions(
  tx: Transaction,
  person_id: string,
  token_hash: Buffer,
): Promise<number> {
  const rows = await tx.query(
    "delete from sessions where person_id = $1 and token_hash <> $2 returning 1",
    [person_id, token_hash],
  );
  return rows.length;
}

export function deleteSessionsOfPerson(tx: Transaction, person_id: string): void {
  deleteRow(tx, "sessions", { person_id });
}

/** Skips rows that another sign-in is deleting, so that the two never wait for each other. */
export function deleteExpiredSessions(tx: Transaction, now: Date, limit: number): void {
  tx.write(
    `delete from sessions where token_hash in (
       select token_hash from sessions where expires_at <= $1
       order by expires_at limit $2 for update skip locked)`,
    [now, limit],
  );
}

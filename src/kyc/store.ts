import type { Session, Transaction } from "../platform/db/database.ts";
import {
  accountsOf,
  deleteRow,
  distinctSetOf,
  findRow,
  insertRow,
  insertRows,
  lockRow,
  updateRow,
} from "../platform/db/rows.ts";
import type { UserKey } from "../users/store.ts";

type EndReason = "replaced" | "expired";

export type KycSession = {
  account_id: string;
  id: string;
  user_id: string;
  command_id: string;
  created_at: Date;
  expires_at: Date;
  ended_at: Date | null;
  end_reason: EndReason | null;
  wrong_birth_dates: number;
  /** Of the birth date that the account had sent when the link was created. */
  birth_date_hash: Buffer | null;
  /** Set by the submission: from then on the link is read-only. */
  read_only_at: Date | null;
};

export type KycVisit = {
  account_id: string;
  id: string;
  session_id: string;
  confirmed_at: Date | null;
  created_at: Date;
};

/** The session of a token; `visit_id` is null for the link itself. */
type FoundToken = { account_id: string; session_id: string; visit_id: string | null };

export function findKycToken(
  session: Session,
  token_hash: Buffer,
): Promise<FoundToken | undefined> {
  return findRow(session, "kyc_tokens", { token_hash });
}

export function insertTokens(
  tx: Transaction,
  tokens: readonly (FoundToken & { token_hash: Buffer })[],
): void {
  const columns = "token_hash bytea, account_id uuid, session_id uuid, visit_id uuid";
  insertRows(tx, "kyc_tokens", columns, tokens);
}

export function findKycSession(
  session: Session,
  account_id: string,
  id: string,
): Promise<KycSession | undefined> {
  return findRow(session, "kyc_sessions", { account_id, id });
}

export function lockKycSession(
  tx: Session,
  account_id: string,
  id: string,
): Promise<KycSession | undefined> {
  return lockRow(tx, "kyc_sessions", { account_id, id });
}

/** The sessions of these users that have not ended. */
export function listOpenSessions(
  session: Session,
  keys: readonly UserKey[],
): Promise<KycSession[]> {
  const wanted = distinctSetOf(session, "wanted", "account_id uuid, user_id uuid", keys);
  return session.query<KycSession>(
    `select kyc_sessions.* from kyc_sessions
     join ${wanted.from}
       using (account_id, user_id)
     where ended_at is null order by account_id, id`,
    wanted.values,
  );
}

export function insertKycSessions(tx: Transaction, sessions: readonly KycSession[]): void {
  insertRows(
    tx,
    "kyc_sessions",
    `account_id uuid, id uuid, user_id uuid, command_id uuid, created_at timestamptz,
     expires_at timestamptz, ended_at timestamptz, end_reason text, birth_date_hash bytea`,
    sessions,
  );
}

export function updateSessionsEnded(
  tx: Transaction,
  sessions: readonly KycSession[],
  end_reason: EndReason,
  now: Date,
): void {
  if (sessions.length === 0) return;
  const accounts = accountsOf(tx, sessions);
  tx.write(
    `update kyc_sessions set ended_at = $3, end_reason = $4
     where account_id ${accounts.equal} and id = any($2::uuid[]) and ended_at is null`,
    [accounts.value, sessions.map((row) => row.id), now, end_reason],
  );
}

/** Makes a user's links read-only: they show the result and accept no more input. */
export function updateSessionsReadOnly(tx: Transaction, key: UserKey, now: Date): void {
  tx.write(
    `update kyc_sessions set read_only_at = $3
     where account_id = $1 and user_id = $2 and read_only_at is null`,
    [key.account_id, key.user_id, now],
  );
}

export function updateWrongBirthDates(
  tx: Transaction,
  { account_id, id, wrong_birth_dates }: KycSession,
): void {
  updateRow(tx, "kyc_sessions", { account_id, id }, { wrong_birth_dates });
}

/** Deletes the session with its visits and tokens: the link becomes unknown. */
export function deleteKycSession(tx: Transaction, account_id: string, id: string): void {
  deleteRow(tx, "kyc_sessions", { account_id, id });
  deleteRow(tx, "kyc_tokens", { account_id, session_id: id });
}

/** For an erased user, who gets no further session; there may have been any number of them. */
export async function deleteKycSessionsOf(
  tx: Transaction,
  { account_id, user_id }: UserKey,
): Promise<void> {
  const sessions = await tx.query<{ id: string }>(
    "select id from kyc_sessions where account_id = $1 and user_id = $2",
    [account_id, user_id],
  );
  const values = [account_id, sessions.map(({ id }) => id)];
  tx.write("delete from kyc_sessions where account_id = $1 and id = any($2::uuid[])", values);
  tx.write("delete from kyc_tokens where account_id = $1 and session_id = any($2::uuid[])", values);
}

export function insertVisit(tx: Transaction, visit: KycVisit): void {
  insertRow(tx, "kyc_visits", visit);
}

export function findVisit(
  session: Session,
  account_id: string,
  id: string,
): Promise<KycVisit | undefined> {
  return findRow(session, "kyc_visits", { account_id, id });
}

export async function findVisitCount(
  session: Session,
  account_id: string,
  session_id: string,
): Promise<number> {
  const [row] = await session.query<{ count: number }>(
    `select count(*)::integer as count from kyc_visits
     where account_id = $1 and session_id = $2`,
    [account_id, session_id],
  );
  return row?.count ?? 0;
}

export function updateVisitConfirmed(
  tx: Transaction,
  { account_id, id }: KycVisit,
  confirmed_at: Date,
): void {
  updateRow(tx, "kyc_visits", { account_id, id }, { confirmed_at });
}

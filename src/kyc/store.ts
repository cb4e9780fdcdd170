import type { Session, Transaction } from "../platform/db/database.ts";
import { insertRows } from "../platform/db/insert-rows.ts";
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

export async function findKycToken(
  session: Session,
  token_hash: Buffer,
): Promise<FoundToken | undefined> {
  const [row] = await session.query<FoundToken>(
    "select account_id, session_id, visit_id from kyc_tokens where token_hash = $1",
    [token_hash],
  );
  return row;
}

export function insertTokens(
  tx: Transaction,
  tokens: readonly (FoundToken & { token_hash: Buffer })[],
): void {
  const columns = "token_hash bytea, account_id uuid, session_id uuid, visit_id uuid";
  insertRows(tx, "kyc_tokens", columns, tokens);
}

export async function findKycSession(
  session: Session,
  account_id: string,
  id: string,
): Promise<KycSession | undefined> {
  const [row] = await session.query<KycSession>(
    "select * from kyc_sessions where account_id = $1 and id = $2",
    [account_id, id],
  );
  return row;
}

export async function lockKycSession(
  tx: Session,
  account_id: string,
  id: string,
): Promise<KycSession | undefined> {
  const [row] = await tx.query<KycSession>(
    "select * from kyc_sessions where account_id = $1 and id = $2 for no key update",
    [account_id, id],
  );
  return row;
}

/** The sessions of these users that have not ended. */
export function listOpenSessions(
  session: Session,
  keys: readonly UserKey[],
): Promise<KycSession[]> {
  return session.query<KycSession>(
    `select kyc_sessions.* from kyc_sessions
     join (select distinct * from unnest($1::uuid[], $2::uuid[])) as wanted (account_id, user_id)
       using (account_id, user_id)
     where ended_at is null order by account_id, id`,
    [keys.map((key) => key.account_id), keys.map((key) => key.user_id)],
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
  tx.write(
    `update kyc_sessions set ended_at = $3, end_reason = $4
     where account_id = any($1::uuid[]) and id = any($2::uuid[]) and ended_at is null`,
    [sessions.map((row) => row.account_id), sessions.map((row) => row.id), now, end_reason],
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

export function updateWrongBirthDates(tx: Transaction, row: KycSession): void {
  tx.write("update kyc_sessions set wrong_birth_dates = $3 where account_id = $1 and id = $2", [
    row.account_id,
    row.id,
    row.wrong_birth_dates,
  ]);
}

/** Deletes the session with its visits and tokens: the link becomes unknown. */
export function deleteKycSession(tx: Transaction, account_id: string, id: string): void {
  tx.write("delete from kyc_sessions where account_id = $1 and id = $2", [account_id, id]);
}

export function deleteKycSessionsOf(tx: Transaction, key: UserKey): void {
  tx.write("delete from kyc_sessions where account_id = $1 and user_id = $2", [
    key.account_id,
    key.user_id,
  ]);
}

export function insertVisit(tx: Transaction, visit: KycVisit): void {
  tx.write(
    `insert into kyc_visits (account_id, id, session_id, confirmed_at, created_at)
     values ($1, $2, $3, $4, $5)`,
    [visit.account_id, visit.id, visit.session_id, visit.confirmed_at, visit.created_at],
  );
}

export async function findVisit(
  session: Session,
  account_id: string,
  id: string,
): Promise<KycVisit | undefined> {
  const [row] = await session.query<KycVisit>(
    "select * from kyc_visits where account_id = $1 and id = $2",
    [account_id, id],
  );
  return row;
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

export function updateVisitConfirmed(tx: Transaction, visit: KycVisit, now: Date): void {
  tx.write("update kyc_visits set confirmed_at = $3 where account_id = $1 and id = $2", [
    visit.account_id,
    visit.id,
    now,
  ]);
}

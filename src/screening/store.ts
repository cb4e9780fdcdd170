import type { ScreeningLists } from "../partners/screening/port.ts";
import type { Session, Transaction } from "../platform/db/database.ts";
import { distinctSetOf, insertRows, updateRow, updateRows } from "../platform/db/rows.ts";
import type { SubjectKeys } from "../platform/encryption/keyring.ts";
import { sealedJson } from "../platform/encryption/sealed-column.ts";
import type { Page } from "../platform/http/list.ts";
import { COUNT_MAX } from "../platform/metrics/model.ts";
import type { UserKey } from "../users/store.ts";
import type { MatchDetails, MatchFacts, MatchStatus, ScreeningMatch } from "./model.ts";

const DETAILS = sealedJson<MatchDetails>("screening_matches", "details");

const FACTS = `account_id, id, record_id, list, entry_id, entry_digest, person_digest, verdict,
  status`;

type MatchRow = Omit<ScreeningMatch, "details" | "score"> & {
  details: Buffer;
  score: string;
  account_name: string;
};

/** The users of a set that, or whose payment details, were not screened with this version. */
export function listUnscreened(
  session: Session,
  users: readonly UserKey[],
  version: string,
): Promise<UserKey[]> {
  const wanted = distinctSetOf(session, "wanted", "account_id uuid, user_id uuid", users);
  return session.query<UserKey>(
    `select users.account_id, users.id as user_id from users
     join ${wanted.from} on users.account_id = wanted.account_id and users.id = wanted.user_id
     where erased_at is null and (screening_version is distinct from $3 or exists (
       select from payment_details as d
       where d.account_id = ${wanted.accountIn("users")} and d.user_id = users.id
         and d.status in ('approved', 'pending') and d.screening_version is distinct from $3))`,
    [...wanted.values, version],
  );
}

/** The users after this one, in the order of their keys, and how many of them there are. */
export function listUsersAfter(
  session: Session,
  after: UserKey,
  limit: number,
): Promise<UserKey[]> {
  return session.query<UserKey>(
    `select account_id, id as user_id from users
     where (account_id, id) > ($1, $2) and erased_at is null
     order by account_id, id limit $3`,
    [after.account_id, after.user_id, limit],
  );
}

export async function countUsers(session: Session): Promise<number> {
  const [row] = await session.query<{ count: number }>(
    "select count(*)::int as count from users where erased_at is null",
    [],
  );
  return row!.count;
}

type DepositRow = UserKey & { deposit_id: string; details: Buffer };

/** Older ones were delivered long ago, and their payers screened then. */
const DEPOSITS_MAX = 100;

/** The bank's deposits that paid the users' last onramps; they are the operator's records. */
export async function listDepositsOf(
  session: Session,
  operator_id: string,
  users: readonly UserKey[],
): Promise<DepositRow[]> {
  const wanted = distinctSetOf(session, "wanted", "account_id uuid, user_id uuid", users);
  const paid = await session.query<UserKey & { deposit_id: string }>(
    `select wanted.account_id, wanted.user_id, onramp.deposit_id
     from ${wanted.from}
     cross join lateral (select deposit_id from onramps
       where onramps.account_id = wanted.account_id and onramps.user_id = wanted.user_id
       order by id desc limit ${DEPOSITS_MAX}) as onramp
     where onramp.deposit_id is not null`,
    wanted.values,
  );
  if (paid.length === 0) return [];
  const deposits = await session.query<{ id: string; details: Buffer }>(
    "select id, details from fiat_deposits where account_id = $1 and id = any($2::uuid[])",
    [operator_id, paid.map((row) => row.deposit_id)],
  );
  const details = new Map(deposits.map((row) => [row.id, row.details]));
  return paid.flatMap((row) => {
    const found = details.get(row.deposit_id);
    return found ? [{ ...row, details: found }] : [];
  });
}

/** Those of the users whose payouts or onramps wait. */
export function listWaitingUsers(session: Session, users: readonly UserKey[]): Promise<UserKey[]> {
  const w = distinctSetOf(session, "w", "account_id uuid, user_id uuid", users);
  return session.query<UserKey>(
    `select w.account_id, w.user_id
     from ${w.from}
     where exists (select from offramps as o where o.account_id = w.account_id
         and o.user_id = w.user_id and o.status = 'ongoing_checks')
       or exists (select from onramps as o where o.account_id = w.account_id
         and o.user_id = w.user_id and o.status = 'sending_fiat')`,
    w.values,
  );
}

/** Every match of the users' records, whatever its state. The users are locked. */
/**
 * Closed ones only of these digests: whoever changes a name often leaves many of them behind, and
 * only those of the same person are opened again.
 */
export function listMatchFacts(
  session: Session,
  users: readonly UserKey[],
  person_digests: readonly Buffer[] = [],
): Promise<MatchFacts[]> {
  const wanted = distinctSetOf(session, "wanted", "account_id uuid, user_id uuid", users);
  return session.query<MatchFacts>(
    `select ${FACTS} from screening_matches
     join ${wanted.from}
       using (account_id, user_id)
     where status <> 'closed' or person_digest = any ($3::bytea[])`,
    [...wanted.values, [...person_digests]],
  );
}

export function insertMatches(
  tx: Transaction,
  matches: readonly (ScreeningMatch & { key: Buffer })[],
): void {
  insertRows(
    tx,
    "screening_matches",
    `account_id uuid, id uuid, user_id uuid, record_kind text, record_id uuid, list text,
     entry_id text, entry_digest text, person_digest bytea, verdict text, score numeric,
     status text, details bytea, created_at timestamptz, updated_at timestamptz`,
    matches.map(({ key, ...match }) => ({
      ...match,
      details: DETAILS.seal(key, match, match.details),
    })),
  );
}

export function updateMatchStatuses(
  tx: Transaction,
  matches: readonly { account_id: string; id: string; status: MatchStatus; updated_at: Date }[],
): void {
  const changes = "status text, updated_at timestamptz";
  updateRows(tx, "screening_matches", "account_id uuid, id uuid", changes, matches);
}

export function updateDecided(tx: Transaction, match: ScreeningMatch, key: Buffer): void {
  const { account_id, id, status, decided_by, decided_at, updated_at } = match;
  const details = DETAILS.seal(key, match, match.details);
  const changes = { status, decided_by, decided_at, updated_at, details };
  updateRow(tx, "screening_matches", { account_id, id }, changes);
}

const MATCHES = `select m.account_id, m.id, m.user_id, m.record_kind, m.record_id, m.list,
    m.entry_id, m.entry_digest, m.person_digest, m.verdict, m.score, m.status, m.details,
    m.decided_by, m.decided_at, m.created_at, m.updated_at, accounts.name as account_name
  from screening_matches as m join accounts on accounts.id = m.account_id
  join users on users.account_id = m.account_id and users.id = m.user_id
    and users.erased_at is null`;

/** A match of any account, for the operator. */
export async function findMatch(session: Session, id: string): Promise<MatchRow | undefined> {
  const [row] = await session.query<MatchRow>(`${MATCHES} where m.id = $1`, [id]);
  return row;
}

/** The matches of all accounts, or of one user, for the operator. */
export function listMatches(
  session: Session,
  { status, user_id }: { status?: MatchStatus; user_id?: string },
  page: Page,
): Promise<MatchRow[]> {
  const values: string[] = [];
  const where = (column: string, value: string | undefined) =>
    value === undefined ? "" : `and ${column} = $${values.push(value) + 3}`;
  const wanted = `${where("m.status", status)} ${where("m.user_id", user_id)}`;
  return session.query<MatchRow>(
    `${MATCHES} where m.id < $1 and m.id >= $2 ${wanted} order by m.id desc limit $3`,
    [page.below_id, page.from_id, page.limit + 1, ...values],
  );
}

export async function countOpenMatches(
  session: Session,
): Promise<{ possible_match: number; match: number }> {
  const rows = await session.query<{ verdict: "possible_match" | "match"; count: number }>(
    `select verdict, count(*)::int as count
     from (select verdict from screening_matches as m
       join users on users.account_id = m.account_id and users.id = m.user_id
         and users.erased_at is null
       where m.status = 'open' limit $1) as open
     group by verdict`,
    [COUNT_MAX],
  );
  const count = (verdict: string) => rows.find((row) => row.verdict === verdict)?.count ?? 0;
  return { possible_match: count("possible_match"), match: count("match") };
}

/** Rows of erased users are left out. */
export function toMatches(
  rows: readonly MatchRow[],
  keys: SubjectKeys,
): (ScreeningMatch & { account_name: string })[] {
  return rows.flatMap((row) => {
    const key = keys.get(row.account_id, row.user_id);
    if (!key) return [];
    return [{ ...row, score: Number(row.score), details: DETAILS.open(key, row, row.details) }];
  });
}

export type ScreeningState = {
  /** Null: screening is off. */
  version: string | null;
  entries: number;
  files: ScreeningLists["files"];
  problem: string | null;
  activated_at: Date | null;
  people_count: number;
  done_count: number;
  cursor_account_id: string | null;
  cursor_user_id: string | null;
  finished_at: Date | null;
};

const STATE = `version, entries, files, problem, activated_at, people_count::float8,
  done_count::float8, cursor_account_id, cursor_user_id, finished_at`;

export async function findState(session: Session): Promise<ScreeningState | undefined> {
  const [row] = await session.query<ScreeningState>(`select ${STATE} from screening_state`, []);
  return row;
}

export async function lockState(tx: Session): Promise<ScreeningState | undefined> {
  const [row] = await tx.query<ScreeningState>(
    `select ${STATE} from screening_state for update`,
    [],
  );
  return row;
}

export function upsertState(tx: Transaction, state: ScreeningState): void {
  tx.write(
    `insert into screening_state (id, version, entries, files, problem, activated_at,
       people_count, done_count, cursor_account_id, cursor_user_id, finished_at)
     values (true, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     on conflict (id) do update set version = excluded.version, entries = excluded.entries,
       files = excluded.files, problem = excluded.problem, activated_at = excluded.activated_at,
       people_count = excluded.people_count, done_count = excluded.done_count,
       cursor_account_id = excluded.cursor_account_id, cursor_user_id = excluded.cursor_user_id,
       finished_at = excluded.finished_at`,
    [
      ...[state.version, state.entries, JSON.stringify(state.files), state.problem],
      ...[state.activated_at, state.people_count, state.done_count],
      ...[state.cursor_account_id, state.cursor_user_id, state.finished_at],
    ],
  );
}

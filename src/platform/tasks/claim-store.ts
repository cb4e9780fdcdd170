import type { Database, Transaction } from "../db/database.ts";
import { setLocal } from "../db/set-local.ts";
import { backoffMs, LOSSES_MAX } from "./backoff.ts";
import { askServers } from "./servers/ask-servers.ts";
import { type TaskClaim, UNLEASED } from "./store.ts";
import type { Task } from "./tasks.ts";

type ClaimQuery = {
  kind: string;
  /** Tasks that failed before are claimed separately from fresh ones. */
  failed: boolean;
  now: Date;
  real_now: Date;
  lease_ms: number;
  lease_id: string;
  limit: number;
  /** Accounts that have as many as they may have. */
  not_of?: readonly string[];
  /**
   * Accounts take turns: the one that was served last. Null where the claim before was not full,
   * so that it left nothing due; then the oldest tasks are claimed, whosever they are.
   */
  turn?: string | null;
  /** The set begins with the next account: of the set before, maybe only this one was served. */
  after?: string | null;
};

/** Comes before all accounts. */
const FIRST_TURN = "00000000-0000-0000-0000-000000000000";

/*
 * The lease of a task that is claimed ended without a result: its worker stopped, or lost the
 * database. Once or twice, that is no fault of the task: it is claimed again. The third time, the
 * task may be what ends the process: that counts as a failure, so that it is retried alone and ever
 * later.
 */
const RETRIES_MAX = 20;
const IS_LOST = "t.lease_id is not null";
const IS_SET_ASIDE = `(${IS_LOST} and t.losses >= ${LOSSES_MAX})`;
const CLAIM = `leased_until = case when ${IS_SET_ASIDE} then null else $5::timestamptz end,
  lease_id = case when ${IS_SET_ASIDE} then null else $6::uuid end,
  losses = t.losses + (${IS_LOST})::int,
  attempts = t.attempts + ${IS_SET_ASIDE}::int,
  last_error = case when ${IS_SET_ASIDE} then $8 else t.last_error end,
  due_at = case when ${IS_SET_ASIDE}
    then ($9::timestamptz[])[least(t.attempts, ${RETRIES_MAX}) + 1] else t.due_at end`;
const STOPPED = "The worker stopped, or lost the database, several times during this task.";

export async function claimTasks(database: Database, query: ClaimQuery): Promise<TaskClaim> {
  const { lease_id, lease_ms, now } = query;
  const held_until_ms = performance.now() + lease_ms;
  const { found, more, turn } = database.by_account
    ? await claimOfOneAccount(database, query)
    : await claimOfAll(database, query);
  const tasks = found.filter((task) => task.is_claimed);
  tasks.sort((a, b) => a.due_at.getTime() - b.due_at.getTime() || (a.id < b.id ? -1 : 1));
  return {
    lease_id,
    lease_ms,
    now,
    tasks: inTurns(tasks, query.after ?? FIRST_TURN),
    more,
    turn,
    held_until_ms,
    set_aside: found.length - tasks.length,
  };
}

/**
 * The first of each account, then the second, beginning with the account that follows another:
 * many handlers work off a set one after the other, and put the rest of it back after a while.
 */
function inTurns<Own extends Task>(tasks: readonly Own[], after: string): Own[] {
  const counts = new Map<string, number>();
  const turns = tasks.map((task) => {
    const turn = counts.get(task.account_id) ?? 0;
    counts.set(task.account_id, turn + 1);
    return { task, turn };
  });
  const hasBeen = ({ account_id }: Task) => Number(account_id <= after);
  const compareAccounts = (a: Task, b: Task) =>
    hasBeen(a) - hasBeen(b) ||
    Number(a.account_id > b.account_id) - Number(a.account_id < b.account_id);
  return turns
    .sort((a, b) => a.turn - b.turn || compareAccounts(a.task, b.task))
    .map(({ task }) => task);
}

type Found = Task & { is_claimed: boolean };
type Claimed = { found: Found[]; more: boolean; turn: string | null };

const RETURNING = `returning t.account_id, t.id, t.kind, t.record_id, t.due_at, t.created_at,
  t.attempts, t.lease_id is not null as is_claimed`;

/** Due and not leased; $1 to $3 are the kind, the time and the real time. */
const claimable = ({ failed }: ClaimQuery) => `t.kind = $1 and t.due_at <= $2 and ${UNLEASED}
  and ${inState(failed)}`;
const inState = (failed: boolean) => (failed ? "t.attempts > 0" : "t.attempts = 0");

/**
 * Of the tasks of an account. Only the indexes `tasks_fresh` and `tasks_failed_in_turn` have this
 * order, so the planner cannot read the backlog of all accounts to find those of one.
 */
const OWN_ORDER = "t.due_at, t.created_at";

/**
 * $1 to $6, $8 and $9; $7 names accounts. The times after the next failures are computed here: a
 * database distributed by account refuses their arithmetic inside `case`.
 */
function claimValues(query: ClaimQuery, accounts: string | readonly string[]): unknown[] {
  const { kind, now, real_now, limit, lease_ms, lease_id } = query;
  const leased_until = new Date(real_now.getTime() + lease_ms);
  const retries = Array.from(
    { length: RETRIES_MAX + 1 },
    (_, attempts) => new Date(now.getTime() + backoffMs(attempts + 1)),
  );
  return [kind, now, real_now, limit, leased_until, lease_id, accounts, STOPPED, retries];
}

/**
 * After a full set there is a backlog, maybe of few accounts: from then on each account with due
 * tasks gets its share of a set, so that the others do not wait until that backlog is done.
 */
async function claimOfAll(database: Database, query: ClaimQuery): Promise<Claimed> {
  const { limit, turn = null } = query;
  return database.transaction(async (tx) => {
    dontSort(tx);
    if (turn === null) return claimedOf(await claimOldest(tx, query, limit), limit, FIRST_TURN);
    const { accounts, last } = await listNextAccounts(tx, query, turn);
    const found = await claimShares(tx, query, accounts);
    const left = limit - found.length;
    if (left > 0) found.push(...(await claimOldest(tx, query, left)));
    return claimedOf(found, limit, last);
  });
}

/** After a full set there may be more tasks; claiming again costs less than checking first. */
function claimedOf(found: Found[], limit: number, turn: string): Claimed {
  const more = found.length === limit;
  return { found, more, turn: more ? turn : null };
}

function claimOldest(tx: Transaction, query: ClaimQuery, limit: number): Promise<Found[]> {
  return tx.query<Found>(
    `update tasks t set ${CLAIM}
     where t.ctid = any (array(
       select t.ctid from tasks t where ${claimable(query)} and t.account_id <> all ($7::uuid[])
       order by t.due_at limit $4 for update skip locked
     )) ${RETURNING}`,
    claimValues({ ...query, limit }, query.not_of ?? []),
  );
}

/** How many accounts a claim looks at, also those whose tasks are not due. */
const ACCOUNTS_MAX = 500;

/**
 * The next accounts with claimable tasks, as many as the set has places. PostgreSQL has no skip
 * scan for that: this steps from account to account through an index, whatever each of them has
 * waiting.
 */
async function listNextAccounts(
  tx: Transaction,
  query: ClaimQuery,
  after: string,
): Promise<{ accounts: string[]; last: string }> {
  const { kind, failed, now, real_now, limit, not_of = [] } = query;
  const rows = await tx.query<{ account_id: string; is_due: boolean; step: number }>(
    `with recursive turns as (
       select $5::uuid as account_id, false as is_due, 0 as step, 0 as due
       union all
       select next.account_id, next.is_due, turns.step + 1, turns.due + next.is_due::int
       from turns cross join lateral (
         select first.account_id, first.account_id <> all ($6::uuid[]) and (
           select t.id from tasks t
           where ${claimable(query)} and t.account_id = first.account_id
           order by ${OWN_ORDER} limit 1
         ) is not null as is_due
         from (
           select t.account_id from tasks t
           where t.kind = $1 and ${inState(failed)} and t.account_id > turns.account_id
           order by t.account_id, ${OWN_ORDER} limit 1
         ) as first offset 0
       ) as next
       where turns.step < ${ACCOUNTS_MAX} and turns.due < $4
     )
     select account_id, is_due, step from turns where is_due or step = ${ACCOUNTS_MAX}`,
    [kind, now, real_now, limit, after, not_of],
  );
  const accounts = rows.filter(({ is_due }) => is_due).map(({ account_id }) => account_id);
  const is_end = accounts.length < limit && rows.at(-1)?.step !== ACCOUNTS_MAX;
  return { accounts, last: is_end ? FIRST_TURN : rows.at(-1)!.account_id };
}

/** Divides the set: what an account does not need is for those that have more. */
async function claimShares(
  tx: Transaction,
  query: ClaimQuery,
  accounts: readonly string[],
): Promise<Found[]> {
  const found: Found[] = [];
  let waiting = accounts;
  while (waiting.length > 0 && found.length < query.limit) {
    const left = query.limit - found.length;
    const share = Math.max(1, Math.floor(left / waiting.length));
    const claimed = await claimEach(tx, { ...query, limit: share }, waiting.slice(0, left));
    found.push(...claimed);
    const counts = Map.groupBy(claimed, ({ account_id }) => account_id);
    waiting = waiting.filter((account_id) => counts.get(account_id)?.length === share);
  }
  return found;
}

function claimEach(
  tx: Transaction,
  query: ClaimQuery,
  accounts: readonly string[],
): Promise<Found[]> {
  return tx.query<Found>(
    `update tasks t set ${CLAIM}
     where t.ctid = any (array(
       select own.place from unnest($7::uuid[]) as whose (account_id) cross join lateral (
         select t.ctid as place from tasks t
         where ${claimable(query)} and t.account_id = whose.account_id
         order by ${OWN_ORDER} limit $4 for update skip locked
       ) as own
     )) ${RETURNING}`,
    claimValues(query, accounts),
  );
}

/** How many due tasks are looked at, at least, to find the accounts that have any. */
const LOOKED_AT = 1_000;

/**
 * The tasks of the account whose task is due first, or of the next one if another worker has
 * claimed them meanwhile; of a backlog, those of the account whose turn it is. The accounts are
 * found without a lock: a database distributed by account asks all its nodes for that, and one for
 * the claim.
 */
async function claimOfOneAccount(database: Database, query: ClaimQuery): Promise<Claimed> {
  const { limit, turn = null } = query;
  if (turn !== null) return claimInTurn(database, query, turn);
  const seen = await listOldestAccounts(database, query);
  for (const { account_id, last_due_at } of seen) {
    const found = await claimOwn(database, query, account_id, last_due_at);
    const more = found.length === limit || seen.length > 1;
    if (found.length > 0) return { found, more, turn: more ? account_id : null };
  }
  return { found: [], more: false, turn: null };
}

/** How many accounts a claim tries whose tasks others have locked. */
const TRIED_MAX = 3;

async function claimInTurn(database: Database, query: ClaimQuery, turn: string): Promise<Claimed> {
  let last = turn;
  for (let tried = 0; tried < TRIED_MAX; tried += 1) {
    const next =
      (await findNextAccount(database, query, last)) ??
      (await findNextAccount(database, query, FIRST_TURN));
    if (next === null) return { found: [], more: false, turn: null };
    const found = await claimOwn(database, query, next, query.now);
    if (found.length > 0) return { found, more: true, turn: next };
    last = next;
  }
  // The next look goes on from there, not at once: a stopped process may hold the locks for long.
  return { found: [], more: false, turn: last };
}

type OldestAccount = { account_id: string; first_due_at: Date; last_due_at: Date };

async function listOldestAccounts(database: Database, query: ClaimQuery): Promise<OldestAccount[]> {
  const { kind, now, real_now, limit, not_of = [] } = query;
  const found = await askServers(database, (accounts) =>
    database.transaction(async (tx) => {
      dontSort(tx);
      return tx.query<OldestAccount>(
        `select account_id, min(due_at) as first_due_at,
           max(max(due_at)) over () as last_due_at
         from (select t.account_id, t.due_at from tasks t
           where ${claimable(query)} and t.account_id <> all ($5::uuid[]) ${ownOf(accounts, 6)}
           order by t.due_at limit $4) as due
         group by account_id order by min(due_at)`,
        [kind, now, real_now, Math.max(LOOKED_AT, limit), not_of, ...(accounts ? [accounts] : [])],
      );
    }),
  );
  return found.sort((a, b) => a.first_due_at.getTime() - b.first_due_at.getTime());
}

async function findNextAccount(
  database: Database,
  query: ClaimQuery,
  after: string,
): Promise<string | null> {
  const { kind, now, real_now, not_of = [] } = query;
  const rows = await askServers(database, (accounts) =>
    database.transaction(async (tx) => {
      dontSort(tx);
      return tx.query<{ account_id: string }>(
        `select t.account_id from tasks t
         where ${claimable(query)} and t.account_id > $4 and t.account_id <> all ($5::uuid[])
           ${ownOf(accounts, 6)}
         order by t.account_id, ${OWN_ORDER} limit 1`,
        [kind, now, real_now, after, not_of, ...(accounts ? [accounts] : [])],
      );
    }),
  );
  const ids = rows.map(({ account_id }) => account_id);
  return ids.sort()[0] ?? null;
}

/** The accounts of one server, if it is asked by itself. */
function ownOf(accounts: readonly string[] | null, place: number): string {
  return accounts ? `and t.account_id = any ($${place}::uuid[])` : "";
}

function claimOwn(
  database: Database,
  query: ClaimQuery,
  account_id: string,
  last_due_at: Date,
): Promise<Found[]> {
  return database.transaction(async (tx) => {
    dontSort(tx);
    return tx.query<Found>(
      `update tasks t set ${CLAIM}
       where t.account_id = $7 and t.id = any (array(
         select t.id from tasks t
         where ${claimable(query)} and t.account_id = $7 and t.due_at <= $10
         order by ${OWN_ORDER} limit $4 for update skip locked
       )) ${RETURNING}`,
      [...claimValues(query, account_id), last_due_at],
    );
  });
}

/** Of this transaction: the backlog is read in the order of its index, never sorted. */
function dontSort(tx: Transaction): void {
  const planned = setLocal(tx, { enable_sort: "off", enable_incremental_sort: "off" });
  planned.catch(() => {});
}

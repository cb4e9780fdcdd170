import type { Session, Transaction } from "../platform/db/database.ts";
import { type RecordKey, setOf } from "../platform/db/rows.ts";
import { newId } from "../platform/ids.ts";
import { wakenId } from "../platform/tasks/tasks.ts";
import type { Proposal, ProposalStatus } from "./model.ts";
import { type Chosen, chosenParameters, IS_CHOSEN } from "./store.ts";

/**
 * Makes a task due for each of these records that has a pending proposal: one for a record, however
 * often it changes until the task runs (see `wakeTasks`).
 */
export function insertChecks(
  tx: Transaction,
  kind: string,
  records: readonly RecordKey[],
  now: Date,
): void {
  const once = new Map(records.map((record) => [`${record.account_id} ${record.id}`, record]));
  const tasks = [...once.values()]
    .map((record) => ({
      account_id: record.account_id,
      record_id: record.id,
      id: wakenId(kind, record),
    }))
    // In a fixed order, so that two calls never deadlock.
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  const t = setOf(tx, "t", "account_id uuid, id uuid, record_id uuid", tasks);
  tx.write(
    `insert into tasks (account_id, id, kind, record_id, due_at, created_at)
     select t.account_id, t.id, $4, t.record_id, $5, $5
     from ${t.from}
     where exists (select from proposals p where p.account_id = t.account_id
       and p.record_id = t.record_id and p.status = 'pending')
     on conflict (account_id, id) do update set due_at = excluded.due_at
     where tasks.due_at > excluded.due_at`,
    [...t.values, kind, now],
  );
}

/**
 * A task for each of these proposals that has none that waits. One that has begun may have read
 * what was there before. It waits for no lock: whoever runs a proposal waits for its record, and
 * whoever changes the record for the task that checks its proposals.
 */
export function insertRuns(
  tx: Transaction,
  kind: string,
  proposals: readonly RecordKey[],
  now: Date,
): void {
  const tasks = proposals.map(({ account_id, id: record_id }) => {
    return { account_id, id: newId(now), record_id };
  });
  const t = setOf(tx, "t", "account_id uuid, id uuid, record_id uuid", tasks);
  tx.write(
    `insert into tasks (account_id, id, kind, record_id, due_at, created_at)
     select t.account_id, t.id, $4, t.record_id, $5, $5
     from ${t.from}
     where not exists (select from tasks w where w.account_id = t.account_id
       and w.record_id = t.record_id and w.kind = $4 and w.lease_id is null and w.attempts = 0)`,
    [...t.values, kind, now],
  );
}

/** The pending proposals about a record, but for those of reviewers, who have their own page. */
export function listPendingOf(
  session: Session,
  { account_id, id }: RecordKey,
): Promise<{ account_id: string; id: string; kind: string }[]> {
  return session.query(
    `select account_id, id, kind from proposals
     where account_id = $1 and record_id = $2 and status = 'pending' and voters <> 'reviewers'
     order by id`,
    [account_id, id],
  );
}

/** How many proposals of one proposer a list has. */
const DECIDED_COUNTED = 1_000;

export type ProposerCount = { proposed_by: string; count: number };

/**
 * Who proposed what an account's list shows, or elsewhere for the operator; the fewest first. All
 * that waits is counted, of what was decided the newest only.
 */
export function listProposerCounts(
  session: Session,
  account_id: string,
  statuses: readonly ProposalStatus[],
  { is_elsewhere, person_id }: { is_elsewhere: boolean } & Pick<Chosen, "person_id">,
  limit: number,
): Promise<ProposerCount[]> {
  return session.query(
    `select proposed_by, count(*)::int as count from (
       select proposed_by from proposals
       where ${IS_CHOSEN} and status = any($4::text[])
         and (account_id = $5 or ($6 and voters <> 'members'))
       order by id desc limit $8) as counted
     group by proposed_by order by count, proposed_by limit $7`,
    [
      ...chosenParameters({ by: null, person_id }),
      ...[statuses, account_id, is_elsewhere, limit],
      statuses.includes("pending") ? null : DECIDED_COUNTED,
    ],
  );
}

/** How many proposals of each account wait; stops counting at `max`. */
export async function countPending(
  session: Session,
  account_ids: readonly string[],
  max: number,
): Promise<Map<string, number>> {
  const counts = account_ids.map(async (account_id) => {
    const [row] = await session.query<{ count: number }>(
      `select count(*)::int as count from (
         select from proposals where account_id = $1 and status = 'pending' limit $2) as first`,
      [account_id, max],
    );
    return [account_id, row!.count] as const;
  });
  return new Map(await Promise.all(counts));
}

/** The number of pending proposals in all accounts. */
export async function findPendingProposalCount(session: Session): Promise<bigint> {
  const [row] = await session.query<{ count: bigint }>(
    "select count(*) from proposals where status = 'pending'",
  );
  return row!.count;
}

/** Filters records to those with a pending proposal of this kind. */
export async function listPendingRecords(
  session: Session,
  kind: string,
  records: readonly { account_id: string; id: string }[],
): Promise<Set<string>> {
  const wanted = setOf(session, "wanted", "account_id uuid, id uuid", records);
  const rows = await session.query<{ record_id: string }>(
    `select record_id from ${wanted.from}
     join proposals on proposals.account_id = wanted.account_id
       and proposals.record_id = wanted.id
     where proposals.status = 'pending' and proposals.kind = $3`,
    [...wanted.values, kind],
  );
  return new Set(rows.map((row) => row.record_id));
}

/** The pending proposals about a person. */
export async function listPendingOfSubject(
  session: Session,
  { account_id, subject_id }: { account_id: string; subject_id: string },
): Promise<string[]> {
  const rows = await session.query<{ id: string }>(
    `select id from proposals
     where account_id = $1 and subject_id = $2 and status = 'pending' order by id`,
    [account_id, subject_id],
  );
  return rows.map((row) => row.id);
}

/** What these proposals are about, without personal data. */
export function listProposalNames(
  session: Session,
  account_id: string,
  ids: readonly string[],
): Promise<Pick<Proposal, "id" | "summary" | "status">[]> {
  return session.query(
    `select id, summary, status from proposals where account_id = $1 and id = any($2::uuid[])`,
    [account_id, ids],
  );
}

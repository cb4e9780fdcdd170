import { digestEvent, EVENT_LOG } from "../events/record-events.ts";
import { OFFRAMP_MOVES } from "../offramps/model.ts";
import type { Session } from "../platform/db/database.ts";
import { hasMacs } from "../platform/sealing/row-mac.ts";
import { isEntryAuthentic } from "../platform/sealing/seal.ts";
import { eventOfRow } from "../retention/archives/event-row-store.ts";
import type { ArchivedEventRow } from "../retention/archives/model.ts";
import { isLegal } from "./verify-events.ts";

/*
 * Events that are in files only. The file is signed, and its digest is in the sealed audit log;
 * each event has its MAC. Those of a payout continue each other from the first on, and the first
 * one in the table continues them. The chain compares how many there are.
 */

type Step = { sequence: number; to_status: string | null };

/** The last archived event of each payout that the events in the table do not continue yet. */
export type Steps = Map<string, Step>;

const BEFORE_ALL: Step = { sequence: 0, to_status: null };

/** What is wrong with the events of the next file; its payouts are put into `steps`. */
export async function findEventRowFault(
  session: Session,
  account_id: string,
  rows: readonly ArchivedEventRow[],
  steps: Steps,
): Promise<string | null> {
  const forged = hasMacs(session) && rows.find((row) => !isAuthentic(session, account_id, row));
  if (forged) return `event ${forged.id} was not written by this service`;
  const rows_of = Map.groupBy(rows, ({ record_id }) => record_id);
  for (const [record_id, own] of rows_of) {
    for (const row of own.toSorted((a, b) => a.sequence - b.sequence)) {
      const wrong = findStepFault(row, steps.get(record_id) ?? BEFORE_ALL);
      if (wrong) return `event ${row.id} (event ${row.sequence} of ${record_id}) ${wrong}`;
      steps.set(record_id, row);
    }
  }
  const firsts = await listFirstEvents(session, account_id, [...rows_of.keys()]);
  for (const { record_id, sequence, from_status } of firsts) {
    const last = steps.get(record_id)!;
    const name = `event ${sequence} of ${record_id}`;
    if (sequence <= last.sequence) return `${name} is archived, and in the table again`;
    if (sequence > last.sequence + 1) continue;
    if (from_status !== last.to_status) {
      return `${name} starts at ${from_status}, but the archived one ended at ${last.to_status}`;
    }
    steps.delete(record_id);
  }
  return null;
}

function isAuthentic(session: Session, account_id: string, row: ArchivedEventRow): boolean {
  const event = eventOfRow(account_id, row);
  const { id, mac } = event;
  const entry = { account_id, id, mac, digest: digestEvent(event) };
  return isEntryAuthentic(session, EVENT_LOG.log, entry);
}

function findStepFault(row: ArchivedEventRow, before: Step): string | null {
  if (row.sequence !== before.sequence + 1) return `comes after event ${before.sequence}`;
  if (row.from_status !== before.to_status) {
    return `starts at ${row.from_status}, but the previous one ended at ${before.to_status}`;
  }
  const { from_status, to_status } = row;
  return isLegal(OFFRAMP_MOVES, row) ? null : `goes from ${from_status} to ${to_status}`;
}

type FirstEvent = { record_id: string; sequence: number; from_status: string | null };

/** Record by record: the planner would read all events of the account. */
function listFirstEvents(
  session: Session,
  account_id: string,
  record_ids: readonly string[],
): Promise<FirstEvent[]> {
  return session.query<FirstEvent>(
    `select e.* from unnest($2::uuid[]) as wanted (id) cross join lateral (
       select record_id, sequence, from_status from events
       where record_id = wanted.id and account_id = $1 order by sequence limit 1) as e`,
    [account_id, record_ids],
  );
}

/** After all files of an account: every archived event has the next one. */
export function findOpenSteps(account_id: string, steps: Steps): string | null {
  const [first] = steps;
  if (!first) return null;
  const [record_id, { sequence }] = first;
  const name = `event ${sequence + 1} of ${record_id} of account ${account_id}`;
  return `${name} is neither in the table nor in a file, but the one before it is archived`;
}

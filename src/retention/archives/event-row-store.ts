import { digestEvent, EVENT_LOG } from "../../events/record-events.ts";
import type { StoredEvent } from "../../events/store.ts";
import type { Session, Transaction } from "../../platform/db/database.ts";
import { isEntryAuthentic } from "../../platform/sealing/seal.ts";
import type { ArchivedEventRow, PageLimits } from "./model.ts";

/*
 * Whole events of payouts. The last event of a payout stays: it proves what the payout says. Those
 * before it are archived from the first on, so that what is left of a payout has no gap.
 */

const OF_PAYOUTS = "offramp_update";

// In all statements $1 is the account. What is not sealed, or not handed over to applications, is
// still needed; also what has a body, a place in `GET /webhook_events`, or deliveries.
const OPEN = `select entry_id as id from seal_pending where account_id = $1 and log = 'events'
  union all
  select unnest(b.entry_ids) from seal_blocks b
  where b.account_id = $1 and b.log = 'events' and b.number > (
    select coalesce(max(c.block_number), 0) from event_cursors c where c.account_id = $1)`;

type Candidate = StoredEvent & { first_sequence: number; last_sequence: number };

/** The next events created before this id that nothing needs any more. */
export async function listOldEventRows(
  session: Session,
  account_id: string,
  page: PageLimits & { after_id: string; below_id: string },
): Promise<ArchivedEventRow[]> {
  for (let { after_id } = page; ; ) {
    const candidates = await listCandidates(session, account_id, { ...page, after_id });
    const last = candidates.at(-1);
    if (!last) return [];
    const chosen = choose(session, candidates);
    if (chosen.length > 0) return chosen.map(toRow);
    after_id = last.id;
  }
}

// Looked up one by one: in a join the planner would read all positions of the account.
function listCandidates(
  session: Session,
  account_id: string,
  page: { after_id: string; below_id: string; rows_max: number },
): Promise<Candidate[]> {
  return session.query<Candidate>(
    `with open as materialized (${OPEN}),
     old as materialized (
       select e.account_id, e.id, e.name, e.record_id, e.sequence, e.from_status, e.to_status,
         e.facts, e.subject_id, e.change_id, e.role, e.app_id, e.counterpart_account_id, e.actor,
         e.created_at, e.mac
       from events e
       where e.account_id = $1 and e.id > $2 and e.id < $3 and e.name = $4 and e.body is null
         and e.mac is not null
         and (select p.event_id from event_positions p
           where p.account_id = $1 and p.event_id = e.id limit 1) is null
         and (select d.event_id from webhook_deliveries d
           where d.account_id = $1 and d.event_id = e.id limit 1) is null
         and e.id not in (select id from open)
       order by e.id limit $5)
     select old.*, present.first_sequence, present.last_sequence from old
     cross join lateral (
       select min(e.sequence) as first_sequence, max(e.sequence) as last_sequence from events e
       where e.record_id = old.record_id and e.account_id = $1 offset 0) as present
     order by old.id`,
    [account_id, page.after_id, page.below_id, OF_PAYOUTS, page.rows_max],
  );
}

/** Of each payout, those from its first one on, without a gap and without its last one. */
function choose(session: Session, candidates: readonly Candidate[]): Candidate[] {
  const chosen = new Set<Candidate>();
  for (const events of Map.groupBy(candidates, ({ record_id }) => record_id).values()) {
    let next = events[0]!.first_sequence;
    for (const event of events.toSorted((a, b) => a.sequence - b.sequence)) {
      const { account_id, id, mac, sequence, last_sequence } = event;
      if (sequence !== next || sequence === last_sequence) break;
      // What somebody else wrote stays where `verify` finds it.
      const entry = { account_id, id, mac, digest: digestEvent(event) };
      if (!isEntryAuthentic(session, EVENT_LOG.log, entry)) break;
      chosen.add(event);
      next += 1;
    }
  }
  return candidates.filter((candidate) => chosen.has(candidate));
}

function toRow(event: Candidate): ArchivedEventRow {
  const { id, name, record_id, sequence, from_status, to_status, subject_id, actor } = event;
  return {
    ...{ id, name, record_id, sequence, from_status, to_status, subject_id, actor },
    facts: event.facts.toString("base64"),
    created_at: event.created_at.toISOString(),
    mac: event.mac!.toString("base64"),
  };
}

/** The event that was archived as this row; only those of invoices have an audience. */
export function eventOfRow(
  account_id: string,
  { facts, created_at, mac, ...row }: ArchivedEventRow,
): StoredEvent & { mac: Buffer } {
  return {
    ...row,
    ...{ account_id, change_id: null, role: null, app_id: null, counterpart_account_id: null },
    facts: Buffer.from(facts, "base64"),
    created_at: new Date(created_at),
    mac: Buffer.from(mac, "base64"),
  };
}

/** False if one of them is not there any more. */
export async function deleteArchivedEventRows(
  tx: Transaction,
  account_id: string,
  rows: readonly ArchivedEventRow[],
): Promise<boolean> {
  const deleted = await tx.query(
    "delete from events where account_id = $1 and id = any($2::uuid[]) returning id",
    [account_id, rows.map(({ id }) => id)],
  );
  return deleted.length === rows.length;
}

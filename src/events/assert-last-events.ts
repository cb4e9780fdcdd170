import type { Session } from "../platform/db/database.ts";
import { isEntryAuthentic } from "../platform/sealing/seal.ts";
import {
  NOT_WRITTEN_HERE,
  UnvouchedRowError,
  unvouched_rows,
} from "../platform/sealing/vouched-rows.ts";
import { digestEvent, EVENT_LOG } from "./record-events.ts";
import { listEventsBySequence } from "./store.ts";

/** A record whose every change is an event; `facts` is the digest of what it says now. */
type Evented = { account_id: string; id: string; sequence: number; facts: Buffer };

/**
 * Fails on a record that differs from its last event, or whose last event this service did not
 * write. For rows without a MAC of their own, before money leaves because of them.
 */
export async function assertLastEvents(
  session: Session,
  table: string,
  records: readonly Evented[],
): Promise<void> {
  if (records.length === 0) return;
  const events = await listEventsBySequence(session, records);
  const event_of = new Map(
    events.map((event) => [`${event.account_id} ${event.record_id}`, event]),
  );
  for (const { account_id, id, facts } of records) {
    const event = event_of.get(`${account_id} ${id}`);
    const is_vouched =
      event?.facts.equals(facts) &&
      isEntryAuthentic(session, EVENT_LOG.log, { ...event, digest: digestEvent(event) });
    if (is_vouched) continue;
    const name = `${table} ${account_id} ${id}`;
    unvouched_rows.inc({ table });
    session.bound?.onUnvouched?.(name);
    throw new UnvouchedRowError(`${name} ${NOT_WRITTEN_HERE}`);
  }
}

import { AccountMap } from "../platform/account-map.ts";
import type { Session } from "../platform/db/database.ts";
import { refusePutBack } from "../platform/sealing/put-back.ts";
import { isEntryAuthentic } from "../platform/sealing/seal.ts";
import { digestEvent, EVENT_LOG } from "./record-events.ts";
import { listLastEvents, type StoredEvent } from "./store.ts";

/** A record whose every change is an event. */
type Evented = {
  account_id: string;
  id: string;
  /** The number of its last event; 0 for one that has none yet. */
  sequence: number;
  /** The digest of what it says now, as its events have it. */
  facts: Buffer;
};

/** The last event of each record. */
export type LastEvents = Pick<AccountMap<StoredEvent>, "get">;

export async function findLastEvents(
  session: Session,
  records: readonly { account_id: string; id: string }[],
): Promise<LastEvents> {
  if (records.length === 0) return new AccountMap();
  const events = await listLastEvents(session, records);
  return AccountMap.of(events, ({ account_id, record_id: id }) => ({ account_id, id }));
}

/** Whether the record is what its last event says, and this service wrote that event. */
export function isLastEvent(
  session: Session,
  last: LastEvents,
  { account_id, id, sequence, facts }: Evented,
): boolean {
  const event = last.get(account_id, id);
  if (!event) return sequence === 0;
  return (
    event.sequence === sequence &&
    event.facts.equals(facts) &&
    isEntryAuthentic(session, EVENT_LOG.log, {
      account_id: event.account_id,
      id: event.id,
      digest: digestEvent(event),
      mac: event.mac,
    })
  );
}

/** Fails on a record that differs from its last event, or whose last event is not ours. */
export function assertAsLastEvents(
  session: Session,
  table: string,
  last: LastEvents,
  records: readonly Evented[],
): void {
  const wrong = records.find((record) => !isLastEvent(session, last, record));
  if (wrong) refusePutBack(session, { table, key: [wrong.account_id, wrong.id] });
}

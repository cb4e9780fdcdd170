import { assertAsLastEvents, findLastEvents, type LastEvents } from "../events/last-events.ts";
import type { Session, Transaction } from "../platform/db/database.ts";
import { digestFacts } from "./model.ts";
import type { KeyedOfframp } from "./store.ts";

/*
 * Offramps have no MAC: each change is an event with a digest of the row. Before money moves
 * because of one, it is compared with its last event.
 */

/** Fails if somebody changed one of these locked offramps. */
export async function assertOfframps(
  tx: Transaction,
  entries: readonly KeyedOfframp[],
): Promise<void> {
  const keys = entries.map(({ offramp: { account_id, id } }) => ({ account_id, id }));
  assertAsLast(tx, await findLastEvents(tx, keys), entries);
}

/** The same, where their last events were read with them. */
export function assertAsLast(
  session: Session,
  last: LastEvents,
  entries: readonly KeyedOfframp[],
): void {
  const evented = entries.map(({ offramp }) => {
    const { account_id, id, sequence } = offramp;
    return { account_id, id, sequence, facts: digestFacts(offramp) };
  });
  assertAsLastEvents(session, "offramps", last, evented);
}

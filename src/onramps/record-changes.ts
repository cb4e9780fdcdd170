import { recordEvents } from "../events/record-events.ts";
import type { Transaction } from "../platform/db/database.ts";
import { digestFacts, ONRAMP_MOVES, type Onramp, type OnrampStatus } from "./model.ts";
import { renderOnrampEvent } from "./render.ts";
import { type KeyedOnramp, updateOnramps } from "./store.ts";

/** An onramp after a change, with its previous status; null when it was just created. */
type ChangedOnramp = KeyedOnramp & { from_status: OnrampStatus | null };

/** The onramp after a transition or another change. */
export function changeOnramp(
  { onramp, key }: KeyedOnramp,
  change: Partial<Onramp>,
  now: Date,
): ChangedOnramp {
  const status = change.status ?? onramp.status;
  if (status !== onramp.status && !ONRAMP_MOVES[onramp.status].includes(status)) {
    throw new Error(`an onramp cannot go from ${onramp.status} to ${status}`);
  }
  // Receivers order events by time, so it must increase with every change of a record.
  const updated_at = new Date(Math.max(now.getTime(), onramp.updated_at.getTime() + 1));
  const changed = { ...onramp, ...change, sequence: onramp.sequence + 1, updated_at };
  return { onramp: changed, key, from_status: onramp.status };
}

/** Writes locked onramps and one event per change; each row once, in its final state. */
export function recordChanges(tx: Transaction, changes: readonly ChangedOnramp[], now: Date): void {
  const last = new Map(changes.map(({ onramp }) => [onramp.id, onramp]));
  updateOnramps(tx, [...last.values()]);
  onrampEvents(tx, changes, now);
}

export function onrampEvents(tx: Transaction, changes: readonly ChangedOnramp[], now: Date): void {
  recordEvents(
    tx,
    changes.map(({ onramp, key, from_status }) => ({
      account_id: onramp.account_id,
      name: "onramp_update",
      record_id: onramp.id,
      sequence: onramp.sequence,
      from_status,
      to_status: onramp.status,
      facts: digestFacts(onramp),
      subject_id: onramp.user_id,
      key,
      body: renderOnrampEvent(onramp),
    })),
    now,
  );
}

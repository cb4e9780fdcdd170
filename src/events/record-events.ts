import { findOrigin } from "../platform/commands/origins.ts";
import type { Transaction } from "../platform/db/database.ts";
import { type Place, seal } from "../platform/encryption/cipher.ts";
import { newId } from "../platform/ids.ts";
import { digestOf, noteUnsealed, signEntries } from "../platform/sealing/seal.ts";
import type { SealedLog } from "../platform/sealing/verify-chain.ts";
import { enqueueTasks } from "../platform/tasks/tasks.ts";
import type { EventName } from "./model.ts";
import { FAN_OUT_TASK } from "./model.ts";
import { type EventRow, findEventCount, insertEvents, listEventRows } from "./store.ts";

/** Decides which applications are notified of an invoice's event. */
export type InvoiceAudience = {
  /** Shared by the two events of one change, one in the seller's account and one in the buyer's. */
  change_id: string;
  /** The side of the event's account; the body is rendered for that side. */
  role: "seller" | "buyer";
  /** The application whose client-credentials token created the invoice. */
  app_id: string | null;
  /** The account on the other side, if it is in this installation. */
  counterpart_account_id: string | null;
};

/** A change of a record, already rendered for its recipients. */
export type NewEvent = {
  account_id: string;
  name: EventName;
  record_id: string;
  /** Counts the record's changes from 1; assigned under the record's lock. */
  sequence: number;
  /** Null when the record was created by this change. */
  from_status: string | null;
  to_status: string;
  /** Digest of the record after the change, without personal data. */
  facts: Buffer;
  /** The person whose key seals the body; null for the account's own key. */
  subject_id: string | null;
  key: Buffer;
  /** JSON; its `timestamp` increases with every event of the record. */
  body: string;
  /** Set on the events of invoices only. */
  invoice?: InvoiceAudience;
};

/** Writes the events in the transaction of the change itself, and queues them for sealing. */
export function recordEvents(tx: Transaction, events: readonly NewEvent[], now: Date): void {
  if (events.length === 0) return;
  const rows = signEntries(
    tx,
    EVENT_LOG.log,
    events.map((event) => {
      const row = toRow(event, findOrigin(tx, event.account_id), now);
      const place = bodyPlace(row.account_id, row.id);
      const body = seal(event.key, 1, place, Buffer.from(event.body));
      return { ...row, body, digest: digestEvent(row) };
    }),
  );
  insertEvents(tx, rows);
  noteUnsealed(tx, EVENT_LOG.log, rows, now);
  const first_of_accounts = new Map(rows.toReversed().map((row) => [row.account_id, row]));
  enqueueTasks(tx, FAN_OUT_TASK, [...first_of_accounts.values()], now);
}

/** Field by field: joining objects of twenty fields takes several times as long. */
function toRow(event: NewEvent, { actor, trace_id }: ReturnType<typeof findOrigin>, now: Date) {
  const { change_id, role, app_id, counterpart_account_id } = event.invoice ?? NO_INVOICE;
  return {
    account_id: event.account_id,
    id: newId(now),
    name: event.name,
    record_id: event.record_id,
    sequence: event.sequence,
    from_status: event.from_status,
    to_status: event.to_status,
    facts: event.facts,
    subject_id: event.subject_id,
    change_id,
    role,
    app_id,
    counterpart_account_id,
    actor,
    trace_id,
    created_at: now,
  };
}

const NO_INVOICE = { change_id: null, role: null, app_id: null, counterpart_account_id: null };

export const EVENT_LOG: SealedLog = {
  log: "events",
  read_entries: async (session, account_id, entry_ids) => {
    const rows = await listEventRows(session, account_id, entry_ids);
    return rows.map((row) => ({ ...row, digest: digestEvent(row) }));
  },
  count_entries: findEventCount,
};

export function bodyPlace(account_id: string, event_id: string): Place {
  return { account_id, table: "events", column: "body", record_id: event_id };
}

export function digestEvent(row: EventRow): Buffer {
  return digestOf(
    row.account_id,
    row.id,
    row.name,
    row.record_id,
    row.sequence,
    row.from_status,
    row.to_status,
    row.facts.toString("base64"),
    row.subject_id,
    row.created_at.toISOString(),
    row.change_id,
    row.role,
    row.app_id,
    row.counterpart_account_id,
    row.actor,
  );
}

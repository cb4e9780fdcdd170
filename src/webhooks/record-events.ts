import type { Transaction } from "../platform/db/database.ts";
import { type Place, seal } from "../platform/encryption/cipher.ts";
import { newId } from "../platform/ids.ts";
import { digestOf, noteUnsealed } from "../platform/sealing/seal.ts";
import type { SealedLog } from "../platform/sealing/verify-chain.ts";
import { type EventRow, findEventCount, insertEvents, listEventRows } from "./store.ts";

/** A change of a record, already rendered for those who will be told of it. */
export type NewEvent = {
  account_id: string;
  name: "offramp_update" | "payment_detail_update" | "onramp_update" | "kyc_update";
  record_id: string;
  /** Counts the record's changes from 1; taken under the record's lock. */
  sequence: number;
  /** Null when the record was created by this change. */
  from_status: string | null;
  to_status: string;
  /** Digest of the record after the change, without personal data. */
  facts: Buffer;
  subject_id: string;
  /** The subject's key, which seals the body. */
  key: Buffer;
  body: string;
};

/** Writes the events in the transaction of the change itself, and notes them to be sealed. */
export function recordEvents(tx: Transaction, events: readonly NewEvent[], now: Date): void {
  if (events.length === 0) return;
  const rows = events.map((event) => ({ ...event, id: newId(now), created_at: now }));
  insertEvents(
    tx,
    rows.map((row) => ({
      ...row,
      body: seal(row.key, 1, bodyPlace(row.account_id, row.id), Buffer.from(row.body)),
    })),
    now,
  );
  noteUnsealed(
    tx,
    EVENT_LOG.log,
    rows.map((row) => ({ account_id: row.account_id, id: row.id, digest: digestEvent(row) })),
    now,
  );
}

export const EVENT_LOG: SealedLog = {
  log: "events",
  read_digests: async (session, account_id, entry_ids) => {
    const rows = await listEventRows(session, account_id, entry_ids);
    return new Map(rows.map((row) => [row.id, digestEvent(row)]));
  },
  count_entries: findEventCount,
};

export function bodyPlace(account_id: string, event_id: string): Place {
  return { account_id, table: "events", column: "body", record_id: event_id };
}

function digestEvent(row: EventRow): Buffer {
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
  );
}

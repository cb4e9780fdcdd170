import { AUDIT_LOG, recordAudit } from "../accounts/audit.ts";
import type { Actor } from "../accounts/model.ts";
import { EVENT_LOG } from "../events/record-events.ts";
import { LEDGER_LOG } from "../ledger/sealed.ts";
import type { Database, Session, Transaction } from "../platform/db/database.ts";
import { isEntryAuthentic, noteUnsealed } from "../platform/sealing/seal.ts";
import {
  deleteEntry,
  deleteRejected,
  existsSealed,
  lockRejected,
  type RejectedEntry,
} from "./rejected-store.ts";

/**
 * What became of the entry:
 *
 * - `deleted`: this service did not write it.
 * - `queued`: it did, and somebody had changed only the note that it waits: it is sealed now.
 * - `sealed`: a block lists it; nothing but the note that it was set aside was wrong.
 * - `absent`: there was no such entry any more.
 */
export type Settled = "deleted" | "queued" | "sealed" | "absent";

type By = { actor: Actor; reason: string; operator_id: string };

const LOGS = [AUDIT_LOG, EVENT_LOG, LEDGER_LOG];

/** Ends the alarm about an entry that was set aside; undefined if none has this id. */
export function settleRejected(
  database: Database,
  entry_id: string,
  { actor, reason, operator_id }: By,
  now: Date,
): Promise<Settled | undefined> {
  return database.transaction(async (tx) => {
    const rejected = await lockRejected(tx, entry_id);
    if (!rejected) return undefined;
    const settled = await settle(tx, rejected, now);
    deleteRejected(tx, rejected);
    const { account_id, log } = rejected;
    const detail = { account_id, log, outcome: settled };
    const record = `log_entry:${entry_id}`;
    const act = { actor, action: "log_entry.settle", record, reason, detail } as const;
    recordAudit(tx, { account_id: operator_id, ...act }, now);
    return settled;
  });
}

async function settle(tx: Transaction, rejected: RejectedEntry, now: Date): Promise<Settled> {
  // Whoever can write SQL can also write such a note about an entry that must not be deleted.
  if (await existsSealed(tx, rejected)) return "sealed";
  const entry = await findEntry(tx, rejected);
  if (!entry) return "absent";
  const { account_id, log } = rejected;
  const { mac } = entry;
  if (mac !== null && isEntryAuthentic(tx, log, { ...entry, account_id })) {
    noteUnsealed(tx, log, [{ ...entry, account_id, mac }], now);
    return "queued";
  }
  deleteEntry(tx, rejected);
  return "deleted";
}

async function findEntry(session: Session, { account_id, log, entry_id }: RejectedEntry) {
  const sealed = LOGS.find((one) => one.log === log);
  const [entry] = (await sealed?.read_entries(session, account_id, [entry_id])) ?? [];
  return entry;
}

import { recordEvents } from "../../events/record-events.ts";
import type { Database, Session, Transaction } from "../../platform/db/database.ts";
import { recordByRecord } from "../../platform/tasks/one-by-one.ts";
import type { TaskSet } from "../../platform/tasks/task-set.ts";
import type { Task } from "../../platform/tasks/tasks.ts";
import { listUnsynced, type UnsyncedChange } from "../change-store.ts";
import type { InvoiceUseCaseDeps } from "../create-invoices.ts";
import { wordsOf } from "../links.ts";
import { type KeyedInvoice, otherRole, ownRole } from "../model.ts";
import { recordActs } from "../record-acts.ts";
import { toEvents } from "../record-changes.ts";
import { findInvoices, openInvoices } from "../store.ts";
import {
  findView,
  insertViews,
  insertWords,
  lockFutureView,
  updateFreedOfSent,
  updateViews,
} from "./view-store.ts";

export type SyncDeps = InvoiceUseCaseDeps & { database: Database };

/**
 * Syncs invoice changes to the other party's account: each change once and in order, however often
 * and in whatever order the tasks run, since the account's own row counts the changes applied. One
 * transaction writes for that account, and the next one ends the owner's tasks.
 */
export async function syncCounterparty(deps: SyncDeps, set: TaskSet): Promise<void> {
  // Several changes of one invoice are one job. Opening and rendering a large one takes long.
  await recordByRecord(deps.database, set, (tasks) => syncInvoice(deps, set, tasks));
}

async function syncInvoice(deps: SyncDeps, set: TaskSet, wanted: Task[]): Promise<void> {
  const { database, keyring } = deps;
  const key = { account_id: wanted[0]!.account_id, id: wanted[0]!.record_id };
  const [row] = await findInvoices(database, [key]);
  const [entry] = await openInvoices(database, keyring, row ? [row] : []);
  if (entry?.invoice.shared_with) {
    const unsynced = await readUnsynced(database, entry);
    await database.transaction((tx) => notifyParty(tx, deps, entry, unsynced, set.now));
  }
  await database.transaction(async (tx) => set.finish(tx, await set.lock(tx, wanted)));
}

/**
 * Some may have been synced since. No change later than the invoice that was read: the account's
 * search words and view are derived from that version. A later change has a task of its own.
 */
async function readUnsynced(
  session: Session,
  { invoice, key }: KeyedInvoice,
): Promise<UnsyncedChange[]> {
  const view = await findView(session, invoice.shared_with!, invoice.id);
  return listUnsynced(session, invoice, view?.sequence ?? invoice.shared_from! - 1, key);
}

async function notifyParty(
  tx: Transaction,
  { keyring, index_key }: SyncDeps,
  entry: KeyedInvoice,
  unsynced: readonly UnsyncedChange[],
  now: Date,
): Promise<void> {
  const { invoice } = entry;
  const account_id = invoice.shared_with!;
  const role = otherRole(ownRole(invoice.format));
  const key = await keyring.openAccount(tx, account_id);
  const view = await lockFutureView(tx, { account_id, id: invoice.id });
  const known = view?.sequence ?? invoice.shared_from! - 1;
  const changes = unsynced.filter((change) => change.sequence > known);
  const last = changes.at(-1);
  const sequence = last?.sequence ?? known;
  // A query for "changed since" must also find changes that were synced later.
  const syncedAt = (at: Date) => new Date(Math.max(at.getTime(), now.getTime()));
  if (!view) {
    const updated_at = syncedAt(invoice.updated_at);
    insertViews(tx, [{ account_id, role, sequence, entry, updated_at }]);
  }
  if (!view || changes.some(({ name }) => name === "trackTransaction")) {
    insertWords(tx, wordsOf(index_key, account_id, invoice));
  }
  if (last) {
    const { to_status: status, at } = last;
    const updated_at = syncedAt(at);
    updateViews(tx, [{ account_id, id: invoice.id, status, sequence, updated_at }]);
  }
  const unpaid = changes.findLast((change) => change.name === "markUnpaid");
  if (unpaid) updateFreedOfSent(tx, [{ account_id, id: invoice.id, at: unpaid.at }]);
  // The app that created the invoice belongs to the owner, and is notified there.
  const audience = { role, app_id: null, counterpart_account_id: invoice.account_id };
  const events = changes.flatMap(({ body, facts, ...change }) =>
    body === null ? [] : toEvents(invoice, change, audience, { account_id, key, facts, body }),
  );
  recordEvents(tx, events, now);
  const acts = changes.flatMap(({ name, acted_by: by }) =>
    by ? [{ account_id, invoice_id: invoice.id, name, by }] : [],
  );
  recordActs(tx, acts, now);
}

import { findBilledAccounts, findBillingIndex } from "../../accounts/billing-email-store.ts";
import { listAccounts } from "../../accounts/store.ts";
import { FIRST_ID } from "../../platform/ids.ts";
import { letOthersRun } from "../../platform/let-others-run.ts";
import type { TaskSet } from "../../platform/tasks/task-set.ts";
import { enqueueTasks } from "../../platform/tasks/tasks.ts";
import { inParts } from "../in-parts.ts";
import {
  type InvoiceKey,
  listUnshared,
  lockInvoices,
  openInvoices,
  updateInvoices,
} from "../store.ts";
import { SYNC_COUNTERPARTY_TASK } from "../task-kinds.ts";
import type { SyncDeps } from "./sync-counterparty.ts";

const PAGE_ROWS = 200;

/**
 * An account got its billing address: invoices billed to it before become visible to it. It is
 * notified of later changes only. Writes for one owner at a time.
 */
export async function shareInvoices(deps: SyncDeps, set: TaskSet): Promise<void> {
  for (const task of set.tasks) {
    const party_index = await findBillingIndex(deps.database, task.account_id);
    if (party_index) await shareAll(deps, task.account_id, party_index, set.now);
    await deps.database.transaction(async (tx) => set.finish(tx, await set.lock(tx, [task])));
  }
}

async function shareAll(
  deps: SyncDeps,
  account_id: string,
  party_index: Buffer,
  now: Date,
): Promise<void> {
  for (const owner of await listAccounts(deps.database)) {
    if (owner.id === account_id) continue;
    for (let above_id = FIRST_ID; ; ) {
      const which = { account_id: owner.id, party_index, above_id };
      const found = await listUnshared(deps.database, which, PAGE_ROWS);
      const last = found.at(-1);
      if (!last) break;
      const keys = found.map(({ id }) => ({ account_id: owner.id, id }));
      for (const part of await inParts(deps.database, keys)) {
        await sharePart(deps, { keys: part.keys, account_id, party_index }, now);
        await letOthersRun(part.bytes);
      }
      above_id = last.id;
    }
  }
}

async function sharePart(
  { database, keyring }: SyncDeps,
  part: { keys: readonly InvoiceKey[]; account_id: string; party_index: Buffer },
  now: Date,
): Promise<void> {
  await database.transaction(async (tx) => {
    const rows = await lockInvoices(tx, part.keys);
    const billed = await findBilledAccounts(tx, [part.party_index]);
    // The address belongs to another account by now.
    if (billed.get(part.party_index.toString("base64")) !== part.account_id) return;
    const entries = await openInvoices(tx, keyring, rows);
    const shared = entries
      .filter(({ invoice }) => invoice.shared_with === null)
      .map((entry) => ({
        ...entry,
        invoice: {
          ...entry.invoice,
          shared_with: part.account_id,
          shared_from: entry.invoice.sequence + 1,
        },
      }));
    if (shared.length === 0) return;
    updateInvoices(tx, shared);
    const invoices = shared.map(({ invoice }) => invoice);
    enqueueTasks(tx, SYNC_COUNTERPARTY_TASK, invoices, now);
  });
}

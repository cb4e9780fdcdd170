import { findBilledAccounts, findBillingIndex } from "../../accounts/billing-email-store.ts";
import { listAccounts } from "../../accounts/store.ts";
import { FIRST_ID } from "../../platform/ids.ts";
import type { TaskSet } from "../../platform/tasks/task-set.ts";
import { enqueueTasks } from "../../platform/tasks/tasks.ts";
import { listUnshared, lockInvoices, openInvoices, updateInvoices } from "../store.ts";
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
      const ids = found.map(({ id }) => id);
      await sharePage(deps, { owner_id: owner.id, ids, account_id, party_index }, now);
      above_id = last.id;
    }
  }
}

async function sharePage(
  { database, keyring }: SyncDeps,
  page: { owner_id: string; ids: string[]; account_id: string; party_index: Buffer },
  now: Date,
): Promise<void> {
  const keys = page.ids.map((id) => ({ account_id: page.owner_id, id }));
  await database.transaction(async (tx) => {
    const rows = await lockInvoices(tx, keys);
    const billed = await findBilledAccounts(tx, [page.party_index]);
    // The address belongs to another account by now.
    if (billed.get(page.party_index.toString("base64")) !== page.account_id) return;
    const entries = await openInvoices(tx, keyring, rows);
    const shared = entries
      .filter(({ invoice }) => invoice.shared_with === null)
      .map((entry) => ({
        ...entry,
        invoice: {
          ...entry.invoice,
          shared_with: page.account_id,
          shared_from: entry.invoice.sequence + 1,
        },
      }));
    if (shared.length === 0) return;
    updateInvoices(tx, shared);
    const invoices = shared.map(({ invoice }) => invoice);
    enqueueTasks(tx, SYNC_COUNTERPARTY_TASK, invoices, now);
  });
}

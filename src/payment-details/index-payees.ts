import type { Catalogue } from "../catalogue/catalogue.ts";
import type { Database } from "../platform/db/database.ts";
import { HOUR_MS } from "../platform/durations.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { recurringTask } from "../platform/tasks/recurring-task.ts";
import type { TaskHandler } from "../platform/tasks/run-set.ts";
import { hashPayee } from "./payee.ts";
import {
  findAccountWithoutPayee,
  lockWithoutPayee,
  toPaymentDetails,
  updatePayees,
} from "./store.ts";

type IndexDeps = { database: Database; keyring: Keyring; index_key: Buffer; catalogue: Catalogue };

export const INDEX_PAYEES_TASK = "index-payees";
const EVERY_MS = HOUR_MS;
const ROWS_AT_ONCE_MAX = 500;

/**
 * Gives payment details without a payee index theirs: those from before the index, and all of them
 * after a migration that emptied the column because the index is made in another way.
 */
export function indexPayeesTask(deps: IndexDeps): TaskHandler {
  return recurringTask(deps.database, INDEX_PAYEES_TASK, EVERY_MS, async (set) => {
    for (;;) {
      const account_id = await findAccountWithoutPayee(deps.database);
      if (account_id === undefined || !set.isHeld()) return;
      await indexPage(deps, account_id);
    }
  });
}

function indexPage(
  { database, keyring, index_key, catalogue }: IndexDeps,
  account_id: string,
): Promise<void> {
  return database.transaction(async (tx) => {
    const rows = await lockWithoutPayee(tx, account_id, ROWS_AT_ONCE_MAX);
    const details = toPaymentDetails(rows, await keyring.openUserKeys(tx, rows));
    const found = new Map(
      details.map((detail) => [detail.id, hashPayee(index_key, catalogue, detail)]),
    );
    // Whose account is unknown, such as that of an erased user, is a payee of its own.
    const ownIndex = (id: string) => Buffer.from(id.replaceAll("-", ""), "hex");
    updatePayees(
      tx,
      rows.map(({ account_id, id }) => ({
        account_id,
        id,
        payee_index: found.get(id) ?? ownIndex(id),
      })),
    );
  });
}

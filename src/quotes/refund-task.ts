import { postEntries } from "../ledger/post.ts";
import { refundSent } from "../ledger/postings.ts";
import type { ChainPort } from "../partners/chain/port.ts";
import type { Database } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import type { TaskHandler } from "../platform/tasks/run-set.ts";
import { SEND_REFUND_TASK } from "./refund-balances.ts";
import { lockRefund, openAddress, updateRefund } from "./refund-store.ts";

/**
 * Sends refunds in three beats: mark it as being sent, send under a key made of its id, record
 * the transaction. Whatever is interrupted is sent again under the same key, which sends once.
 */
export function sendRefundTask(deps: {
  database: Database;
  chain: ChainPort;
  keyring: Keyring;
}): TaskHandler {
  const { database, chain, keyring } = deps;
  return {
    kind: SEND_REFUND_TASK,
    set_max: 20,
    handle: async (set) => {
      for (const task of set.tasks) {
        const { account_id, record_id } = task;
        const refund = await database.transaction(async (tx) => {
          if ((await set.lock(tx, [task])).length === 0) return null;
          const row = await lockRefund(tx, account_id, record_id);
          if (!row || row.status === "sent") return null;
          const { user_id } = row;
          const keys = await keyring.openSubjects(tx, [{ account_id, subject_id: user_id }]);
          const address = openAddress("refunds", row, keys.get(account_id, user_id)!);
          updateRefund(tx, { ...row, status: "sending", updated_at: set.now });
          return { ...row, address };
        });
        const sent =
          refund && (await chain.send({ ...refund, key: `refund:${account_id}:${record_id}` }));
        if (sent && "refused" in sent) {
          // The money stays in refund_pending, and the task fails until somebody looks at it.
          throw new Error(`the chain rejected the refund ${record_id}: ${sent.refused}`);
        }
        await database.transaction(async (tx) => {
          const tasks = await set.lock(tx, [task]);
          if (tasks.length === 0) return;
          if (refund && sent) {
            const done = { status: "sent", tx_id: sent.tx_id, updated_at: set.now } as const;
            updateRefund(tx, { ...refund, ...done });
            postEntries(tx, [refundSent(refund)], set.now);
          }
          set.finish(tx, tasks);
        });
      }
    },
  };
}

import type { ChainPort, ChainTransaction } from "../partners/chain/port.ts";
import type { Transaction } from "../platform/db/database.ts";
import type { TaskSet } from "../platform/tasks/task-set.ts";
import type { Task } from "../platform/tasks/tasks.ts";
import type { Act } from "./apply-change.ts";
import type { CarryDeps } from "./carry-changes.ts";
import { type Claim, isProven, type Judged, judgeClaim } from "./claim-model.ts";
import { deleteClaims, findClaim, insertUsedTransfer } from "./claim-store.ts";
import { CHANGES, type KeyedInvoice } from "./model.ts";
import { type ChangedInvoice, changeInvoice, recordChanges } from "./record-changes.ts";
import { lockInvoices, openInvoices } from "./store.ts";

export type ClaimDeps = CarryDeps & { chain: ChainPort };

const AGAIN_MIN_MS = 15_000;
const AGAIN_MAX_MS = 10 * 60_000;

/** Asks the chains for the transfers that buyers have named. */
export async function checkClaims(deps: ClaimDeps, set: TaskSet): Promise<void> {
  for (const task of set.tasks) await checkOne(deps, set, task);
}

async function checkOne(deps: ClaimDeps, set: TaskSet, task: Task): Promise<void> {
  const { database, chain: port } = deps;
  const key = { account_id: task.account_id, id: task.record_id };
  const claim = await findClaim(database, key);
  const found = claim && (await port.readTransaction(claim.chain, claim.tx_id));
  await database.transaction(async (tx) => {
    const tasks = await set.lock(tx, [task]);
    if (tasks.length === 0) return;
    const is_over = !claim || !found || (await settle(tx, deps, claim, found, set.now));
    if (is_over) return set.finish(tx, tasks);
    // Seldom asked after a while: most transfers are final within minutes.
    const age_ms = set.now.getTime() - task.created_at.getTime();
    const again_ms = Math.min(Math.max(age_ms, AGAIN_MIN_MS), AGAIN_MAX_MS);
    set.postpone(tx, tasks, new Date(set.now.getTime() + again_ms));
  });
}

/** False when the chain has not decided yet. */
async function settle(
  tx: Transaction,
  { keyring, renderer }: ClaimDeps,
  claim: Claim,
  found: ChainTransaction,
  now: Date,
): Promise<boolean> {
  const key = { account_id: claim.account_id, id: claim.invoice_id };
  const rows = await lockInvoices(tx, [key]);
  // Another worker may have settled it, or a new claim have taken its place.
  const current = await findClaim(tx, key);
  if (current?.tx_id !== claim.tx_id || current.chain !== claim.chain) return true;
  const [entry] = await openInvoices(tx, keyring, rows);
  if (!entry) return true;
  const judged = judgeClaim(entry.invoice, entry.history, claim, found, now);
  if ("wait" in judged) return false;
  deleteClaims(tx, [key]);
  recordChanges(tx, renderer, await settled(tx, entry, judged, now), now);
  return true;
}

async function settled(
  tx: Transaction,
  entry: KeyedInvoice,
  judged: Exclude<Judged, { wait: true }>,
  now: Date,
): Promise<ChangedInvoice[]> {
  const drop = (note: string) => {
    const act = { name: "dropClaim", actor_account_id: null, input: { note } } as const;
    return [changeInvoice(entry, act, now)];
  };
  if ("reason" in judged) return drop(judged.reason);
  if (!CHANGES.trackTransaction.moves[entry.invoice.status]) {
    return drop(`The invoice was ${entry.invoice.status} when the transfer became final.`);
  }
  for (const tracked of judged.candidates) {
    if (!(await insertUsedTransfer(tx, entry.invoice, tracked))) continue;
    const act: Act = { name: "trackTransaction", actor_account_id: null, input: null, tracked };
    const found = changeInvoice(entry, act, now);
    const is_confirmed = found.invoice.status === "paid";
    if (!is_confirmed && !isProven(entry.invoice.id, entry.history, tracked)) return [found];
    return [found, changeInvoice(found, { ...act, name: "paid" }, now)];
  }
  return drop("The transfer has paid another invoice.");
}

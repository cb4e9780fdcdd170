import type { Chain } from "../../catalogue/chains.ts";
import {
  type ChainPort,
  type ChainTransaction,
  ChainUnavailable,
} from "../../partners/chain/port.ts";
import type { Transaction } from "../../platform/db/database.ts";
import { MINUTE_MS } from "../../platform/durations.ts";
import type { TaskSet } from "../../platform/tasks/task-set.ts";
import { enqueueTasks, type Task } from "../../platform/tasks/tasks.ts";
import type { Act } from "../apply-change.ts";
import type { SyncDeps } from "../counterparty/sync-counterparty.ts";
import { insertWords } from "../counterparty/view-store.ts";
import { wordsOf } from "../links.ts";
import {
  CHANGES,
  type InvoiceChange,
  type KeyedInvoice,
  type TrackedTransaction,
} from "../model.ts";
import { type ChangedInvoice, changeInvoice, recordChanges } from "../record-changes.ts";
import { type InvoiceKey, lockInvoices, openInvoices } from "../store.ts";
import { CHECK_CLAIM_TASK } from "../task-kinds.ts";
import {
  foreignTransfers,
  isSameTransfer,
  judgeClaim,
  type PaymentClaim,
  proofCheck,
  type TransferUsers,
} from "./claim-model.ts";
import {
  deleteClaims,
  findClaim,
  findTransferUsers,
  listShowing,
  listUsedTransfers,
  lockTransaction,
  mayTake,
  updateShown,
  upsertUsedTransfer,
} from "./claim-store.ts";

export type ClaimDeps = SyncDeps & { chain: ChainPort };

const AGAIN_MIN_MS = 15_000;
const AGAIN_MAX_MS = 10 * MINUTE_MS;

/** How many transfers one claim shows, one after the other. */
const SHOWN_MAX = 5;

/** So long a chain that did not answer is not asked: each question would take as long again. */
const NOT_ASKED_MS = 15_000;

type Checked = { task: Task; claim: PaymentClaim | undefined };
type ReadClaim = (claim: PaymentClaim) => Promise<ChainTransaction | null>;

/** Asks the chains for what was claimed; null where a chain does not answer. */
export function createClaimReader({ chain: port }: ClaimDeps): ReadClaim {
  const asked_again_ms = new Map<Chain, number>();
  return async ({ chain, tx_id }) => {
    if (performance.now() < (asked_again_ms.get(chain) ?? 0)) return null;
    try {
      return await port.readTransaction(chain, tx_id);
    } catch (error) {
      if (!(error instanceof ChainUnavailable)) throw error;
      asked_again_ms.set(chain, performance.now() + NOT_ASKED_MS);
      return null;
    }
  };
}

/**
 * Checks the transfers that buyers have claimed with the chains. Each chain is asked on its own, so
 * that one that does not answer delays no claim on another; what they say is settled one by one.
 */
export async function checkClaims(deps: ClaimDeps, set: TaskSet, read: ReadClaim): Promise<void> {
  const checked: Checked[] = [];
  for (const task of set.tasks)
    checked.push({ task, claim: await findClaim(deps.database, toKey(task)) });
  let last: Promise<unknown> = Promise.resolve();
  const settleNext = (entry: Checked, found: ChainTransaction | null) => {
    const settled = last.then(() => settleOne(deps, set, entry, found));
    // Those behind it do not fail with it.
    last = settled.catch(() => {});
    return settled;
  };
  const errors: unknown[] = [];
  const by_chain = Map.groupBy(checked, ({ claim }) => claim?.chain);
  const chains = [...by_chain.values()].map(async (entries) => {
    for (const entry of entries) {
      try {
        await settleNext(entry, entry.claim ? await read(entry.claim) : null);
      } catch (error) {
        errors.push(error);
      }
    }
  });
  await Promise.all(chains);
  // Only those that were not settled still have their tasks.
  if (errors.length > 0) throw errors[0];
}

/** `found`: null when the chain does not answer. */
async function settleOne(
  deps: ClaimDeps,
  set: TaskSet,
  { task, claim }: Checked,
  found: ChainTransaction | null,
): Promise<void> {
  await deps.database.transaction(async (tx) => {
    const tasks = await set.lock(tx, [task]);
    if (tasks.length === 0) return;
    if (!claim) await settleUnclaimed(tx, deps, toKey(task), set.now);
    const is_over = !claim || (found !== null && (await settle(tx, deps, claim, found, set.now)));
    if (is_over) return set.finish(tx, tasks);
    // Checked less often after a while: most transfers are final within minutes.
    const age_ms = set.now.getTime() - task.created_at.getTime();
    const again_ms = Math.min(Math.max(age_ms, AGAIN_MIN_MS), AGAIN_MAX_MS);
    set.postpone(tx, tasks, new Date(set.now.getTime() + again_ms));
  });
}

/** The transfers that it showed are not its own: it lost them to another invoice. */
async function settleUnclaimed(
  tx: Transaction,
  { keyring, renderer }: ClaimDeps,
  key: InvoiceKey,
  now: Date,
): Promise<void> {
  const rows = await lockInvoices(tx, [key]);
  // A new claim is checked by a task of its own, which does the same.
  if (await findClaim(tx, key)) return;
  const [entry] = await openInvoices(tx, keyring, rows);
  if (!entry) return;
  const users = await findTransferUsers(tx, entry.invoice.tracked);
  recordChanges(tx, renderer, withdraw(entry, users, undefined, now), now);
}

/** False when the chain has not decided yet. */
async function settle(
  tx: Transaction,
  { keyring, renderer, index_key }: ClaimDeps,
  claim: PaymentClaim,
  found: ChainTransaction,
  now: Date,
): Promise<boolean> {
  const key = { account_id: claim.account_id, id: claim.invoice_id };
  const rows = await lockInvoices(tx, [key]);
  // Another worker may have settled it, or a new claim may have replaced it.
  const current = await findClaim(tx, key);
  if (!current) return true;
  // Looked at again, in case its own task has ended meanwhile.
  if (current.tx_id !== claim.tx_id || current.chain !== claim.chain) return false;
  const [entry] = await openInvoices(tx, keyring, rows);
  if (!entry) return true;
  const judged = judgeClaim(entry.invoice, entry.history, claim, found, now);
  if ("wait" in judged) return false;
  // Who is second must see what the first has used, or be among the claims that it finds.
  await lockTransaction(tx, claim.chain, claim.tx_id);
  const users = await findTransferUsers(tx, entry.invoice.tracked);
  const changes =
    "reason" in judged
      ? [dropClaim(entry, judged.reason, users, now)]
      : await settleFinal(tx, entry, claim, judged.candidates, users, now);
  // A transfer that is only shown keeps its claim until it is proved or confirmed.
  const is_over = changes.some(({ change }) => ["paid", "dropClaim"].includes(change.name));
  if (is_over) deleteClaims(tx, [key]);
  const shown = changes.find(({ change }) => change.name === "trackTransaction")?.invoice;
  if (shown) insertWords(tx, wordsOf(index_key, shown.account_id, shown));
  recordChanges(tx, renderer, changes, now);
  return true;
}

/** What a final transfer does: it pays, it waits for the seller, or its claim is dropped. */
async function settleFinal(
  tx: Transaction,
  entry: KeyedInvoice,
  claim: PaymentClaim,
  candidates: readonly TrackedTransaction[],
  users: TransferUsers,
  now: Date,
): Promise<ChangedInvoice[]> {
  const { invoice, history } = entry;
  if (!CHANGES.trackTransaction.moves[invoice.status]) {
    const note = `The invoice was ${invoice.status} when the transfer was final.`;
    return [dropClaim(entry, note, users, now)];
  }
  const withdrawn = withdraw(entry, users, claim, now);
  const own = withdrawn[0] ?? entry;
  const isProven = proofCheck(invoice.id, history, claim.chain);
  const of_transaction = await listUsedTransfers(tx, claim.chain, claim.tx_id);
  const used_by = new Map(of_transaction.map((used) => [used.log_index, used]));
  for (const tracked of candidates) {
    const is_proven = isProven(tracked);
    if (!is_proven && invoice.status !== "paid") continue;
    const used_before = used_by.get(tracked.log_index);
    if (used_before && !mayTake(invoice, used_before, is_proven)) continue;
    const used = await upsertUsedTransfer(tx, invoice, tracked, is_proven);
    if (!used) continue;
    // Those that show it have claimed it without a proof, and one may have been paid by it: they
    // are checked again, and no longer show it.
    const showing = await listShowing(tx, tracked);
    const losers = used.loser ? [...showing, used.loser] : showing;
    const others = new Map(losers.map((loser) => [loser.id, loser]));
    others.delete(invoice.id);
    enqueueTasks(tx, CHECK_CLAIM_TASK, [...others.values()], now);
    const shown = trackOnce(own, tracked, now);
    const act = { name: "paid", actor_account_id: null, input: null, tracked } as const;
    return [...withdrawn, ...shown, changeInvoice(shown[0] ?? own, act, now)];
  }
  const free = candidates.find(({ log_index }) => !used_by.has(log_index));
  if (!free) return [dropClaim(entry, "The transfer has already paid an invoice.", users, now)];
  const shown = mayShow(history) ? trackOnce(own, free, now) : [];
  if (shown.length > 0 || isShown(own, free)) updateShown(tx, invoice, free.log_index);
  return [...withdrawn, ...shown];
}

/**
 * Whether a claim without a proof shows another transfer, after those that it showed have paid
 * other invoices. If not, it shows the one that pays it when its seller confirms.
 */
function mayShow(history: readonly InvoiceChange[]): boolean {
  const claimed_at = history.findLastIndex(({ input }) => input?.txHash !== undefined);
  const shown = history.slice(claimed_at).filter(({ name }) => name === "trackTransaction");
  return shown.length < SHOWN_MAX;
}

const toKey = ({ account_id, record_id }: Task) => ({ account_id, id: record_id });

/** The change that shows the transfer, unless the invoice already shows it. */
function trackOnce(entry: KeyedInvoice, tracked: TrackedTransaction, now: Date): ChangedInvoice[] {
  if (isShown(entry, tracked)) return [];
  const act: Act = { name: "trackTransaction", actor_account_id: null, input: null, tracked };
  return [changeInvoice(entry, act, now)];
}

function isShown({ invoice }: KeyedInvoice, tracked: TrackedTransaction): boolean {
  return invoice.tracked.some((shown) => isSameTransfer(shown, tracked));
}

/** Also the transfers that only the claim has shown are no longer shown. */
function dropClaim(
  entry: KeyedInvoice,
  note: string,
  users: TransferUsers,
  now: Date,
): ChangedInvoice {
  const withdrawn = foreignTransfers(entry.invoice, users, undefined);
  const act: Act = { name: "dropClaim", actor_account_id: null, input: { note }, withdrawn };
  return changeInvoice(entry, act, now);
}

/** The change by which it stops showing what is not its own, unless there is nothing of that. */
function withdraw(
  entry: KeyedInvoice,
  users: TransferUsers,
  claim: PaymentClaim | undefined,
  now: Date,
): ChangedInvoice[] {
  const withdrawn = foreignTransfers(entry.invoice, users, claim);
  if (withdrawn.length === 0) return [];
  const input = { note: "The transfer has paid another invoice." };
  const act: Act = { name: "withdrawTransfers", actor_account_id: null, input, withdrawn };
  return [changeInvoice(entry, act, now)];
}

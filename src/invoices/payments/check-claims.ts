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
import { CHANGES, type KeyedInvoice, type TrackedTransaction } from "../model.ts";
import { type ChangedInvoice, changeInvoice, recordChanges } from "../record-changes.ts";
import { lockInvoices, openInvoices } from "../store.ts";
import { CHECK_CLAIM_TASK } from "../task-kinds.ts";
import { isProven, isSameTransfer, judgeClaim, type PaymentClaim } from "./claim-model.ts";
import {
  deleteClaims,
  findClaim,
  insertUsedTransfer,
  listClaims,
  listUsedTransfers,
} from "./claim-store.ts";

export type ClaimDeps = SyncDeps & { chain: ChainPort };

const AGAIN_MIN_MS = 15_000;
const AGAIN_MAX_MS = 10 * MINUTE_MS;

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
    const is_over = !claim || (found !== null && (await settle(tx, deps, claim, found, set.now)));
    if (is_over) return set.finish(tx, tasks);
    // Checked less often after a while: most transfers are final within minutes.
    const age_ms = set.now.getTime() - task.created_at.getTime();
    const again_ms = Math.min(Math.max(age_ms, AGAIN_MIN_MS), AGAIN_MAX_MS);
    set.postpone(tx, tasks, new Date(set.now.getTime() + again_ms));
  });
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
  if (current?.tx_id !== claim.tx_id || current.chain !== claim.chain) return true;
  const [entry] = await openInvoices(tx, keyring, rows);
  if (!entry) return true;
  const judged = judgeClaim(entry.invoice, entry.history, claim, found, now);
  if ("wait" in judged) return false;
  const changes =
    "reason" in judged
      ? [dropClaim(entry, judged.reason, now)]
      : await settleFinal(tx, entry, claim, judged.candidates, now);
  // A transfer that is only shown keeps its claim until it is proved or confirmed.
  const is_open = changes.every(({ change }) => change.name === "trackTransaction");
  if (!is_open) deleteClaims(tx, [key]);
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
  now: Date,
): Promise<ChangedInvoice[]> {
  const { invoice, history } = entry;
  if (!CHANGES.trackTransaction.moves[invoice.status]) {
    return [
      dropClaim(entry, `The invoice was ${invoice.status} when the transfer was final.`, now),
    ];
  }
  for (const tracked of candidates) {
    const is_proven = isProven(invoice.id, history, tracked);
    if (!is_proven && invoice.status !== "paid") continue;
    if (!(await insertUsedTransfer(tx, invoice, tracked, is_proven))) continue;
    // Others may have claimed it without a proof: they are checked again, and dropped.
    const rivals = (await listClaims(tx, claim.chain, claim.tx_id)).map(toInvoiceKey);
    const others = rivals.filter(({ id }) => id !== invoice.id);
    enqueueTasks(tx, CHECK_CLAIM_TASK, others, now);
    const shown = trackOnce(entry, tracked, now);
    const act = { name: "paid", actor_account_id: null, input: null, tracked } as const;
    return [...shown, changeInvoice(shown[0] ?? entry, act, now)];
  }
  const used = await listUsedTransfers(tx, claim.chain, claim.tx_id);
  const free = candidates.find(
    ({ log_index }) => !used.some((transfer) => transfer.log_index === log_index),
  );
  if (free) return trackOnce(entry, free, now);
  const by_others = used.filter(({ invoice_id }) => invoice_id !== invoice.id);
  const withdrawn = candidates.find(({ log_index }) =>
    by_others.some((transfer) => transfer.log_index === log_index),
  );
  return [dropClaim(entry, "The transfer has already paid an invoice.", now, withdrawn)];
}

const toInvoiceKey = ({ account_id, invoice_id }: PaymentClaim) => ({ account_id, id: invoice_id });
const toKey = ({ account_id, record_id }: Task) => ({ account_id, id: record_id });

/** The change that shows the transfer, unless the invoice already shows it. */
function trackOnce(entry: KeyedInvoice, tracked: TrackedTransaction, now: Date): ChangedInvoice[] {
  if (entry.invoice.tracked.some((shown) => isSameTransfer(shown, tracked))) return [];
  const act: Act = { name: "trackTransaction", actor_account_id: null, input: null, tracked };
  return [changeInvoice(entry, act, now)];
}

function dropClaim(
  entry: KeyedInvoice,
  note: string,
  now: Date,
  tracked?: TrackedTransaction,
): ChangedInvoice {
  const act: Act = { name: "dropClaim", actor_account_id: null, input: { note } };
  return changeInvoice(entry, tracked ? { ...act, tracked } : act, now);
}

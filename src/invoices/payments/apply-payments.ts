import { recordByRecord } from "../../platform/tasks/one-by-one.ts";
import type { TaskSet } from "../../platform/tasks/task-set.ts";
import type { Task } from "../../platform/tasks/tasks.ts";
import type { SyncDeps } from "../counterparty/sync-counterparty.ts";
import { findView } from "../counterparty/view-store.ts";
import { CHANGES, type ChangeName, type KeyedInvoice } from "../model.ts";
import { type ChangedInvoice, changeInvoice, recordChanges } from "../record-changes.ts";
import { type InvoiceKey, lockInvoices, openInvoices } from "../store.ts";
import {
  insertPayment,
  listUnappliedSteps,
  type PaymentStep,
  type StepKind,
  updateApplied,
} from "./store.ts";

/** What each step of an offramp means for the invoice that it pays. */
const STEP_CHANGES: Readonly<Record<StepKind, readonly ChangeName[]>> = {
  funded: ["declareSentPayment"],
  rerouted: ["declareSentPayment"],
  sent: ["declareReceivedPayment", "paid"],
  bounced: ["c2fPaymentFailed"],
  failed: ["c2fPaymentFailed"],
};

/**
 * Applies the steps of offramps to the invoices they pay, each once and in order: earlier steps are
 * always visible and applied first. Each step is a transaction under the invoice's owner; a second
 * one under the payer marks it as applied, and is repeated if it fails.
 */
export async function applyPayments(deps: SyncDeps, set: TaskSet): Promise<void> {
  await recordByRecord(deps.database, set, (tasks) => applySteps(deps, set, tasks));
}

async function applySteps(deps: SyncDeps, set: TaskSet, tasks: Task[]): Promise<void> {
  const { account_id, record_id: offramp_id } = tasks[0]!;
  const steps = await listUnappliedSteps(deps.database, account_id, offramp_id);
  for (const step of steps) {
    const view = await findView(deps.database, account_id, step.invoice_id);
    const invoice = { account_id: view!.owner_account_id, id: step.invoice_id };
    await applyStep(deps, invoice, step, set.now);
  }
  await deps.database.transaction(async (tx) => {
    const ours = await set.lock(tx, tasks);
    const last = steps.at(-1);
    if (last) updateApplied(tx, last, set.now);
    set.finish(tx, ours);
  });
}

async function applyStep(
  { database, keyring, renderer }: SyncDeps,
  key: InvoiceKey,
  step: PaymentStep,
  now: Date,
): Promise<void> {
  await database.transaction(async (tx) => {
    const rows = await lockInvoices(tx, [key]);
    if (!(await insertPayment(tx, key, step, now))) return;
    const [entry] = await openInvoices(tx, keyring, rows);
    if (entry) recordChanges(tx, renderer, changesOf(entry, step, now), now);
  });
}

/**
 * None where the invoice was canceled or paid by other means. A payment returned after the invoice
 * was marked unpaid is also reported, unless the invoice now shows another offramp's progress,
 * which must not be undone.
 */
function changesOf(
  entry: KeyedInvoice,
  { kind, offramp_id }: PaymentStep,
  now: Date,
): ChangedInvoice[] {
  const payer = entry.invoice.offramp_id;
  if (payer !== null && payer !== offramp_id) return [];
  const is_return = kind === "bounced" || kind === "failed";
  // Declared or received manually: not an offramp's payment.
  if (is_return && payer === null && entry.invoice.payment !== null) return [];
  const changes: ChangedInvoice[] = [];
  let current = entry;
  for (const name of STEP_CHANGES[kind]) {
    if (!CHANGES[name].moves[current.invoice.status]) return changes;
    const act = { name, actor_account_id: null, input: null, offramp_id };
    const changed = changeInvoice(current, act, now);
    changes.push(changed);
    current = changed;
  }
  return changes;
}

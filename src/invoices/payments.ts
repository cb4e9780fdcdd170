import { lowerAscii } from "../catalogue/text.ts";
import { AccountMap } from "../platform/account-map.ts";
import type { Transaction } from "../platform/db/database.ts";
import type { ErrorCode } from "../platform/errors.ts";
import { enqueueTasks, taskNow } from "../platform/tasks/tasks.ts";
import { insertPaymentSteps, type PaymentStep, type StepKind } from "./payment-store.ts";
import { findInvoices, type InvoiceKey, type InvoiceRow } from "./store.ts";
import { INVOICE_PAYMENT_TASK } from "./task-kinds.ts";
import { lockViews, updateFreed, updatePayingOfframps } from "./view-store.ts";

/** What paying an invoice needs to know of it. */
export type Payable = Pick<InvoiceRow, "status" | "currency" | "total"> & {
  /** The live offramp that pays it already. */
  offramp_id: string | null;
};

export type { PaymentStep, StepKind };

/**
 * The invoices that these accounts may pay: seen by them as their buyer, or as a salary's
 * employer. `account_id` is the payer's. Locks the payer's own rows, so that of two offramps for
 * one invoice one is refused.
 */
export async function loadPayables(
  tx: Transaction,
  keys: readonly InvoiceKey[],
): Promise<AccountMap<Payable>> {
  const payables = new AccountMap<Payable>();
  if (keys.length === 0) return payables;
  const views = (await lockViews(tx, keys)).filter((view) => view.role === "buyer");
  const rows = await findInvoices(
    tx,
    views.map(({ owner_account_id, id }) => ({ account_id: owner_account_id, id })),
  );
  const by_owner = AccountMap.of(rows, (row) => row);
  for (const { account_id, id, owner_account_id, offramp_id } of views) {
    const row = by_owner.get(owner_account_id, id);
    if (row) payables.set(account_id, id, { ...row, offramp_id });
  }
  return payables;
}

/** Why this payment cannot pay the invoice; null when it can. Null fields are not judged. */
export function paymentProblem(
  payable: Payable | undefined,
  payment: { currency: string | null; amount: bigint | null },
): [code: ErrorCode, message: string] | null {
  if (!payable) return ["record_not_found", "There is no such record; check the id."];
  if (payable.offramp_id !== null) {
    return ["record_not_unique", "Another offramp pays this invoice; follow or refund that one."];
  }
  if (payable.status !== "open" && payable.status !== "accepted") {
    return ["record_invalid", `The invoice is ${payable.status}; it must be open or accepted.`];
  }
  if (payment.currency !== null && payment.currency !== lowerAscii(payable.currency)) {
    return ["record_invalid", `The invoice is in ${payable.currency}; pay it in that currency.`];
  }
  if (payment.amount !== null && payment.amount !== payable.total) {
    return ["record_invalid", `Pay the total of the invoice: ${payable.total} minor units.`];
  }
  return null;
}

/** From now on this offramp pays the invoice, until it fails. */
export function reservePayments(
  tx: Transaction,
  payments: readonly (InvoiceKey & { offramp_id: string })[],
): void {
  updatePayingOfframps(tx, payments);
}

/** What an offramp that pays an invoice has gone through, in the transaction of its change. */
export function recordPaymentSteps(
  tx: Transaction,
  steps: readonly PaymentStep[],
  now: Date,
): void {
  if (steps.length === 0) return;
  insertPaymentSteps(tx, steps, now);
  const by_offramp = new Map(steps.map((step) => [step.offramp_id, step]));
  enqueueTasks(
    tx,
    [...by_offramp.values()].map(({ account_id, offramp_id }) =>
      taskNow(INVOICE_PAYMENT_TASK, { account_id, id: offramp_id }, now),
    ),
  );
}

/** These offramps will not pay their invoices: others may. */
export function releasePayments(
  tx: Transaction,
  payments: readonly (InvoiceKey & { offramp_id: string })[],
): void {
  updateFreed(tx, payments);
}

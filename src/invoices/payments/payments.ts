import { lowerAscii } from "../../catalogue/text.ts";
import { AccountMap } from "../../platform/account-map.ts";
import type { Session, Transaction } from "../../platform/db/database.ts";
import { notFound, type Problem } from "../../platform/errors.ts";
import { enqueueTasks } from "../../platform/tasks/tasks.ts";
import { isOften } from "../change-limits.ts";
import {
  findViews,
  type InvoiceView,
  lockViews,
  updateFreed,
  updatePayingOfframps,
} from "../counterparty/view-store.ts";
import { findInvoiceStates, type InvoiceKey, type InvoiceRow } from "../store.ts";
import { INVOICE_PAYMENT_TASK } from "../task-kinds.ts";
import { insertPaymentSteps, type PaymentStep, type StepKind } from "./store.ts";

/** The fields of an invoice that paying it needs. */
export type Payable = Pick<InvoiceRow, "status" | "currency" | "total"> & {
  /** The active offramp that pays it. */
  offramp_id: string | null;
  /** The offramp whose progress the invoice shows, as last synced to its owner. */
  shown_offramp_id: string | null;
  /** Each step of an offramp stores the invoice for both parties. */
  is_often_paid: boolean;
};

export type { PaymentStep, StepKind };

/**
 * The invoices that these accounts may pay: those visible to them as their buyer, or as a salary's
 * employer. `account_id` is the payer's. Locks the payer's own rows, so that of two offramps for
 * one invoice one is refused.
 */
export async function loadPayables(
  tx: Transaction,
  keys: readonly InvoiceKey[],
): Promise<AccountMap<Payable>> {
  if (keys.length === 0) return new AccountMap();
  return toPayables(tx, await lockViews(tx, keys));
}

/** The same without a lock, for checks that reserve nothing. */
export async function findPayables(
  session: Session,
  keys: readonly InvoiceKey[],
): Promise<AccountMap<Payable>> {
  if (keys.length === 0) return new AccountMap();
  return toPayables(session, await findViews(session, keys));
}

async function toPayables(
  session: Session,
  seen: readonly InvoiceView[],
): Promise<AccountMap<Payable>> {
  const payables = new AccountMap<Payable>();
  const views = seen.filter((view) => view.role === "buyer");
  const rows = await findInvoiceStates(
    session,
    views.map(({ owner_account_id, id }) => ({ account_id: owner_account_id, id })),
  );
  const by_owner = AccountMap.of(rows, (row) => row);
  for (const { account_id, id, owner_account_id, offramp_id } of views) {
    const row = by_owner.get(owner_account_id, id);
    if (!row) continue;
    const { status, currency, total, offramp_id: shown_offramp_id } = row;
    const is_often_paid = isOften(row.steps, row.bytes);
    const shown = { shown_offramp_id, is_often_paid };
    payables.set(account_id, id, { status, currency, total, offramp_id, ...shown });
  }
  return payables;
}

/** Why this payment cannot pay the invoice that `field` names. Null fields are not checked. */
export function paymentProblems(
  field: string,
  payable: Payable | undefined,
  payment: { currency: string | null; amount: bigint | null },
): Problem[] {
  if (!payable) return [notFound(field)];
  // A payment in progress keeps its reservation; a finished one shows in the invoice's state.
  const is_under_way = isUnpaid(payable) || payable.status === "declaredPaid";
  if (payable.offramp_id !== null && is_under_way) return [taken(field)];
  if (!isUnpaid(payable)) return [notPayable(field, payable)];
  if (payment.currency !== null && payment.currency !== lowerAscii(payable.currency)) {
    const message = `The invoice is in ${payable.currency}; pay it in that currency.`;
    return [{ field, code: "record_invalid", message }];
  }
  if (payment.amount !== null && payment.amount !== payable.total) {
    const message = `Pay the total of the invoice: ${payable.total} minor units.`;
    return [{ field, code: "record_invalid", message }];
  }
  return repeatProblems(field, payable);
}

/**
 * Whether offramps have paid the invoice, or returned its payment, too often to begin again. One
 * that has begun goes on.
 */
export function repeatProblems(field: string, payable: Payable | undefined): Problem[] {
  if (!payable?.is_often_paid) return [];
  const message = "Offramps have paid this invoice too often; pay it by other means.";
  return [{ field, code: "limit_exceeded", message }];
}

/**
 * Why an offramp can no longer pay its invoice: another has reserved it, or it was canceled,
 * rejected or paid by other means.
 */
export function paymentEndProblems(
  field: string,
  payable: Payable | undefined,
  offramp_id: string,
): Problem[] {
  if (!payable) return [notFound(field)];
  if (payable.offramp_id !== null && payable.offramp_id !== offramp_id) return [taken(field)];
  // The state may result from this offramp's own progress.
  if (isUnpaid(payable) || payable.shown_offramp_id === offramp_id) return [];
  return [notPayable(field, payable)];
}

function taken(field: string): Problem {
  const message = "Another offramp pays this invoice; follow or refund that one.";
  return { field, code: "record_not_unique", message };
}

function isUnpaid({ status }: Payable): boolean {
  return status === "open" || status === "accepted";
}

function notPayable(field: string, { status }: Payable): Problem {
  const message = `The invoice is ${status}; it must be open or accepted.`;
  return { field, code: "record_invalid", message };
}

/** Reserves the invoice for this offramp, until it fails. */
export function reservePayments(
  tx: Transaction,
  payments: readonly (InvoiceKey & { offramp_id: string })[],
): void {
  updatePayingOfframps(tx, payments);
}

/** Records the steps of an offramp that pays an invoice, in the transaction of its change. */
export function recordPaymentSteps(
  tx: Transaction,
  steps: readonly PaymentStep[],
  now: Date,
): void {
  if (steps.length === 0) return;
  insertPaymentSteps(tx, steps, now);
  const offramps = new Map(
    steps.map(({ account_id, offramp_id: id }) => [id, { account_id, id }] as const),
  );
  enqueueTasks(tx, INVOICE_PAYMENT_TASK, [...offramps.values()], now);
}

/** These offramps will not pay their invoices, so others may. */
export function releasePayments(
  tx: Transaction,
  payments: readonly (InvoiceKey & { offramp_id: string })[],
): void {
  updateFreed(tx, payments);
}

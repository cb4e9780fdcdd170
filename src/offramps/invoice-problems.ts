import { isCoolingOff } from "../approvals/cooling-off.ts";
import type { ApprovalRules } from "../approvals/with-approval.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import type { Rail } from "../catalogue/rails.ts";
import { type NamedAccount, payeeProblem } from "../invoices/payments/named-accounts.ts";
import {
  type Payable,
  paymentEndProblems,
  paymentProblems,
  repeatProblems,
  reservePayments,
} from "../invoices/payments/payments.ts";
import type { InvoiceKey } from "../invoices/store.ts";
import type { PaymentDetailFields } from "../payment-details/model.ts";
import type { AccountMap } from "../platform/account-map.ts";
import type { Transaction } from "../platform/db/database.ts";
import type { Problem } from "../platform/errors.ts";
import type { CheckedItem } from "./check-items.ts";
import type { Offramp } from "./model.ts";

/** What is wrong with an item that names an invoice to pay. */
export function invoiceProblems(
  invoices: AccountMap<Payable>,
  account_id: string,
  items: readonly CheckedItem[],
): Problem[] {
  const named = new Set<string>();
  return items.flatMap((item, index) => {
    const { invoice_id, destination_currency: currency, destination_amount: amount } = item;
    if (invoice_id === null) return [];
    const payable = invoices.get(account_id, invoice_id);
    // Of two items of one request for the same invoice, the second is refused.
    const is_twice = named.has(invoice_id);
    named.add(invoice_id);
    const taken = payable && is_twice ? { ...payable, offramp_id: invoice_id } : payable;
    return paymentProblems(`offramps[${index}].invoice_id`, taken, { currency, amount });
  });
}

/** An offramp and the invoice that it pays. */
export type InvoicePayment = Pick<Offramp, "account_id" | "id" | "invoice_id">;

/** The invoices that these offramps pay. */
export function invoiceKeys(payments: readonly InvoicePayment[]): InvoiceKey[] {
  return payments.flatMap(({ account_id, invoice_id: id }) => (id ? [{ account_id, id }] : []));
}

/** Why this offramp can no longer pay its invoice; empty when it can, or pays none. */
export function endedInvoiceProblems(
  invoices: AccountMap<Payable>,
  { account_id, id, invoice_id }: InvoicePayment,
  field = "offramp_id",
): Problem[] {
  if (invoice_id === null) return [];
  return paymentEndProblems(field, invoices.get(account_id, invoice_id), id);
}

/** The same where it would begin to pay it again. */
export function againInvoiceProblems(
  invoices: AccountMap<Payable>,
  payment: InvoicePayment,
  field = "offramp_id",
): Problem[] {
  const { account_id, invoice_id } = payment;
  const ended = endedInvoiceProblems(invoices, payment, field);
  if (invoice_id === null || ended.length > 0) return ended;
  return repeatProblems(field, invoices.get(account_id, invoice_id));
}

/** Reserves the invoices for these offramps. */
export function reserveInvoices(tx: Transaction, payments: readonly InvoicePayment[]): void {
  reservePayments(
    tx,
    payments.flatMap(({ account_id, id: offramp_id, invoice_id: id }) =>
      id ? [{ account_id, id, offramp_id }] : [],
    ),
  );
}

/**
 * Why the bank account of this offramp is none that its invoice names; null when it is one. An
 * invoice that the account does not see is reported by the other checks.
 */
export function namedPayeeProblem(
  catalogue: Catalogue,
  named: AccountMap<NamedAccount[]>,
  { account_id, invoice_id }: Pick<InvoicePayment, "account_id" | "invoice_id">,
  payee: { fields: PaymentDetailFields; rail: Rail },
): string | null {
  const accounts = invoice_id === null ? undefined : named.get(account_id, invoice_id);
  return accounts ? payeeProblem(catalogue, accounts, payee) : null;
}

/**
 * Whoever changes the payment options of an invoice names a new destination for the seller's money:
 * for the cooling-off time it receives none, so that the seller can notice. Null when it may.
 */
export function newOptionsProblem(
  { cooling_off_ms }: Pick<ApprovalRules, "cooling_off_ms">,
  named: AccountMap<NamedAccount[]>,
  { account_id, invoice_id }: Pick<InvoicePayment, "account_id" | "invoice_id">,
  now: Date,
): string | null {
  const [account] = (invoice_id && named.get(account_id, invoice_id)) || [];
  const changed_at = account?.changed_at;
  if (!changed_at || !isCoolingOff({ cooling_off_ms }, changed_at, now)) return null;
  const from = new Date(changed_at.getTime() + cooling_off_ms).toISOString();
  return `The payment options of this invoice were changed recently: it can be paid from ${from}.`;
}

/** At execution: an invoice canceled, rejected or paid since must not be paid. */
export function quoteInvoiceProblems(
  invoices: AccountMap<Payable>,
  payments: readonly InvoicePayment[],
): Problem[] {
  return payments.flatMap((payment) =>
    endedInvoiceProblems(invoices, payment, "quote").map((problem) => ({
      ...problem,
      message: `Invoice ${payment.invoice_id}: ${problem.message} Create a new quote without it.`,
    })),
  );
}

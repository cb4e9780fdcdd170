import {
  CHANGES,
  type ChangeInput,
  type ChangeName,
  type Invoice,
  type InvoiceChange,
  type InvoiceStatus,
  type KeyedInvoice,
  type Payment,
  type TrackedTransaction,
} from "./model.ts";
import { isSameTransfer } from "./payments/claim-model.ts";

export type Act = {
  name: ChangeName;
  actor_account_id: string | null;
  input: ChangeInput | null;
  /** For a new request id, where the change assigns one. */
  request_id?: string;
  /** The offramp that pays it. */
  offramp_id?: string;
  /** The transfer that pays it. */
  tracked?: TrackedTransaction;
  /** The transfers that are no longer shown. */
  withdrawn?: readonly TrackedTransaction[];
};

/** The invoice after an allowed change, and the change as stored in its history. */
export function applyChange(
  entry: KeyedInvoice,
  act: Act,
  id: string,
  now: Date,
): KeyedInvoice & { change: InvoiceChange } {
  const { invoice } = entry;
  const to_status = nextStatus(invoice, act.name);
  // Receivers order events by time, so it must increase with every change of a record.
  const at = new Date(Math.max(now.getTime(), invoice.updated_at.getTime() + 1));
  const change: InvoiceChange = {
    id,
    sequence: invoice.sequence + 1,
    name: act.name,
    from_status: act.name === "create" ? null : invoice.status,
    to_status,
    actor_account_id: act.actor_account_id,
    input: act.input,
    at,
  };
  const changed: Invoice = {
    ...invoice,
    ...effectOf(entry, act, at),
    status: to_status,
    sequence: change.sequence,
    updated_at: at,
  };
  return { ...entry, invoice: changed, history: [...entry.history, change], change };
}

function nextStatus(invoice: Invoice, name: ChangeName): InvoiceStatus {
  const next = CHANGES[name].moves[invoice.status];
  if (!next) throw new Error(`an invoice that is ${invoice.status} does not know ${name}`);
  const is_back = next === "open" && CHANGES[name].restores_acceptance === true;
  return is_back && invoice.was_accepted ? "accepted" : next;
}

/** What a change sets besides the state. */
function effectOf({ invoice, history }: KeyedInvoice, act: Act, at: Date): Partial<Invoice> {
  const { name, input, request_id = invoice.request_id, tracked, withdrawn = [] } = act;
  switch (name) {
    case "create":
      return { request_id };
    case "c2fPaymentFailed":
      return { request_id, payment: null, offramp_id: null };
    case "accept":
      return { was_accepted: true };
    case "markUnpaid":
      return { was_accepted: false, payment: null, offramp_id: null };
    case "changePaymentOptions": {
      const { paymentOptions = invoice.document.paymentOptions } = input ?? {};
      return { was_accepted: false, document: { ...invoice.document, paymentOptions } };
    }
    case "trackTransaction":
      return tracked ? { tracked: [...invoice.tracked, tracked] } : {};
    case "paid":
      return tracked && invoice.payment
        ? { payment: { ...invoice.payment, ...onChain(tracked) } }
        : {};
    case "withdrawTransfers":
      return {
        payment: withoutTransfers(invoice, history, withdrawn),
        tracked: withoutShown(invoice.tracked, withdrawn),
      };
    case "dropClaim":
      return {
        payment: invoice.status === "declaredPaid" ? null : withoutClaim(invoice.payment, history),
        tracked: withoutShown(invoice.tracked, withdrawn),
      };
    case "declareSentPayment":
    case "declareReceivedPayment":
      return declaredPayment(invoice, act, at);
    default:
      return {};
  }
}

function declaredPayment(invoice: Invoice, act: Act, at: Date): Partial<Invoice> {
  const { input, offramp_id = invoice.offramp_id } = act;
  const payment: Payment = {
    payment_date: at.toISOString(),
    is_manually_paid: act.offramp_id === undefined,
    ...(input?.amount ? { amount: input.amount } : {}),
    ...(input?.txLink ? { tx_link: input.txLink } : {}),
    ...(input?.txHash ? { tx_hash: input.txHash, chain: input.chain! } : {}),
  };
  return { offramp_id, payment: { ...invoice.payment, ...payment } };
}

/** What the seller has confirmed stays: only the transfer was wrong that the buyer had named. */
function withoutClaim(payment: Payment | null, history: readonly InvoiceChange[]): Payment | null {
  if (!payment) return null;
  const { tx_hash: _, chain: __, tx_link, ...confirmed } = payment;
  const linked = history.findLast(({ input }) => input?.txLink !== undefined)?.input;
  const is_of_claim = linked?.txHash !== undefined;
  return { ...confirmed, ...(tx_link && !is_of_claim ? { tx_link } : {}) };
}

/** What was reported as paid by one of these transfers is paid as its seller says. */
function withoutTransfers(
  { status, payment }: Invoice,
  history: readonly InvoiceChange[],
  withdrawn: readonly TrackedTransaction[],
): Payment | null {
  const is_of_them = withdrawn.some(
    ({ chain, tx_id }) => chain === payment?.chain && tx_id === payment.tx_hash,
  );
  // As long as it is only declared, its claim still names the transaction.
  if (!is_of_them || status === "declaredPaid") return payment;
  const confirmed = history.findLast(({ name }) => name === "declareReceivedPayment");
  const manual = confirmed ? { payment_date: confirmed.at.toISOString() } : {};
  return { ...withoutClaim(payment, history)!, ...manual, is_manually_paid: true };
}

function withoutShown(
  shown: readonly TrackedTransaction[],
  withdrawn: readonly TrackedTransaction[],
): readonly TrackedTransaction[] {
  return shown.filter((tracked) => !withdrawn.some((other) => isSameTransfer(tracked, other)));
}

function onChain({ tx_id, chain, mined_at }: TrackedTransaction): Payment {
  return { payment_date: mined_at, is_manually_paid: false, tx_hash: tx_id, chain };
}

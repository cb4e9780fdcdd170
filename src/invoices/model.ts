import type { Chain } from "../catalogue/chains.ts";
import type { InvoiceEvent } from "../events/model.ts";
import type { Problem } from "../platform/errors.ts";
import { digestOf } from "../platform/sealing/seal.ts";
import type { InvoiceDocument, PaymentOption } from "./document.ts";

export const INVOICE_FORMATS = ["svc_invoice", "svc_salary"] as const;
export type InvoiceFormat = (typeof INVOICE_FORMATS)[number];

export const INVOICE_STATUSES = [
  "draft",
  "scheduled",
  "open",
  "accepted",
  "declaredPaid",
  "paid",
  "canceled",
  "rejected",
] as const;
export type InvoiceStatus = (typeof INVOICE_STATUSES)[number];

/** Shown on the page and in the PDF. */
export const STATUS_WORDS: Readonly<Record<InvoiceStatus, string>> = {
  draft: "Draft",
  scheduled: "Scheduled",
  open: "Open",
  accepted: "Accepted",
  declaredPaid: "Payment declared",
  paid: "Paid",
  canceled: "Canceled",
  rejected: "Rejected",
};

export type PartyRole = "seller" | "buyer";

/** The changes that a caller may request. */
export const CHANGE_TYPES = [
  "accept",
  "reject",
  "cancel",
  "declareSentPayment",
  "declareReceivedPayment",
  "markUnpaid",
  "changePaymentOptions",
] as const;
export type ChangeType = (typeof CHANGE_TYPES)[number];

/** Everything that happens to an invoice; from `paid` on, only the service itself does it. */
export type ChangeName =
  | ChangeType
  | "create"
  | "paid"
  | "c2fPaymentFailed"
  | "trackTransaction"
  | "withdrawTransfers"
  | "dropClaim";

/** The issuer created the invoice: the seller, or for a salary the employer, who is its buyer. */
type Party = PartyRole | "issuer" | "service";

type Rule = {
  by: Party;
  /** Whether it returns to `accepted` instead of `open` if the buyer had accepted before. */
  restores_acceptance?: boolean;
  moves: Readonly<Partial<Record<InvoiceStatus, InvoiceStatus>>>;
};

/** Who may make which change in which state. `paid` repeats `declareReceivedPayment`. */
export const CHANGES: Readonly<Record<ChangeName, Rule>> = {
  create: { by: "issuer", moves: { draft: "open" } },
  accept: { by: "buyer", moves: { open: "accepted" } },
  reject: { by: "buyer", moves: { open: "rejected", accepted: "rejected" } },
  cancel: {
    by: "issuer",
    moves: { draft: "canceled", scheduled: "canceled", open: "canceled", accepted: "canceled" },
  },
  declareSentPayment: { by: "buyer", moves: { open: "declaredPaid", accepted: "declaredPaid" } },
  declareReceivedPayment: {
    by: "seller",
    moves: { open: "paid", accepted: "paid", declaredPaid: "paid" },
  },
  markUnpaid: { by: "seller", moves: { paid: "open" } },
  // The buyer had accepted other options, so it returns to `open`.
  changePaymentOptions: { by: "seller", moves: { open: "open", accepted: "open" } },
  paid: { by: "service", moves: { declaredPaid: "paid", paid: "paid" } },
  // An invoice marked unpaid before its payment was returned keeps its state.
  c2fPaymentFailed: {
    by: "service",
    restores_acceptance: true,
    moves: { open: "open", accepted: "accepted", declaredPaid: "open", paid: "open" },
  },
  trackTransaction: { by: "service", moves: { declaredPaid: "declaredPaid", paid: "paid" } },
  // It showed transfers that are not its own; nothing else changes.
  withdrawTransfers: {
    by: "service",
    moves: {
      ...{ open: "open", accepted: "accepted", declaredPaid: "declaredPaid", paid: "paid" },
      ...{ canceled: "canceled", rejected: "rejected" },
    },
  },
  dropClaim: {
    by: "service",
    restores_acceptance: true,
    moves: {
      ...{ open: "open", accepted: "accepted", declaredPaid: "open", paid: "paid" },
      ...{ canceled: "canceled", rejected: "rejected" },
    },
  },
};

/** The state after each event, for an invoice that was not accepted before. */
export const STATUS_AFTER: Readonly<Record<InvoiceEvent, InvoiceStatus>> = {
  create: "open",
  accept: "accepted",
  cancel: "canceled",
  reject: "rejected",
  declareSentPayment: "declaredPaid",
  declareReceivedPayment: "paid",
  paid: "paid",
  c2fPaymentFailed: "open",
};

/** The optional input of a change. */
export type ChangeInput = {
  note?: string;
  amount?: string;
  txLink?: string;
  /** A claim: the transfer that pays, with the chain as the payment option spells it. */
  txHash?: string;
  chain?: string;
  /** Over the invoice's id, by the address that paid. */
  signature?: string;
  paymentOptions?: PaymentOption[];
};

export type InvoiceChange = {
  id: string;
  sequence: number;
  name: ChangeName;
  from_status: InvoiceStatus | null;
  to_status: InvoiceStatus;
  actor_account_id: string | null;
  input: ChangeInput | null;
  at: Date;
};

/** How it was paid. */
export type Payment = {
  payment_date: string;
  is_manually_paid: boolean;
  amount?: string;
  tx_link?: string;
  tx_hash?: string;
  chain?: string;
};

/** A transfer that pays an invoice, as the invoice shows it. */
export type TrackedTransaction = {
  chain: Chain;
  tx_id: string;
  log_index: number;
  token: string;
  /** Millionths of the token, as text. */
  amount: string;
  from: string;
  to: string;
  mined_at: string;
};

export type Invoice = {
  /** The owner, who created it. */
  account_id: string;
  id: string;
  format: InvoiceFormat;
  status: InvoiceStatus;
  request_id: string | null;
  number_index: Buffer;
  currency: string;
  /** Minor units. */
  total: bigint;
  total_without_tax: bigint;
  creation_date: Date;
  due_at: Date | null;
  document: InvoiceDocument;
  party_index: Buffer;
  shared_with: string | null;
  shared_from: number | null;
  was_accepted: boolean;
  payment: Payment | null;
  /** Transfers on chain that were found to pay it. */
  tracked: readonly TrackedTransaction[];
  offramp_id: string | null;
  next_occurrence_at: Date | null;
  occurrences: number;
  template_id: string | null;
  occurrence: number | null;
  app_id: string | null;
  sequence: number;
  created_at: Date;
  updated_at: Date;
};

/** An invoice with its history and its account's key, which encrypts personal data. */
export type KeyedInvoice = { invoice: Invoice; history: readonly InvoiceChange[]; key: Buffer };

export function ownRole(format: InvoiceFormat): PartyRole {
  return format === "svc_salary" ? "buyer" : "seller";
}

export function otherRole(role: PartyRole): PartyRole {
  return role === "seller" ? "buyer" : "seller";
}

/** Why a party in this role cannot make the change now. */
export function changeProblems(
  invoice: Pick<Invoice, "format" | "status">,
  name: ChangeName,
  role: PartyRole,
  /** Whether an offramp pays it now. */
  is_paying = false,
): Problem[] {
  const { by, moves } = CHANGES[name];
  const needed = by === "issuer" ? ownRole(invoice.format) : by;
  if (needed !== role) return [notNow(name, `Only the ${needed} can do this.`)];
  // A manual declaration would hide the offramp's progress, and its failure.
  if (is_paying && BLOCKED_WHILE_PAYING.includes(name)) {
    const message = "An offramp is paying this invoice; wait until it has paid or failed.";
    return [notNow(name, message)];
  }
  if (moves[invoice.status]) return [];
  return [notNow(name, `This change is not possible while the invoice is ${invoice.status}.`)];
}

/** A change that the invoice's state or the caller's role does not allow. */
export function notNow(name: ChangeName, message: string): Problem {
  return { field: name === "create" ? "invoice_id" : "type", code: "invalid_transition", message };
}

const BLOCKED_WHILE_PAYING: readonly ChangeName[] = [
  "declareSentPayment",
  "declareReceivedPayment",
  "changePaymentOptions",
];

/** Drafts and templates are not shared: the other party is not notified of them. */
export function isIssued(status: InvoiceStatus): boolean {
  return status !== "draft" && status !== "scheduled";
}

/** Every non-personal field: what the digest in the last change covers. */
export function digestFacts(invoice: Omit<Invoice, "document" | "payment" | "tracked">): Buffer {
  return digestOf(
    invoice.account_id,
    invoice.id,
    invoice.format,
    invoice.status,
    invoice.request_id,
    invoice.number_index.toString("base64"),
    invoice.currency,
    invoice.total,
    invoice.total_without_tax,
    invoice.creation_date.toISOString(),
    invoice.due_at?.toISOString() ?? null,
    invoice.party_index.toString("base64"),
    invoice.was_accepted ? 1 : 0,
    invoice.offramp_id,
    invoice.template_id,
    invoice.occurrence,
    invoice.app_id,
    invoice.sequence,
    invoice.created_at.toISOString(),
    invoice.updated_at.toISOString(),
  );
}

import { digestOf } from "../platform/sealing/seal.ts";
import type { InvoiceDocument } from "./document.ts";

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

/** For people: on the page and in the PDF. */
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

export type Role = "seller" | "buyer";

/** What a caller may ask for. */
export const CHANGE_TYPES = [
  "accept",
  "reject",
  "cancel",
  "declareSentPayment",
  "declareReceivedPayment",
  "markUnpaid",
] as const;
export type ChangeType = (typeof CHANGE_TYPES)[number];

/** Everything that happens to an invoice; the last two only the service itself can do. */
export type ChangeName = ChangeType | "create" | "paid" | "c2fPaymentFailed";

/** The issuer made the invoice: the seller, or of a salary the employer, who is its buyer. */
export type Party = Role | "issuer" | "service";

type Rule = {
  by: Party;
  /** From where to where; a payment that fails may lead to a state it had earlier. */
  moves: Readonly<Partial<Record<InvoiceStatus, InvoiceStatus>>>;
};

/** Who may do what, when. `paid` repeats what `declareReceivedPayment` said. */
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
  paid: { by: "service", moves: { paid: "paid" } },
  // What was marked unpaid before its payment came back stays as it is.
  c2fPaymentFailed: {
    by: "service",
    moves: { open: "open", accepted: "accepted", declaredPaid: "open", paid: "open" },
  },
};

/** What may come with a change. */
export type ChangeInput = { note?: string; amount?: string; txLink?: string };

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
};

export type Invoice = {
  /** The owner, who made it. */
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

/** An invoice with its past and with the key of its account, which seals what is personal. */
export type KeyedInvoice = { invoice: Invoice; history: readonly InvoiceChange[]; key: Buffer };

export function ownRole(format: InvoiceFormat): Role {
  return format === "svc_salary" ? "buyer" : "seller";
}

export function otherRole(role: Role): Role {
  return role === "seller" ? "buyer" : "seller";
}

/** Why somebody in this role may not make the change now; null when they may. */
export function refusalOf(
  invoice: Pick<Invoice, "format" | "status">,
  name: ChangeName,
  role: Role,
  /** Whether an offramp pays it now. */
  is_paying = false,
): string | null {
  const { by, moves } = CHANGES[name];
  const needed = by === "issuer" ? ownRole(invoice.format) : by;
  if (needed !== role) return `Only the ${needed} can do this.`;
  // Said by hand, it would hide what becomes of the offramp, and its failure.
  const is_declared = name === "declareSentPayment" || name === "declareReceivedPayment";
  if (is_declared && is_paying) {
    return "An offramp pays this invoice; its progress declares the payment by itself.";
  }
  if (moves[invoice.status]) return null;
  return `This is not possible while the invoice is ${invoice.status}.`;
}

/** A draft and a template are nobody else's matter: nothing is told of them. */
export function isIssued(status: InvoiceStatus): boolean {
  return status !== "draft" && status !== "scheduled";
}

export type Act = {
  name: ChangeName;
  actor_account_id: string | null;
  input: ChangeInput | null;
  /** For a new request id, where the change gives one. */
  request_id?: string;
  /** The offramp by which it is paid. */
  offramp_id?: string;
};

/** The invoice after a change that its rule allows, and the change as its history keeps it. */
export function applyChange(
  entry: KeyedInvoice,
  act: Act,
  id: string,
  now: Date,
): KeyedInvoice & { change: InvoiceChange } {
  const { invoice } = entry;
  const to_status = nextStatus(invoice, act.name);
  // Receivers go by the event's time: it must rise with every change of a record.
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
    ...effectOf(invoice, act, at),
    status: to_status,
    sequence: change.sequence,
    updated_at: at,
  };
  return { ...entry, invoice: changed, history: [...entry.history, change], change };
}

function nextStatus(invoice: Invoice, name: ChangeName): InvoiceStatus {
  const next = CHANGES[name].moves[invoice.status];
  if (!next) throw new Error(`an invoice that is ${invoice.status} does not know ${name}`);
  return name === "c2fPaymentFailed" && invoice.was_accepted ? "accepted" : next;
}

/** What a change means beside the state. */
function effectOf(invoice: Invoice, act: Act, at: Date): Partial<Invoice> {
  const { name, input, request_id = invoice.request_id, offramp_id = invoice.offramp_id } = act;
  if (name === "create" || name === "c2fPaymentFailed") {
    return name === "create" ? { request_id } : { request_id, payment: null, offramp_id: null };
  }
  if (name === "accept") return { was_accepted: true };
  if (name === "markUnpaid") return { was_accepted: false, payment: null, offramp_id: null };
  if (name !== "declareReceivedPayment" && name !== "declareSentPayment") return {};
  const payment: Payment = {
    payment_date: at.toISOString(),
    is_manually_paid: act.offramp_id === undefined,
    ...(input?.amount ? { amount: input.amount } : {}),
    ...(input?.txLink ? { tx_link: input.txLink } : {}),
  };
  return { offramp_id, payment: { ...invoice.payment, ...payment } };
}

/** Everything of the record that is not personal: what its last change vouches for. */
export function digestFacts(invoice: Omit<Invoice, "document" | "payment">): Buffer {
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

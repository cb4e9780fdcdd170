import type { Static } from "typebox";
import { upperAscii } from "../catalogue/text.ts";
import type { Mode } from "../platform/config/config.ts";
import { compileRender } from "../platform/http/render.ts";
import { type PartyInfo, VCARD_NAMES } from "./document.ts";
import { linkToken } from "./links.ts";
import {
  type InvoiceChange,
  isIssued,
  type KeyedInvoice,
  type PartyRole,
  type Payment,
  type TrackedTransaction,
} from "./model.ts";
import { compactObject } from "./read-fields.ts";
import { InvoiceRecord } from "./schemas.ts";

const writeRecord = compileRender(InvoiceRecord);

/**
 * Renders invoices for a reader in `role`. The links open a page on which their bearer can act for
 * the party without an account, so read-only callers do not get them.
 */
export type InvoiceRenderer = ReturnType<typeof createInvoiceRenderer>;

export function createInvoiceRenderer(deps: {
  public_url: () => string;
  index_key: Buffer;
  mode: Mode;
}) {
  const toRecord = (
    { invoice, history }: KeyedInvoice,
    role: PartyRole,
    may_act: boolean,
  ): Static<typeof InvoiceRecord> => {
    const { version, tags = [], miscellaneous = {}, ...document } = invoice.document;
    const { buyerInfo, sellerInfo } = document;
    const { payment } = invoice;
    return {
      ...document,
      buyerInfo: withBothSpellings(buyerInfo),
      sellerInfo: withBothSpellings(sellerInfo),
      id: invoice.id,
      requestId: invoice.request_id,
      meta: { format: invoice.format, version },
      status: invoice.status,
      type: deps.mode === "live" ? "live" : "test",
      role,
      createdBy: invoice.account_id,
      currency: invoice.currency,
      total: String(invoice.total),
      totalWithoutTax: String(invoice.total_without_tax),
      tags,
      miscellaneous,
      ...(document.recurringRule ? { nextOccurrence: nextOccurrence(invoice) } : {}),
      events: history.map(({ name, actor_account_id, at, input }) => ({
        name,
        userId: actor_account_id,
        date: at.toISOString(),
        ...(input?.note ? { note: input.note } : {}),
      })),
      paymentMetadata: payment ? toMetadata(payment) : {},
      trackedTransactions: invoice.tracked.map(toTracked),
      invoiceLinks: may_act ? linksOf(invoice) : null,
      createdAt: invoice.created_at.toISOString(),
      updatedAt: invoice.updated_at.toISOString(),
    };
  };
  const linksOf = (invoice: KeyedInvoice["invoice"]) => {
    if (!isIssued(invoice.status) || invoice.request_id === null) return null;
    const view = `${deps.public_url()}/invoices/view/${linkToken(deps.index_key, invoice)}`;
    const pay = `${view}?enablePayment=true`;
    return { view, pay, signUpAndPay: `${pay}&signUp=true` };
  };
  const write = (entry: KeyedInvoice, role: PartyRole, may_act = true) =>
    writeRecord(toRecord(entry, role, may_act));

  return {
    invoice: write,
    list: (invoices: readonly string[], has_more: boolean) =>
      `{"invoices":[${invoices.join(",")}],"has_more":${has_more}}`,
    /**
     * The webhook event (docs/reference/webhooks.md); without links, since read-only applications
     * receive it too.
     */
    event: (change: InvoiceChange, entry: KeyedInvoice, role: PartyRole) =>
      `{"variant":${JSON.stringify(entry.invoice.format)},"event":${JSON.stringify(change.name)},` +
      `"timestamp":${change.at.getTime()},"invoice":${write(entry, role, false)}}`,
  };
}

function toMetadata(payment: Payment) {
  return {
    paymentDate: payment.payment_date,
    isManuallyPaid: payment.is_manually_paid,
    ...(payment.amount ? { amount: payment.amount } : {}),
    ...(payment.tx_link ? { txLink: payment.tx_link } : {}),
    ...(payment.tx_hash ? { txHash: payment.tx_hash, chainName: payment.chain! } : {}),
  };
}

function toTracked({ tx_id, log_index, token, mined_at, ...rest }: TrackedTransaction) {
  const named = { txHash: tx_id, logIndex: log_index, currency: upperAscii(token) };
  return { ...rest, ...named, date: mined_at };
}

/** A canceled template creates no more invoices. */
function nextOccurrence({ status, next_occurrence_at }: KeyedInvoice["invoice"]): string | null {
  return status === "scheduled" && next_occurrence_at ? next_occurrence_at.toISOString() : null;
}

/** Addresses are returned under the older vCard names as well. */
function withBothSpellings(party: PartyInfo): PartyInfo {
  const { address } = party;
  if (!address) return party;
  const older = Object.entries(VCARD_NAMES).map(([name, spelling]) => [
    spelling,
    address[name as keyof typeof VCARD_NAMES],
  ]);
  return { ...party, address: { ...address, ...compactObject(Object.fromEntries(older)) } };
}

import { INVOICE_EVENTS, type InvoiceEvent } from "../events/model.ts";
import { type NewEvent, recordEvents } from "../events/record-events.ts";
import type { Transaction } from "../platform/db/database.ts";
import { newId } from "../platform/ids.ts";
import { enqueueTasks } from "../platform/tasks/tasks.ts";
import { type Act, applyChange } from "./apply-change.ts";
import { insertChanges, insertRequestIds } from "./change-store.ts";
import { updateFreedOfSent, updateViews } from "./counterparty/view-store.ts";
import { newRequestId } from "./links.ts";
import {
  type ChangeName,
  digestFacts,
  type InvoiceChange,
  type InvoiceStatus,
  isIssued,
  type KeyedInvoice,
  otherRole,
  ownRole,
} from "./model.ts";
import { claimsOf } from "./payments/claim-model.ts";
import { deleteClaims, insertClaims } from "./payments/claim-store.ts";
import type { ActedBy } from "./record-acts.ts";
import type { InvoiceRenderer } from "./render.ts";
import { updateInvoices } from "./store.ts";
import { CHECK_CLAIM_TASK, SYNC_COUNTERPARTY_TASK } from "./task-kinds.ts";

const CLAIM_CHANGES: readonly ChangeName[] = ["declareSentPayment", "declareReceivedPayment"];

export type ChangedInvoice = ReturnType<typeof applyChange> & {
  change_key: Buffer | null;
  /** Whoever made it for an account that does not own the invoice. */
  acted_by: ActedBy | null;
};

/** The invoice after a change; assigns a new requestId where the change needs one. */
export function changeInvoice(
  entry: KeyedInvoice,
  act: Act,
  now: Date,
  change_key: Buffer | null = null,
  acted_by: ActedBy | null = null,
): ChangedInvoice {
  const gets_request_id = act.name === "create" || act.name === "c2fPaymentFailed";
  const request = gets_request_id ? { request_id: newRequestId(entry.invoice) } : {};
  return { ...applyChange(entry, { ...act, ...request }, newId(now), now), change_key, acted_by };
}

/**
 * Writes locked invoices and everything that their changes imply under the owner's account:
 * history, one event each, the owner's list. A task syncs the other party's account. An invoice
 * that changed twice appears twice, in order.
 */
export function recordChanges(
  tx: Transaction,
  renderer: InvoiceRenderer,
  changes: readonly ChangedInvoice[],
  now: Date,
): void {
  if (changes.length === 0) return;
  const last = [...new Map(changes.map((entry) => [entry.invoice.id, entry])).values()];
  updateInvoices(tx, last);
  updateViews(
    tx,
    last.map(({ invoice }) => invoice),
  );
  // An invoice marked unpaid can be paid again: its claim and its sent offramp no longer count.
  const unpaid = changes.filter(({ change }) => change.name === "markUnpaid");
  deleteClaims(
    tx,
    unpaid.map(({ invoice }) => invoice),
  );
  // What it shows without having used it is not its own: another invoice may use it.
  const showing = unpaid.filter(({ invoice }) => invoice.tracked.length > 0);
  enqueueTasks(
    tx,
    CHECK_CLAIM_TASK,
    showing.map(({ invoice }) => invoice),
    now,
  );
  updateFreedOfSent(
    tx,
    unpaid.map(({ invoice: { account_id, id }, change: { at } }) => ({ account_id, id, at })),
  );
  recordHistory(tx, renderer, changes, now);
}

/** History, requestIds and events of changes, and the tasks that sync the other party. */
export function recordHistory(
  tx: Transaction,
  renderer: InvoiceRenderer,
  changes: readonly ChangedInvoice[],
  now: Date,
): void {
  if (changes.length === 0) return;
  insertChanges(
    tx,
    changes.map((entry) => ({ ...entry, other_body: otherBody(renderer, entry) })),
  );
  insertRequestIds(
    tx,
    changes
      .filter(({ change }) => change.name === "create" || change.name === "c2fPaymentFailed")
      .map(({ invoice: { account_id, id, request_id } }) => ({
        ...{ account_id, invoice_id: id },
        request_id: request_id!,
      })),
  );
  recordEvents(
    tx,
    changes.flatMap((entry) => ownEvent(renderer, entry)),
    now,
  );
  insertClaims(tx, changes.flatMap(claimsOf));
  // A claim is checked when it is created, and when the seller confirms it.
  const claimed = changes.filter(({ invoice, change }) => {
    return CLAIM_CHANGES.includes(change.name) && invoice.payment?.tx_hash !== undefined;
  });
  const claimed_invoices = claimed.map(({ invoice }) => invoice);
  enqueueTasks(tx, CHECK_CLAIM_TASK, claimed_invoices, now);
  const shared = changes.map(({ invoice }) => invoice).filter((invoice) => invoice.shared_with);
  const by_id = new Map(shared.map((invoice) => [invoice.id, invoice]));
  enqueueTasks(tx, SYNC_COUNTERPARTY_TASK, [...by_id.values()], now);
}

function otherBody(renderer: InvoiceRenderer, entry: ChangedInvoice): string | null {
  const { invoice, change } = entry;
  if (!invoice.shared_with) return null;
  return renderer.event(change, entry, otherRole(ownRole(invoice.format)));
}

/** Drafts, templates and changes without an event in the interface are not reported. */
export function eventName(change: {
  name: string;
  from_status: InvoiceStatus | null;
}): InvoiceEvent | null {
  const is_reported = change.from_status === null || isIssued(change.from_status);
  const name = INVOICE_EVENTS.find((known) => known === change.name);
  return is_reported && name ? name : null;
}

function ownEvent(renderer: InvoiceRenderer, entry: ChangedInvoice): NewEvent[] {
  const { invoice, change, key } = entry;
  const role = ownRole(invoice.format);
  const audience = { role, app_id: invoice.app_id, counterpart_account_id: invoice.shared_with };
  return toEvents(invoice, change, audience, {
    account_id: invoice.account_id,
    key,
    facts: digestFacts(invoice),
    body: renderer.event(change, entry, role),
  });
}

/** The event of a change for one party; none if the change is not reported. */
export function toEvents(
  { id: record_id }: { id: string },
  change: Pick<InvoiceChange, "id" | "sequence" | "name" | "from_status" | "to_status">,
  audience: Omit<NonNullable<NewEvent["invoice"]>, "change_id">,
  party: Pick<NewEvent, "account_id" | "key" | "facts" | "body">,
): NewEvent[] {
  const name = eventName(change);
  if (!name) return [];
  const { id: change_id, sequence, from_status, to_status } = change;
  const moved = { name, record_id, sequence, from_status, to_status };
  return [{ ...party, ...moved, subject_id: null, invoice: { change_id, ...audience } }];
}

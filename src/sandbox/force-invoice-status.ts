import { findBilledAccounts } from "../accounts/billing-email-store.ts";
import { limitProblems } from "../invoices/change-limits.ts";
import type { SyncDeps } from "../invoices/counterparty/sync-counterparty.ts";
import { makePayable } from "../invoices/create-invoices.ts";
import {
  CHANGE_TYPES,
  CHANGES,
  type ChangeName,
  INVOICE_STATUSES,
  type InvoiceStatus,
  type KeyedInvoice,
} from "../invoices/model.ts";
import { type ChangedInvoice, changeInvoice, recordChanges } from "../invoices/record-changes.ts";
import { type InvoiceKey, lockInvoices, openInvoices } from "../invoices/store.ts";
import { Refusal } from "../platform/errors.ts";
import { findPath } from "./find-path.ts";

/** The parties' own actions, and making a draft payable; a failed payment needs an offramp. */
const STEPS: readonly ChangeName[] = [
  "create",
  ...CHANGE_TYPES.filter((type) => type !== "changePaymentOptions"),
];
const MOVES = Object.fromEntries(
  INVOICE_STATUSES.map((from) => [from, STEPS.flatMap((name) => CHANGES[name].moves[from] ?? [])]),
) as unknown as Readonly<Record<InvoiceStatus, readonly InvoiceStatus[]>>;

/**
 * Moves an invoice to a state by the shortest legal path, each step made by a party that may make
 * it. Null when there is no path. Throws where the change was made too often.
 */
export async function forceInvoiceStatus(
  { database, keyring, renderer }: SyncDeps,
  key: InvoiceKey,
  status: InvoiceStatus,
  now: Date,
): Promise<KeyedInvoice | null> {
  return database.transaction(async (tx) => {
    const rows = await lockInvoices(tx, [key]);
    const [entry] = await openInvoices(tx, keyring, rows);
    const path = entry ? findPath(MOVES, entry.invoice.status, status) : null;
    if (!entry || !path) return null;
    const billed = await findBilledAccounts(tx, [entry.invoice.party_index]);
    const other = billed.get(entry.invoice.party_index.toString("base64")) ?? null;
    const changes: ChangedInvoice[] = [];
    let current: KeyedInvoice = entry;
    for (const next of path) {
      const from = current.invoice.status;
      const name = STEPS.find((step) => CHANGES[step].moves[from] === next)!;
      const act = { name, input: INPUT, actor_account_id: null };
      const problems = limitProblems(current.invoice, current.history, act);
      if (problems.length > 0) throw Refusal.of([{ ...problems[0]!, field: FIELD }]);
      const changed =
        name === "create"
          ? makePayable(current, other, key.account_id, now).change!
          : changeInvoice(current, act, now);
      changes.push(changed);
      current = changed;
    }
    recordChanges(tx, renderer, changes, now);
    return current;
  });
}

const FIELD = "invoice.status";
const INPUT = { note: "Changed on request in the sandbox." };

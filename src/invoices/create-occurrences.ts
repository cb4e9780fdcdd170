import { findBilledAccounts } from "../access/billing-email-store.ts";
import type { Transaction } from "../platform/db/database.ts";
import type { TaskSet } from "../platform/tasks/task-set.ts";
import type { CarryDeps } from "./carry-changes.ts";
import { type CreatedInvoice, makePayable, newInvoice, recordInvoices } from "./create-invoices.ts";
import type { InvoiceDocument } from "./document.ts";
import { hashNumber } from "./links.ts";
import type { Invoice, KeyedInvoice } from "./model.ts";
import { changeInvoice, recordChanges } from "./record-changes.ts";
import { occurrenceAfter, parseRecurrence } from "./recurrence.ts";
import {
  findTakenNumbers,
  lockInvoices,
  numberKey,
  openInvoices,
  updateInvoices,
} from "./store.ts";
import { updateViews } from "./view-store.ts";

/** More wait for the next turn, so that no transaction grows without end. */
const OCCURRENCES_AT_ONCE_MAX = 50;
const NUMBERS_TRIED_MAX = 100;
const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Makes what is due of templates, in order. The template's row counts them under its lock, and the
 * database knows each number once: none is made twice, none left out.
 */
export async function createOccurrences(deps: CarryDeps, set: TaskSet): Promise<void> {
  for (const task of set.tasks) {
    await deps.database.transaction(async (tx) => {
      const tasks = await set.lock(tx, [task]);
      if (tasks.length === 0) return;
      const key = { account_id: task.account_id, id: task.record_id };
      const rows = await lockInvoices(tx, [key]);
      const [template] = await openInvoices(tx, deps.keyring, rows);
      const next_at = template ? await createDue(tx, deps, template, set.now) : null;
      if (next_at) set.repeat(tx, tasks, next_at);
      else set.finish(tx, tasks);
    });
  }
}

/** Returns when the next one is due; null when there is none. */
async function createDue(
  tx: Transaction,
  deps: CarryDeps,
  template: KeyedInvoice,
  now: Date,
): Promise<Date | null> {
  const { invoice } = template;
  if (invoice.status !== "scheduled") return null;
  const rule = parseRecurrence(invoice.document.recurringRule!, invoice.created_at);
  if (!("recurrence" in rule)) throw new Error("the rule of a template can no longer be read");
  const billed = await findBilledAccounts(tx, [invoice.party_index]);
  const found = billed.get(invoice.party_index.toString("base64")) ?? null;
  const shared_with = found === invoice.account_id ? null : found;
  const created: CreatedInvoice[] = [];
  let [next, occurrences] = [invoice.next_occurrence_at, invoice.occurrences];
  while (next && next <= now && created.length < OCCURRENCES_AT_ONCE_MAX) {
    occurrences += 1;
    const occurrence = await newOccurrence(tx, deps.index_key, template, occurrences, next, now);
    const entry = { invoice: occurrence, history: [], key: template.key };
    created.push(makePayable(entry, shared_with, invoice.account_id, now));
    next = occurrenceAfter(rule.recurrence, next);
  }
  recordInvoices(tx, deps, created, now);
  if (created.length > 0) {
    const moved = { ...invoice, next_occurrence_at: next, occurrences, updated_at: now };
    recordMoved(tx, deps, { ...template, invoice: moved }, now);
  }
  return next;
}

/** A template without another occurrence has come to its end: it is canceled, by nobody. */
function recordMoved(tx: Transaction, deps: CarryDeps, template: KeyedInvoice, now: Date): void {
  if (template.invoice.next_occurrence_at !== null) {
    updateInvoices(tx, [template]);
    updateViews(tx, [template.invoice]);
    return;
  }
  const act = { name: "cancel", actor_account_id: null, input: null } as const;
  recordChanges(tx, deps.renderer, [changeInvoice(template, act, now)], now);
}

async function newOccurrence(
  tx: Transaction,
  index_key: Buffer,
  template: KeyedInvoice,
  occurrence: number,
  at: Date,
  now: Date,
): Promise<Invoice> {
  const { invoice } = template;
  // In whole days: a due date is a day, whatever the time at which the template was made.
  const shift_ms = dayOf(at) - dayOf(invoice.creation_date);
  const { invoiceNumber, number_index } = await freeNumber(tx, index_key, invoice, occurrence);
  const { recurringRule: _, ...document } = invoice.document;
  const made = newInvoice(
    invoice.account_id,
    {
      ...invoice,
      creation_date: at,
      due_at: invoice.due_at && new Date(invoice.due_at.getTime() + shift_ms),
    },
    now,
    {
      document: shifted({ ...document, invoiceNumber, creationDate: at.toISOString() }, shift_ms),
      number_index,
      party_index: invoice.party_index,
      next_occurrence_at: null,
      app_id: invoice.app_id,
    },
  );
  return { ...made, template_id: invoice.id, occurrence };
}

/** The template's number and how manieth it is; somebody may have used that by hand. */
async function freeNumber(
  tx: Transaction,
  index_key: Buffer,
  { account_id, document }: Invoice,
  occurrence: number,
): Promise<{ invoiceNumber: string; number_index: Buffer }> {
  for (let attempt = 1; attempt <= NUMBERS_TRIED_MAX; attempt += 1) {
    const suffix = attempt === 1 ? "" : `-${attempt}`;
    const invoiceNumber = `${document.invoiceNumber}-${occurrence}${suffix}`;
    const number_index = hashNumber(index_key, account_id, invoiceNumber);
    const taken = await findTakenNumbers(tx, [{ account_id, number_index }]);
    if (!taken.has(numberKey(account_id, number_index))) return { invoiceNumber, number_index };
  }
  throw new Error("every number that this occurrence could have is taken");
}

function dayOf(time: Date): number {
  return Math.floor(time.getTime() / DAY_MS) * DAY_MS;
}

/** The same days to pay as the template gives. */
function shifted(document: InvoiceDocument, shift_ms: number): InvoiceDocument {
  const { paymentTerms } = document;
  if (!paymentTerms?.dueDate) return document;
  const due = new Date(new Date(paymentTerms.dueDate).getTime() + shift_ms).toISOString();
  const is_day = paymentTerms.dueDate.length === 10;
  const dueDate = is_day ? due.slice(0, 10) : due;
  return { ...document, paymentTerms: { ...paymentTerms, dueDate } };
}

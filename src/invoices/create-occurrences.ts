import { findBilledAccounts } from "../accounts/billing-email-store.ts";
import type { Clock } from "../platform/clock.ts";
import type { Transaction } from "../platform/db/database.ts";
import { DAY_MS } from "../platform/durations.ts";
import type { TaskSet } from "../platform/tasks/task-set.ts";
import type { Task } from "../platform/tasks/tasks.ts";
import type { SyncDeps } from "./counterparty/sync-counterparty.ts";
import { updateViews } from "./counterparty/view-store.ts";
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

export type OccurrenceDeps = SyncDeps & { clock: Pick<Clock, "now"> };

/** Limits the size of a transaction. */
const OCCURRENCES_AT_ONCE_MAX = 50;
/** The rest waits for the next set. */
const OCCURRENCES_PER_SET_MAX = 1_000;
const NUMBERS_TRIED_MAX = 100;

/** Templates processed in one set. */
export const TEMPLATES_PER_SET_MAX = 20;

/**
 * Creates the due invoices of templates. The template's row counts them under its lock, and each
 * number is unique in the database, so none is created twice or skipped. After an outage or a clock
 * jump many are due at once: they are created in order of time, across templates.
 */
export async function createOccurrences(deps: OccurrenceDeps, set: TaskSet): Promise<void> {
  const horizons = horizonsOf(set);
  let left = OCCURRENCES_PER_SET_MAX;
  let waiting = set.tasks.map((task) => ({ task, next_at: task.due_at }));
  while (waiting.length > 0) {
    waiting.sort((a, b) => a.next_at.getTime() - b.next_at.getTime());
    const [first, ...others] = waiting;
    const horizon = horizons.get(first!.task.account_id)!;
    const until = others[0] && others[0].next_at < horizon ? others[0].next_at : horizon;
    const { created, next_at } = await deps.database.transaction(async (tx) => {
      const tasks = await set.lock(tx, [first!.task]);
      if (tasks.length === 0) return { created: 0, next_at: null };
      const due = await createDue(tx, deps, first!.task, until);
      const is_more_due = due.next_at !== null && due.next_at <= horizon;
      if (is_more_due && left > due.created) return due;
      if (due.next_at) set.repeat(tx, tasks, due.next_at);
      else set.finish(tx, tasks);
      return { ...due, next_at: null };
    });
    left -= created;
    waiting = next_at ? [{ task: first!.task, next_at }, ...others] : others;
  }
}

/** How far each account is known: after its last task here, templates outside may be due first. */
function horizonsOf({ tasks, now, has_more }: TaskSet): Map<string, Date> {
  const horizons = new Map<string, Date>();
  // Those of an account are in order of due time.
  for (const { account_id, due_at } of tasks) horizons.set(account_id, has_more ? due_at : now);
  return horizons;
}

type Due = { created: number; next_at: Date | null };

/** Creates a template's invoices up to a time; returns when the next one is due, or null. */
async function createDue(
  tx: Transaction,
  deps: OccurrenceDeps,
  { account_id, record_id }: Task,
  until: Date,
): Promise<Due> {
  const rows = await lockInvoices(tx, [{ account_id, id: record_id }]);
  const [template] = await openInvoices(tx, deps.keyring, rows);
  if (template?.invoice.status !== "scheduled") return { created: 0, next_at: null };
  const { invoice } = template;
  const rule = parseRecurrence(invoice.document.recurringRule!, invoice.created_at);
  if (!("value" in rule)) throw new Error("the rule of a template can no longer be read");
  const billed = await findBilledAccounts(tx, [invoice.party_index]);
  const found = billed.get(invoice.party_index.toString("base64")) ?? null;
  const shared_with = found === invoice.account_id ? null : found;
  const created: CreatedInvoice[] = [];
  let [next, occurrences] = [invoice.next_occurrence_at, invoice.occurrences];
  while (next && next <= until && created.length < OCCURRENCES_AT_ONCE_MAX) {
    occurrences += 1;
    const number = await freeNumber(tx, deps.index_key, invoice, occurrences);
    // Not the beginning of the set: in a long one, ids of that time come before those of others.
    const made_at = deps.clock.now();
    const occurrence = newOccurrence(
      template,
      { ...number, occurrence: occurrences },
      next,
      made_at,
    );
    const entry = { invoice: occurrence, history: [], key: template.key };
    created.push(makePayable(entry, shared_with, invoice.account_id, made_at));
    next = occurrenceAfter(rule.value, next);
  }
  const now = deps.clock.now();
  recordInvoices(tx, deps, created, now);
  if (created.length > 0) {
    // Never earlier than before: event timestamps must increase.
    const updated_at = new Date(Math.max(now.getTime(), invoice.updated_at.getTime()));
    const moved = { ...invoice, next_occurrence_at: next, occurrences, updated_at };
    recordMoved(tx, deps, { ...template, invoice: moved }, now);
  }
  return { created: created.length, next_at: next };
}

/** A template without another occurrence has ended: it is canceled, without an actor. */
function recordMoved(tx: Transaction, deps: SyncDeps, template: KeyedInvoice, now: Date): void {
  if (template.invoice.next_occurrence_at !== null) {
    updateInvoices(tx, [template]);
    updateViews(tx, [template.invoice]);
    return;
  }
  const act = { name: "cancel", actor_account_id: null, input: null } as const;
  recordChanges(tx, deps.renderer, [changeInvoice(template, act, now)], now);
}

type OccurrenceNumber = { occurrence: number; invoiceNumber: string; number_index: Buffer };

function newOccurrence(
  { invoice }: KeyedInvoice,
  { occurrence, invoiceNumber, number_index }: OccurrenceNumber,
  at: Date,
  now: Date,
): Invoice {
  // In whole days: a due date is a day, whatever time the template was created at.
  const shift_ms = dayOf(at) - dayOf(invoice.creation_date);
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

/** The template's number and the count; a user may already have used that number. */
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

/** The same payment period as the template. */
function shifted(document: InvoiceDocument, shift_ms: number): InvoiceDocument {
  const { paymentTerms } = document;
  if (!paymentTerms?.dueDate) return document;
  const due = new Date(new Date(paymentTerms.dueDate).getTime() + shift_ms).toISOString();
  const is_day = paymentTerms.dueDate.length === 10;
  const dueDate = is_day ? due.slice(0, 10) : due;
  return { ...document, paymentTerms: { ...paymentTerms, dueDate } };
}

import type { Session, Transaction } from "../../platform/db/database.ts";
import {
  distinctSetOf,
  findRow,
  findRows,
  insertRows,
  lockRows,
  perAccount,
  setOf,
  updateRows,
} from "../../platform/db/rows.ts";
import type { InvoiceFormat, InvoiceStatus, KeyedInvoice, PartyRole } from "../model.ts";
import type { InvoiceKey } from "../store.ts";

/** An account's access to an invoice, and its role. */
export type InvoiceView = {
  account_id: string;
  /** The invoice's id, as its owner has it. */
  id: string;
  owner_account_id: string;
  role: PartyRole;
  sequence: number;
  offramp_id: string | null;
};

export function findView(
  session: Session,
  account_id: string,
  id: string,
): Promise<InvoiceView | undefined> {
  return findRow(session, "invoice_views", { account_id, id });
}

/** Views without a lock; absent ones are left out. `id` is the invoice's. */
export function findViews(session: Session, keys: readonly InvoiceKey[]): Promise<InvoiceView[]> {
  return findRows(session, "invoice_views", keys);
}

/**
 * Which of these invoices (by their buyers' accounts) an offramp pays now: it has the reservation
 * and is funded. An unfunded offramp may never be; if its deposit is received later, it is held as
 * for a canceled invoice. One that is known to be sent or returned does not count.
 */
export function listPaying(session: Session, keys: readonly InvoiceKey[]): Promise<InvoiceKey[]> {
  return perAccount(session, keys, (own) => {
    const wanted = distinctSetOf(session, "wanted", "account_id uuid, id uuid", own);
    return session.query<InvoiceKey>(
      `select v.account_id, v.id from invoice_views v
       join ${wanted.from} using (account_id, id)
       where coalesce((
         select s.kind not in ('sent', 'bounced') or s.applied_at is null
         from invoice_payment_steps s
         where s.account_id = ${wanted.accountIn("v")} and s.offramp_id = v.offramp_id
         order by s.step desc limit 1), false)`,
      wanted.values,
    );
  });
}

/** Locks views in key order; absent ones are left out. `id` is the invoice's. */
export function lockViews(tx: Session, keys: readonly InvoiceKey[]): Promise<InvoiceView[]> {
  return lockRows(tx, "invoice_views", keys);
}

/** Of an account's view that may not exist yet, so that its row cannot be locked. */
export async function lockFutureView(
  tx: Session,
  { account_id, id }: InvoiceKey,
): Promise<InvoiceView | undefined> {
  await tx.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [
    `invoice view ${account_id} ${id}`,
  ]);
  const [view] = await lockViews(tx, [{ account_id, id }]);
  return view;
}

type NewView = {
  account_id: string;
  role: PartyRole;
  sequence: number;
  entry: KeyedInvoice;
  /** When it became visible to the account, which may be long after its last change. */
  updated_at: Date;
};

export function insertViews(tx: Transaction, views: readonly NewView[]): void {
  const rows = views.map(({ entry: { invoice }, ...view }) => ({
    ...invoice,
    owner_account_id: invoice.account_id,
    ...view,
  }));
  insertRows(
    tx,
    "invoice_views",
    `account_id uuid, id uuid, owner_account_id uuid, role text, format text, status text,
     creation_date timestamptz, due_at timestamptz, sequence int, updated_at timestamptz`,
    rows,
    "on conflict do nothing",
  );
}

/** Writes how many changes of their invoices the accounts have received. */
export function updateViews(
  tx: Transaction,
  views: readonly (InvoiceKey & { status: string; sequence: number; updated_at: Date })[],
): void {
  const changes = "status text, sequence int, updated_at timestamptz";
  updateRows(tx, "invoice_views", "account_id uuid, id uuid", changes, views);
}

/** Reserves invoices for the offramps that pay them. */
export function updatePayingOfframps(
  tx: Transaction,
  payments: readonly (InvoiceKey & { offramp_id: string })[],
): void {
  updateRows(tx, "invoice_views", "account_id uuid, id uuid", "offramp_id uuid", payments);
}

/** Releases invoices from an offramp that will not pay them. */
export function updateFreed(
  tx: Transaction,
  payments: readonly (InvoiceKey & { offramp_id: string })[],
): void {
  if (payments.length === 0) return;
  const t = setOf(tx, "t", "account_id uuid, id uuid, offramp_id uuid", payments);
  tx.write(
    `update invoice_views set offramp_id = null
     from ${t.from}
     where invoice_views.account_id = t.account_id and invoice_views.id = t.id
       and invoice_views.offramp_id = t.offramp_id`,
    t.values,
  );
}

/**
 * Releases invoices marked unpaid from the offramp that had paid them, so that another may pay. An
 * offramp that is in progress, or was sent again, keeps its reservation: two would pay twice.
 */
export function updateFreedOfSent(
  tx: Transaction,
  unpaid: readonly (InvoiceKey & { at: Date })[],
): void {
  if (unpaid.length === 0) return;
  const t = setOf(tx, "t", "account_id uuid, id uuid, at timestamptz", unpaid);
  tx.write(
    `update invoice_views v set offramp_id = null
     from ${t.from}
     where v.account_id = t.account_id and v.id = t.id and coalesce((
       select s.kind = 'sent' and s.created_at <= t.at from invoice_payment_steps s
       where s.account_id = v.account_id and s.offramp_id = v.offramp_id
       order by s.step desc limit 1), false)`,
    t.values,
  );
}

export function insertWords(
  tx: Transaction,
  words: readonly { account_id: string; word: Buffer; invoice_id: string }[],
): void {
  const columns = "account_id uuid, word bytea, invoice_id uuid";
  insertRows(tx, "invoice_words", columns, words, "on conflict do nothing");
}

export type ViewFilter = {
  statuses: readonly InvoiceStatus[];
  /** Unpaid past this time; null disables the filter. */
  overdue_at: Date | null;
  role: PartyRole | null;
  format: InvoiceFormat | null;
  created_from: Date | null;
  created_to: Date | null;
  updated_since: Date | null;
  words: readonly Buffer[];
};

export type ViewPage = { below_id: string; skip: number; limit: number };

/** Newest first, one row more than the page size. */
export function listViews(
  session: Session,
  account_id: string,
  filter: ViewFilter,
  page: ViewPage,
): Promise<InvoiceView[]> {
  const values: unknown[] = [account_id, page.below_id, page.limit + 1, page.skip];
  const conditions: string[] = [];
  const when = (value: unknown, condition: (place: string) => string) => {
    if (value !== null) conditions.push(`and ${condition(`$${values.push(value)}`)}`);
  };
  when(filter.role, (at) => `role = ${at}`);
  when(filter.format, (at) => `format = ${at}`);
  when(filter.created_from, (at) => `creation_date >= ${at}`);
  when(filter.created_to, (at) => `creation_date <= ${at}`);
  when(filter.updated_since, (at) => `updated_at >= ${at}`);
  const states: string[] = [];
  if (filter.statuses.length > 0) states.push(`status = any($${values.push(filter.statuses)})`);
  if (filter.overdue_at) {
    const at = `$${values.push(filter.overdue_at)}`;
    states.push(`(status in ('open', 'accepted') and due_at < ${at})`);
  }
  if (states.length > 0) conditions.push(`and (${states.join(" or ")})`);
  const places = filter.words.map((word) => `$${values.push(word)}`);
  return session.query<InvoiceView>(
    `select invoice_views.* from ${viewsWith(places)}
     where account_id = $1 and id < $2 ${conditions.join(" ")}
     order by ${filter.words.length > 0 ? "found.invoice_id" : "id"} desc limit $3 offset $4`,
    values,
  );
}

/**
 * The views with all of these words. Invoices of the first are read in the order of the list, and
 * looked up among those of the others: the planner, which does not know how many have a word, could
 * compare all with all.
 */
function viewsWith([first, ...others]: readonly string[]): string {
  if (first === undefined) return "invoice_views";
  const hasOther = (word: string) => `and exists (select from invoice_words other
    where other.account_id = $1 and other.word = ${word}
      and other.invoice_id = invoice_words.invoice_id offset 0)`;
  return `(select invoice_id from invoice_words
      where account_id = $1 and word = ${first} and invoice_id < $2
        ${others.map(hasOther).join(" ")}
      order by invoice_id desc) as found
    cross join lateral (select * from invoice_views
      where account_id = $1 and id = found.invoice_id offset 0) as invoice_views`;
}

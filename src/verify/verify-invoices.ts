import { CHANGES, type ChangeName, digestFacts, type InvoiceStatus } from "../invoices/model.ts";
import { eventName } from "../invoices/record-changes.ts";
import type { InvoiceRow } from "../invoices/store.ts";
import type { Session } from "../platform/db/database.ts";
import { type Check, eachPage, inOrder } from "./checks.ts";

type ChangeRow = {
  invoice_id: string;
  sequence: number;
  id: string;
  name: ChangeName;
  from_status: InvoiceStatus | null;
  to_status: InvoiceStatus;
  facts: Buffer;
};

type EventRow = {
  record_id: string;
  sequence: number;
  name: string;
  change_id: string;
  to_status: string;
  facts: Buffer;
};

/** Every event belongs to an invoice that the account can see. */
const checkStrayEvents: Check = async (session, account_id) => {
  const [row] = await session.query<{ id: string; record_id: string }>(
    `select e.id, e.record_id from events e
     where e.account_id = $1 and e.change_id is not null and not exists (
       select from invoice_views v where v.account_id = $1 and v.id = e.record_id)
     order by e.id limit 1`,
    [account_id],
  );
  if (!row) return null;
  return `event ${row.id} of account ${account_id}: there is no invoice ${row.record_id}`;
};

/**
 * At most one live offramp per invoice: an offramp in progress occupies the invoice, and so does
 * one that was sent, unless the seller marked the invoice unpaid afterwards.
 */
const checkPlaces: Check = (session, account_id) =>
  eachPage<UnreservedOfframp>(
    session,
    account_id,
    `select o.id, o.invoice_id, o.status, v.owner_account_id,
       (select max(s.created_at) from invoice_payment_steps s
         where s.account_id = $1 and s.offramp_id = o.id and s.kind = 'sent') as sent_at
     from offramps o join invoice_views v on v.account_id = o.account_id and v.id = o.invoice_id
     where o.account_id = $1 and v.offramp_id is distinct from o.id
       and o.status not in ('failed', 'bounced') and o.id > $2 order by o.id limit $3`,
    async (offramps) => {
      const marked = await findMarkedUnpaid(session, offramps);
      const wrong = offramps.find(({ id, status, sent_at }) => {
        const marked_at = marked.get(id);
        return status !== "fiat_sent" || !marked_at || !sent_at || marked_at < sent_at;
      });
      if (!wrong) return null;
      return (
        `offramp ${wrong.id} of account ${account_id}: ` +
        `it is active, but invoice ${wrong.invoice_id} is not reserved for it`
      );
    },
  );

type UnreservedOfframp = {
  id: string;
  invoice_id: string;
  status: string;
  owner_account_id: string;
  sent_at: Date | null;
};

/**
 * When the invoice of each offramp was last marked unpaid. The changes are the seller's: they may
 * be on another node.
 */
async function findMarkedUnpaid(
  session: Session,
  offramps: readonly UnreservedOfframp[],
): Promise<Map<string, Date>> {
  const marked = new Map<string, Date>();
  for (const [owner_id, own] of Map.groupBy(offramps, (offramp) => offramp.owner_account_id)) {
    const rows = await session.query<{ invoice_id: string; at: Date }>(
      `select invoice_id, max(at) as at from invoice_changes
       where account_id = $1 and invoice_id = any($2::uuid[]) and name = 'markUnpaid'
       group by invoice_id`,
      [owner_id, own.map(({ invoice_id }) => invoice_id)],
    );
    const at_of = new Map(rows.map(({ invoice_id, at }) => [invoice_id, at]));
    for (const { id, invoice_id } of own) {
      const at = at_of.get(invoice_id);
      if (at) marked.set(id, at);
    }
  }
  return marked;
}

/**
 * Each change starts from the state in which the previous one ended, every transition is legal, and
 * the last one matches the invoice.
 */
function checkChanges(invoice: InvoiceRow, changes: readonly ChangeRow[]): string | null {
  let status: InvoiceStatus | null = null;
  for (const [index, change] of changes.entries()) {
    const name = `its change ${change.sequence}`;
    if (change.sequence !== index + 1) return `${name} is in the place of change ${index + 1}`;
    // Drafts and templates have no history: their first change may start there.
    const from = change.from_status;
    if (index > 0 && from !== status) {
      return `${name} starts at ${from}, but the previous one ended at ${status}`;
    }
    if (!isLegal(change))
      return `${name} (${change.name}) goes from ${from} to ${change.to_status}`;
    status = change.to_status;
  }
  if (changes.length !== invoice.sequence) {
    return `it counts ${invoice.sequence} changes, but has ${changes.length}`;
  }
  const is_unborn = invoice.status === "draft" || invoice.status === "scheduled";
  if (changes.length === 0) return is_unborn ? null : `it is ${invoice.status} without a change`;
  if (status !== invoice.status) {
    return `it is ${invoice.status}, but its last change says ${status}`;
  }
  if (!changes.at(-1)?.facts.equals(digestFacts(invoice))) {
    return "it does not match its last change";
  }
  return null;
}

function isLegal({ name, from_status, to_status }: ChangeRow): boolean {
  const { moves, restores_acceptance } = CHANGES[name];
  if (from_status === null) return name === "create" && to_status === "open";
  if (restores_acceptance && to_status === "accepted" && moves[from_status] === "open") return true;
  return moves[from_status] === to_status;
}

/** Exactly one event for each change that has events, and no others. */
function checkEvents(changes: readonly ChangeRow[], events: readonly EventRow[]): string | null {
  const by_sequence = new Map(events.map((event) => [event.sequence, event]));
  const with_events = changes.filter((change) => eventName(change) !== null);
  for (const change of with_events) {
    const event = by_sequence.get(change.sequence);
    const is_same =
      event?.name === change.name &&
      event.change_id === change.id &&
      event.to_status === change.to_status &&
      event.facts.equals(change.facts);
    if (!is_same) return `no event matches its change ${change.sequence}`;
  }
  if (events.length !== with_events.length) {
    return `it has ${events.length} events for ${with_events.length} changes`;
  }
  return null;
}

function listChanges(session: Session, account_id: string, ids: readonly string[]) {
  return session.query<ChangeRow>(
    `select invoice_id, sequence, id, name, from_status, to_status, facts from invoice_changes
     where account_id = $1 and invoice_id = any($2::uuid[]) order by invoice_id, sequence`,
    [account_id, ids],
  );
}

function listEvents(session: Session, account_id: string, ids: readonly string[]) {
  return session.query<EventRow>(
    `select record_id, sequence, name, change_id, to_status, facts from events
     where account_id = $1 and record_id = any($2::uuid[]) order by record_id, sequence`,
    [account_id, ids],
  );
}

const checkInvoices: Check = (session, account_id) => {
  const query = "select * from invoices where account_id = $1 and id > $2 order by id limit $3";
  return eachPage<InvoiceRow>(session, account_id, query, async (invoices) => {
    const ids = invoices.map((invoice) => invoice.id);
    const [changes, events] = await Promise.all([
      listChanges(session, account_id, ids),
      listEvents(session, account_id, ids),
    ]);
    const changes_of = Map.groupBy(changes, (change) => change.invoice_id);
    const events_of = Map.groupBy(events, (event) => event.record_id);
    for (const invoice of invoices) {
      const past = changes_of.get(invoice.id) ?? [];
      const fault =
        checkChanges(invoice, past) ?? checkEvents(past, events_of.get(invoice.id) ?? []);
      if (fault) return `invoice ${invoice.id} of account ${account_id}: ${fault}`;
    }
    return null;
  });
};

/** Compares every invoice with its changes, and the changes with their events. */
export const verifyInvoices = inOrder(checkStrayEvents, checkPlaces, checkInvoices);

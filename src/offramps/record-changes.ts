import { checkProposals } from "../approvals/check-proposals.ts";
import { recordEvents } from "../events/record-events.ts";
import {
  type PaymentStep,
  recordPaymentSteps,
  releasePayments,
  type StepKind,
} from "../invoices/payments/payments.ts";
import type { Transaction } from "../platform/db/database.ts";
import type { RecordKey } from "../platform/db/rows.ts";
import {
  DOCUMENT_MOVES,
  digestFacts,
  OFFRAMP_MOVES,
  type Offramp,
  type OfframpStatus,
} from "./model.ts";
import type { OfframpRenderer } from "./render.ts";
import { type KeyedOfframp, updateOfframpRows } from "./store.ts";

/** An offramp after a change, with its previous status; null when it was just created. */
type OfframpNews = KeyedOfframp & { from_status: OfframpStatus | null };
export type ChangedOfframp = OfframpNews & {
  was_funded: boolean;
  /** Whether the details were changed, by this change or an earlier one of the transaction. */
  has_new_details: boolean;
  /** What had come back of the attempt before this change, and what has now. */
  came_back?: { before: bigint; after: bigint };
};

/** The offramp after a transition or another change. */
export function advanceOfframp(
  { offramp, key, has_new_details = false }: KeyedOfframp & { has_new_details?: boolean },
  change: Partial<Offramp>,
  now: Date,
): ChangedOfframp {
  const status = change.status ?? offramp.status;
  if (status !== offramp.status && !OFFRAMP_MOVES[offramp.status].includes(status)) {
    throw new Error(`an offramp cannot go from ${offramp.status} to ${status}`);
  }
  const { document_status: from } = offramp;
  const to = change.document_status ?? from;
  if (from !== null && to !== null && to !== from && !DOCUMENT_MOVES[from].includes(to)) {
    throw new Error(`a supporting document cannot go from ${from} to ${to}`);
  }
  // Receivers order events by time, so it must increase with every change of a record.
  const updated_at = new Date(Math.max(now.getTime(), offramp.updated_at.getTime() + 1));
  const changed = { ...offramp, ...change, sequence: offramp.sequence + 1, updated_at };
  const was_funded = offramp.funded_at !== null;
  return {
    offramp: changed,
    key,
    from_status: offramp.status,
    was_funded,
    has_new_details: has_new_details || change.details !== undefined,
  };
}

/**
 * Writes locked offramps and one event per change. An offramp that changed twice in this
 * transaction appears twice: both events are written, the row once, in its final state.
 */
export function recordChanges(
  tx: Transaction,
  renderer: OfframpRenderer,
  changes: readonly ChangedOfframp[],
  now: Date,
): void {
  if (changes.length === 0) return;
  const last = new Map(changes.map((change) => [change.offramp.id, change]));
  updateOfframpRows(tx, [...last.values()]);
  offrampEvents(tx, renderer, changes, now);
  recordPayments(tx, changes, now);
  checkProposals(tx, changes.flatMap(proposedRecords), now);
}

/**
 * The records whose pending proposals this change may concern. The steps of a payout that nobody
 * has to decide about concern none; that it waits is no new fact for whoever it waits for, and
 * comparing a quote of thousands of payouts after each of them would take hours.
 */
function proposedRecords({ offramp, from_status }: ChangedOfframp): RecordKey[] {
  const { account_id, id, quote_id, status } = offramp;
  const is_step = status === "pending_internal_assessment" || from_status === "sending_fiat";
  const waits = from_status === "pending_internal_assessment" && status === "ongoing_checks";
  if ((is_step || waits) && status !== from_status) return [];
  return [
    { account_id, id },
    { account_id, id: quote_id },
  ];
}

/** Enqueues the tasks that report these changes to the invoices that the offramps pay. */
function recordPayments(tx: Transaction, changes: readonly ChangedOfframp[], now: Date): void {
  const paying = changes.filter(({ offramp }) => offramp.invoice_id !== null);
  if (paying.length === 0) return;
  recordPaymentSteps(tx, paying.flatMap(stepOf), now);
  releasePayments(
    tx,
    paying
      .filter(({ offramp, from_status }) => offramp.status === "failed" && from_status !== "failed")
      .map(({ offramp: { account_id, invoice_id, id } }) => ({
        account_id,
        id: invoice_id!,
        offramp_id: id,
      })),
  );
}

function stepOf(change: ChangedOfframp): PaymentStep[] {
  const { account_id, id: offramp_id, sequence: step, invoice_id } = change.offramp;
  const kind = stepKind(change);
  return kind ? [{ account_id, offramp_id, step, invoice_id: invoice_id!, kind }] : [];
}

/** What the change means for an invoice; a bounced payment was reported as failed already. */
function stepKind(change: ChangedOfframp): StepKind | null {
  const { offramp, from_status, was_funded } = change;
  const { status } = offramp;
  if (status === "failed") {
    const was_reported = from_status === "bounced" || from_status === "failed";
    return was_funded && !was_reported ? "failed" : null;
  }
  if (!was_funded && offramp.funded_at !== null) return "funded";
  if (status === "bounced") {
    if (isPaymentUndone(change)) return "bounced";
    // A return without a booking implies that the payment was made.
    return from_status === "sending_fiat" ? "sent" : null;
  }
  if (status === from_status) return null;
  if (status === "fiat_sent") return "sent";
  return from_status === "bounced" ? "rerouted" : null;
}

/** The share of a payout, in basis points, whose return leaves its invoice paid. */
const RETURN_IGNORED_BASIS_POINTS = 100n;

/**
 * Whether a payment counts as failed from this change on. While next to nothing of it came back,
 * the seller has the money: reopening the invoice would let it be paid twice.
 */
function isPaymentUndone({ offramp, from_status, came_back }: ChangedOfframp): boolean {
  if (!came_back) return from_status !== "bounced";
  const stands = (returned: bigint) =>
    returned * 10_000n <= offramp.destination_amount * RETURN_IGNORED_BASIS_POINTS;
  return !stands(came_back.after) && (from_status !== "bounced" || stands(came_back.before));
}

export function offrampEvents(
  tx: Transaction,
  renderer: OfframpRenderer,
  changes: readonly OfframpNews[],
  now: Date,
): void {
  recordEvents(
    tx,
    changes.map(({ offramp, key, from_status }) => ({
      account_id: offramp.account_id,
      name: "offramp_update",
      record_id: offramp.id,
      sequence: offramp.sequence,
      from_status,
      to_status: offramp.status,
      facts: digestFacts(offramp),
      subject_id: offramp.user_id,
      key,
      body: renderer.event(offramp),
    })),
    now,
  );
}

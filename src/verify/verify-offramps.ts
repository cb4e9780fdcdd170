import { payoutPending } from "../ledger/model.ts";
import { listEntriesByLedgerAccount } from "../ledger/store.ts";
import { digestFacts, OFFRAMP_MOVES } from "../offramps/model.ts";
import type { OfframpRow } from "../offramps/store.ts";
import type { Session } from "../platform/db/database.ts";
import { type EventedTable, verifyEvented, verifyEventedById } from "./verify-events.ts";
import { entryName } from "./verify-ledger.ts";
import { type AssignedReturn, checkOfframpMoney, type PayoutAttemptRow } from "./verify-payouts.ts";

/** An offramp with the fields needed from its quote. */
type Offramp = Omit<OfframpRow, "details"> & { is_quote_funded: boolean };

const OFFRAMPS: EventedTable<Offramp> = {
  table: "offramps",
  removed_table: "removed_offramps",
  name: "offramp",
  event: "offramp_update",
  moves: OFFRAMP_MOVES,
  before_events: null,
  is_archived: true,
  digest: digestFacts,
  select: `select o.account_id, o.id, o.user_id, o.quote_id, o.payment_detail_id, o.invoice_id,
        o.status, o.status_message, o.destination_amount, o.destination_currency, o.rails, o.rate,
        o.fee, o.deposit_token, o.deposit_token_chain, o.token_amount, o.token_fee,
        o.document_status, o.document_source, o.document_id, o.document_file, o.document_hash,
        o.document_type, o.document_version, o.document_after_approval, o.funded_at, o.attempt,
        o.payout_reference,
        o.given_back, o.refund_rate, o.rate_until, o.rate_paused_at,
        o.sequence, o.created_at, o.updated_at,
        q.funded_at is not null as is_quote_funded
      from offramps o left join quotes q on q.account_id = o.account_id and q.id = o.quote_id`,
};

/** Compares every offramp with its events, its attempts and its ledger entries. */
export const verifyOfframps = verifyEvented(OFFRAMPS, checkMoney);
export const verifyOfframpsById = verifyEventedById(OFFRAMPS, checkMoney);

async function checkMoney(
  session: Session,
  account_id: string,
  offramps: readonly Offramp[],
): Promise<string | null> {
  const ids = offramps.map((offramp) => offramp.id);
  const [payouts, assigned, entries] = await Promise.all([
    listPayouts(session, account_id, ids),
    listAssigned(session, account_id, ids),
    listEntriesByLedgerAccount(session, account_id, ids.map(payoutPending)),
  ]);
  const assigned_to = Map.groupBy(assigned, ({ assigned_offramp_id }) => assigned_offramp_id);
  const payouts_of = Map.groupBy(payouts, (payout) => payout.offramp_id);
  // The second part of the key of every posting on an offramp's account is the offramp's id.
  const entries_of = Map.groupBy(entries, (entry) => entry.key.split(":")[1]!);
  const known_ids = new Set(ids);
  const stray = entries.find((entry) => !known_ids.has(entry.key.split(":")[1]!));
  if (stray) return `${entryName(stray.id, account_id)} (${stray.key}): it is on the wrong account`;
  for (const offramp of offramps) {
    const { id } = offramp;
    const attempts = toAttempts(payouts_of.get(id) ?? [], assigned_to.get(id) ?? []);
    const fault = checkOfframpMoney(offramp, attempts, entries_of.get(id) ?? []);
    if (fault) return `offramp ${id} of account ${account_id}: ${fault}`;
  }
  return null;
}

/** Each attempt with what the operator assigned to it as a return. */
function toAttempts(
  payouts: readonly Omit<PayoutAttemptRow, "assigned">[],
  assigned: readonly AssignedReturn[],
): PayoutAttemptRow[] {
  return payouts.map((payout) => ({
    ...payout,
    assigned: assigned.filter(({ assigned_attempt }) => assigned_attempt === payout.attempt),
  }));
}

function listAssigned(session: Session, account_id: string, ids: readonly string[]) {
  return session.query<AssignedReturn>(
    `select account_id, id, bank_account, currency, held, amount, assigned_offramp_id,
       assigned_attempt
     from bank_answers where account_id = $1 and assigned_offramp_id = any($2::uuid[])
       and kind <> 'booked' and given_back is null order by id`,
    [account_id, ids],
  );
}

function listPayouts(session: Session, account_id: string, ids: readonly string[]) {
  return session.query<Omit<PayoutAttemptRow, "assigned">>(
    `select offramp_id, attempt, payment_detail_id, end_to_end_id, status, returned_amount,
       bank_account, returned_to, is_booking_implied
     from payouts
     where account_id = $1 and offramp_id = any($2::uuid[]) order by offramp_id, attempt`,
    [account_id, ids],
  );
}

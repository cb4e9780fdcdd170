import { type Entry, type NewEntry, owedTo, payoutPending } from "../ledger/model.ts";
import {
  type OfframpMoney,
  offrampFailedAfterInstruction,
  offrampFailedBeforeInstruction,
  offrampFunded,
  payoutBooked,
  payoutInstructed,
  payoutReturned,
} from "../ledger/postings.ts";
import type { OfframpStatus } from "../offramps/model.ts";
import { endToEndId, type Payout } from "../offramps/payouts/model.ts";
import { compareEntry } from "./compare-entries.ts";

export type PayoutAttemptRow = Omit<Payout, "account_id" | "created_at" | "updated_at">;

type Offramp = OfframpMoney & {
  payment_detail_id: string;
  status: OfframpStatus;
  attempt: number;
  funded_at: Date | null;
  is_quote_funded: boolean;
};

/** Where an offramp's money is; `nowhere` means that it has no entries. */
type Place = "nowhere" | "pending_in_token" | "pending_in_currency" | "paid" | "given_back";

/**
 * Where the money may be in each state. While a deposit is too small, its offramps have no money;
 * between the decision to pay and the instruction it is still in tokens.
 */
const PLACES: Readonly<Record<OfframpStatus, readonly Place[]>> = {
  initiated: ["nowhere"],
  pending_internal_assessment: ["nowhere", "pending_in_token"],
  ongoing_checks: ["nowhere", "pending_in_token"],
  sending_fiat: ["pending_in_token", "pending_in_currency"],
  fiat_sent: ["paid"],
  bounced: ["pending_in_currency"],
  failed: ["nowhere", "given_back"],
};

/**
 * Compares one offramp's attempts and entries with its record; returns the first error, or null.
 */
export function checkOfframpMoney(
  offramp: Offramp,
  payouts: readonly PayoutAttemptRow[],
  entries: readonly Entry[],
): string | null {
  const keys = new Set(entries.map((entry) => entry.key));
  return (
    checkEntries(offramp, payouts, entries, keys) ??
    checkFunding(offramp, keys) ??
    checkAttempts(offramp, payouts, keys) ??
    checkPlace(offramp, entries)
  );
}

/** Every entry is exactly what the posting table derives from this record. */
function checkEntries(
  offramp: Offramp,
  payouts: readonly PayoutAttemptRow[],
  entries: readonly Entry[],
  keys: ReadonlySet<string>,
): string | null {
  const instructed = payoutInstructed(offramp);
  const possible: NewEntry[] = [
    offrampFunded(offramp),
    instructed,
    keys.has(instructed.key)
      ? offrampFailedAfterInstruction(offramp)
      : offrampFailedBeforeInstruction(offramp),
    ...payouts.flatMap(({ attempt, returned_amount }) => [
      payoutBooked(offramp, attempt),
      payoutReturned(offramp, attempt, returned_amount ?? 0n),
    ]),
  ];
  const by_key = new Map(possible.map((entry) => [entry.key, entry]));
  for (const entry of entries) {
    const expected = by_key.get(entry.key);
    if (!expected) return `its ledger entry ${entry.id} (${entry.key}) belongs to no change of it`;
    const fault = compareEntry(entry, expected);
    if (fault) return fault;
  }
  return null;
}

function checkFunding(offramp: Offramp, keys: ReadonlySet<string>): string | null {
  const is_funded = keys.has(offrampFunded(offramp).key);
  if (is_funded !== (offramp.funded_at !== null)) {
    return is_funded
      ? "it is funded, but not marked as funded"
      : "it is marked as funded, but is not funded";
  }
  if (is_funded && !offramp.is_quote_funded) return "it is funded, but its quote is not";
  if (!is_funded && keys.size > 0) return "it has ledger entries, but was never funded";
  return null;
}

/** Attempts are numbered without gaps, and the ledger matches what the bank reported. */
function checkAttempts(
  offramp: Offramp,
  payouts: readonly PayoutAttemptRow[],
  keys: ReadonlySet<string>,
): string | null {
  if (payouts.length !== offramp.attempt) {
    return `it counts ${offramp.attempt} payout attempts, but has ${payouts.length}`;
  }
  for (const [index, payout] of payouts.entries()) {
    const { attempt, status, returned_amount } = payout;
    if (attempt !== index + 1) return `its attempt ${index + 1} is missing`;
    if (payout.end_to_end_id !== endToEndId(offramp.id, attempt)) {
      return `its attempt ${attempt} has a wrong end-to-end id`;
    }
    const is_last = attempt === offramp.attempt;
    if (is_last && payout.payment_detail_id !== offramp.payment_detail_id) {
      return `its attempt ${attempt} pays another payment detail`;
    }
    const is_returned = keys.has(payoutReturned(offramp, attempt, 0n).key);
    const is_booked = keys.has(payoutBooked(offramp, attempt).key);
    const fits =
      is_booked === (status === "booked" || status === "returned") &&
      is_returned === (status === "returned") &&
      is_returned === (returned_amount !== null);
    if (!fits) return `its attempt ${attempt} is ${status}, but its ledger entries do not match`;
  }
  return null;
}

/** Paid (net of returns), pending and refunded amounts sum to the requested amount. */
function checkPlace(offramp: Offramp, entries: readonly Entry[]): string | null {
  const { destination_currency, destination_amount, deposit_token, token_amount } = offramp;
  const pending_account = payoutPending(offramp.id);
  const pending_token = -sum(entries, pending_account, deposit_token);
  const pending = -sum(entries, pending_account, destination_currency);
  const moved = entries.filter(
    ({ kind }) => kind === "payout_booked" || kind === "payout_returned",
  );
  const paid = sum(moved, pending_account, destination_currency);
  const given_back = -sum(
    entries,
    owedTo(offramp.user_id, offramp.deposit_token_chain),
    deposit_token,
  );
  const amounts = [pending_token, pending, paid, given_back];
  const is = (...expected: bigint[]) => expected.every((amount, at) => amount === amounts[at]);
  let place: Place;
  if (entries.length === 0) place = "nowhere";
  else if (is(token_amount, 0n, 0n, 0n)) place = "pending_in_token";
  else if (is(0n, destination_amount, 0n, 0n)) place = "pending_in_currency";
  else if (is(0n, 0n, destination_amount, 0n)) place = "paid";
  else if (is(0n, 0n, 0n, token_amount)) place = "given_back";
  else {
    return (
      `paid ${paid} ${destination_currency}, pending ${pending} ${destination_currency} and ` +
      `${pending_token} ${deposit_token}, given back ${given_back} ${deposit_token} do not add ` +
      `up to the ${destination_amount} ${destination_currency} requested`
    );
  }
  if (PLACES[offramp.status].includes(place)) return null;
  return `it is ${offramp.status}, but its money is ${place.replaceAll("_", " ")}`;
}

function sum(entries: readonly Entry[], ledger_account: string, currency: string): bigint {
  return entries
    .flatMap((entry) => entry.lines)
    .filter((line) => line.ledger_account === ledger_account && line.currency === currency)
    .reduce((total, line) => total + line.amount, 0n);
}

import { type ExceptionMoney, exceptionAssigned } from "../ledger/exception-postings.ts";
import { bankAt, type Entry, type NewEntry, owedTo, payoutPending } from "../ledger/model.ts";
import {
  offrampFunded,
  payoutBooked,
  payoutFunded,
  payoutInstructed,
  payoutRerouted,
  payoutReturned,
} from "../ledger/offramp-postings.ts";
import type { PostingKind } from "../ledger/posting-kinds.ts";
import { giveBackEntry, refundWorth } from "../offramps/give-up.ts";
import type { Offramp as OfframpRecord, OfframpStatus } from "../offramps/model.ts";
import { endToEndId, findReturn, type Payout } from "../offramps/payouts/model.ts";
import { isBelow, parseDecimal } from "../platform/money.ts";
import { compareEntry } from "./compare-entries.ts";

/** A bank exception that the operator assigned to a payout as a return of it. */
export type AssignedReturn = ExceptionMoney & {
  amount: bigint;
  assigned_offramp_id: string;
  assigned_attempt: number;
};

export type PayoutAttemptRow = Omit<Payout, "account_id" | "created_at" | "updated_at"> & {
  assigned: readonly AssignedReturn[];
};

type Offramp = Omit<OfframpRecord, "details" | "document_fetch_failures"> & {
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
    checkEntries(offramp, payouts, entries) ??
    checkFunding(offramp, keys) ??
    checkAttempts(offramp, payouts, keys) ??
    checkBankAccounts(payouts) ??
    checkPlace(offramp, entries)
  );
}

/** Only what left an account names it, and only what came back names where to. */
function checkBankAccounts(payouts: readonly PayoutAttemptRow[]): string | null {
  for (const payout of payouts) {
    const { attempt, status, bank_account, returned_to, is_booking_implied } = payout;
    const has_returned = status === "returned";
    if (bank_account && !has_returned && status !== "booked") {
      return `its attempt ${attempt} names an account that paid it, but was not booked`;
    }
    if ((returned_to || is_booking_implied) && !has_returned) {
      return `its attempt ${attempt} says how it came back, but was not returned`;
    }
  }
  return null;
}

/** Every entry is exactly what the posting table derives from this record. */
function checkEntries(
  offramp: Offramp,
  payouts: readonly PayoutAttemptRow[],
  entries: readonly Entry[],
): string | null {
  const given_back = expectedGiveBack(offramp, payouts);
  if (typeof given_back === "string") return given_back;
  const is_joined = entries.some(({ kind }) => kind === "payout_funded");
  const possible: NewEntry[] = [
    ...(is_joined ? [payoutFunded(offramp)] : [offrampFunded(offramp), payoutInstructed(offramp)]),
    ...given_back,
    ...payouts.flatMap((payout) => [
      payoutBooked(offramp, payout.attempt, payout.bank_account),
      ...expectedReturns(offramp, payout),
    ]),
    ...expectedReroutes(offramp, payouts),
  ];
  const by_key = new Map(possible.map((entry) => [entry.key, entry]));
  for (const entry of entries) {
    const expected = by_key.get(entry.key);
    if (!expected) return `its ledger entry ${entry.id} (${entry.key}) belongs to no change of it`;
    const fault = compareEntry(entry, expected);
    if (fault) return fault;
  }
  const returns = payouts.flatMap((payout) => expectedReturns(offramp, payout));
  const required = [...given_back, ...expectedReroutes(offramp, payouts), ...returns];
  const missing = required.find(({ key }) => !entries.some((entry) => entry.key === key));
  return missing ? `its ledger entry ${missing.key} is missing` : null;
}

/**
 * The entry that gives its money back, from what its record says: the whole token amount if no
 * money had left, else what came back, at a rate never better than the quote's.
 */
function expectedGiveBack(
  offramp: Offramp,
  payouts: readonly PayoutAttemptRow[],
): NewEntry[] | string {
  const { given_back, refund_rate } = offramp;
  if (given_back === null) return [];
  const came_back = findReturn(offramp, payouts);
  if ((came_back === null) !== (refund_rate === null)) {
    return came_back ? "what came back has no rate" : "it has a refund rate, but nothing came back";
  }
  if (refund_rate !== null && isBelow(parseDecimal(refund_rate)!, parseDecimal(offramp.rate)!)) {
    return `it was given back at ${refund_rate}, better than its own rate ${offramp.rate}`;
  }
  const worth = came_back
    ? refundWorth(offramp, came_back.returned, refund_rate!)
    : offramp.token_amount;
  if (given_back > worth) return `it gave back ${given_back}, more than the ${worth} it was worth`;
  const from = came_back && { ...came_back, worth };
  return [giveBackEntry(offramp, from, worth - given_back)];
}

/** What the bank returned under the attempt's id, and what the operator assigned to it. */
function expectedReturns(
  offramp: Offramp,
  { attempt, returned_amount, assigned, bank_account, returned_to }: PayoutAttemptRow,
): NewEntry[] {
  const entries = assigned.map((exception) => {
    const { held, amount } = exception;
    const [came_back, source] =
      held > 0n ? ([held, "suspense"] as const) : ([amount, bankAt(bank_account)] as const);
    return { came_back, entry: exceptionAssigned(exception, offramp.id, came_back, source) };
  });
  const returned = entries.reduce((rest, one) => rest - one.came_back, returned_amount ?? 0n);
  return [
    ...(returned > 0n ? [payoutReturned(offramp, attempt, returned, returned_to)] : []),
    ...entries.map(({ entry }) => entry),
  ];
}

/** A re-route adds what the bank kept of the return before it. */
function expectedReroutes(offramp: Offramp, payouts: readonly PayoutAttemptRow[]): NewEntry[] {
  return payouts.slice(1).flatMap(({ attempt }, index) => {
    const came_back = findReturn(offramp, payouts.slice(0, index + 1));
    const missing = came_back ? offramp.destination_amount - came_back.pending : 0n;
    return missing > 0n ? [payoutRerouted(offramp, attempt, missing)] : [];
  });
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
    const is_returned =
      payout.assigned.length > 0 || keys.has(payoutReturned(offramp, attempt, 0n, null).key);
    const is_booked = keys.has(payoutBooked(offramp, attempt, null).key);
    const fits =
      is_booked === (status === "booked" || status === "returned") &&
      is_returned === (status === "returned") &&
      is_returned === (returned_amount !== null);
    if (!fits) return `its attempt ${attempt} is ${status}, but its ledger entries do not match`;
  }
  return null;
}

/**
 * Once instructed, in its currency: paid, net of returns, + pending + given back - what we added
 * for the bank's costs = requested. Before that, in tokens: pending + given back + the deducted
 * shortfall = reserved. That the fee is earned or reversed follows from the entries themselves.
 */
function checkPlace(offramp: Offramp, entries: readonly Entry[]): string | null {
  if (entries.length === 0) return checkState(offramp, "nowhere");
  const { destination_currency: currency, destination_amount, deposit_token: token } = offramp;
  const pending_account = payoutPending(offramp.id);
  const pending_token = -sum(entries, pending_account, token);
  const pending = -sum(entries, pending_account, currency);
  const of = (...kinds: string[]) => entries.filter(({ kind }) => kinds.includes(kind));
  const paid = sum(
    of("payout_booked", "payout_returned", "exception_assigned"),
    pending_account,
    currency,
  );
  const costs = sum(entries, "return_costs", currency);
  const reversed = of("offramp_failed_after_instruction").length > 0 ? destination_amount : 0n;
  const converted = -sum(of("offramp_failed_after_return"), "fx_position", currency);
  const refunded = reversed + converted;
  const given_back = -sum(entries, owedTo(offramp.user_id, offramp.deposit_token_chain), token);
  const is_instructed = of("payout_instructed", "payout_funded").length > 0;
  const short = -sum(entries, "short_deposits", token);
  const adds_up = is_instructed
    ? pending_token === 0n && paid + pending + refunded - costs === destination_amount
    : pending_token + given_back + short === offramp.token_amount;
  if (!adds_up) {
    return (
      `paid ${paid} ${currency}, pending ${pending} ${currency} and ${pending_token} ${token}, ` +
      `given back ${refunded} ${currency} and ${given_back} ${token}, less costs of ${costs} ` +
      `${currency}, do not add up to the ${destination_amount} ${currency} requested`
    );
  }
  if (of(...GIVE_BACKS).length > 0) return checkState(offramp, "given_back");
  if (pending_token > 0n) return checkState(offramp, "pending_in_token");
  return checkState(offramp, pending > 0n ? "pending_in_currency" : "paid");
}

const GIVE_BACKS: readonly PostingKind[] = [
  "offramp_failed_before_instruction",
  "offramp_failed_after_instruction",
  "offramp_failed_after_return",
];

function checkState(offramp: Offramp, place: Place): string | null {
  if (PLACES[offramp.status].includes(place)) return null;
  return `it is ${offramp.status}, but its money is ${place.replaceAll("_", " ")}`;
}

function sum(entries: readonly Entry[], ledger_account: string, currency: string): bigint {
  return entries
    .flatMap((entry) => entry.lines)
    .filter((line) => line.ledger_account === ledger_account && line.currency === currency)
    .reduce((total, line) => total + line.amount, 0n);
}

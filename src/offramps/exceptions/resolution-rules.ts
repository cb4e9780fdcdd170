import {
  exceptionAssigned,
  exceptionGivenBack,
  exceptionLost,
  exceptionReturnStarted,
  exceptionWrittenOff,
} from "../../ledger/exception-postings.ts";
import { bankAt, type NewEntry } from "../../ledger/model.ts";
import { payoutBooked } from "../../ledger/offramp-postings.ts";
import type { ErrorCode, Problem } from "../../platform/errors.ts";
import { minOf } from "../../platform/money.ts";
import type { Prices } from "../../prices/price-book.ts";
import { refundRate, refundWorth } from "../give-up.ts";
import type { Offramp } from "../model.ts";
import { bounced } from "../payouts/apply-bank-answers.ts";
import type { Payout } from "../payouts/model.ts";
import type { Quote } from "../quotes/model.ts";
import type { ChangedOfframp } from "../record-changes.ts";
import type { BankException, Resolution } from "./model.ts";

/** The payout that an exception is assigned to: an offramp and its last attempt. */
type Target = {
  offramp: Offramp;
  payout: Payout;
  attempts: readonly Payout[];
  quote: Quote;
  /** What came back after it was refunded, and was given back. */
  late: bigint;
};

type Asked = {
  exception: BankException;
  /** Undefined when it does not exist. */
  target: Target | undefined;
  /** Null when there are no recent rates. */
  prices: Prices | null;
  reroute_ms: number;
  now: Date;
};

/** What a resolution changes and posts. */
type Resolved = {
  exception: Partial<BankException>;
  entries: NewEntry[];
  offramp?: Partial<Offramp>;
  payout?: Partial<Payout>;
  came_back?: NonNullable<ChangedOfframp["came_back"]>;
  /** With what is left of its shortfall. */
  quote?: Quote;
};

type Decided = Resolved | { problems: Problem[] };

export const RULES: Record<Resolution, (asked: Asked) => Decided> = {
  assign: (asked) => {
    const { exception, target } = asked;
    if (!target)
      return refuse("record_not_found", "This account has no such payout.", "offramp_id");
    if (exception.currency !== target.offramp.destination_currency) {
      const { destination_currency } = target.offramp;
      const message = `The payout is in ${destination_currency}; choose another one.`;
      return refuse("currency_mismatch", message, "offramp_id");
    }
    if (exception.answer === "booked") return assignBooking(asked, target);
    const is_late = target.offramp.refund_rate !== null && exception.held > 0n;
    return is_late ? assignLate(asked, target) : assignReturn(asked, target);
  },
  return: ({ exception }) => {
    if (exception.held === 0n) return refuse(...NO_MONEY);
    const returning = { status: "returning" as const, returns: exception.returns + 1 };
    return {
      exception: returning,
      entries: [exceptionReturnStarted({ ...exception, ...returning })],
    };
  },
  write_off: ({ exception }) => {
    if (exception.held > 0n) return resolved([exceptionWrittenOff(exception)]);
    if (exception.answer !== "booked" || exception.amount <= 0n) return refuse(...NO_MONEY);
    return resolved([exceptionLost(exception, exception.amount)]);
  },
  dismiss: ({ exception }) => {
    if (exception.held === 0n) return resolved([]);
    const message = "Its money is in suspense: assign it, return it or write it off.";
    return refuse("invalid_transition", message);
  },
};

const NO_MONEY = ["invalid_transition", "No money came in or left; dismiss it instead."] as const;

function resolved(entries: NewEntry[]): Resolved {
  return { exception: { status: "resolved" }, entries };
}

/**
 * Whether the bank names another attempt of this payout than the one under way: an answer applies
 * to the attempt that it names, and what was missing of it was paid by the re-route.
 */
function isOtherAttempt({ exception }: Asked, { attempts, payout }: Target): boolean {
  const named = attempts.find(({ end_to_end_id }) => end_to_end_id === exception.end_to_end_id);
  return named !== undefined && named.attempt !== payout.attempt;
}

function refuseOtherAttempt(): Decided {
  const message = "What was missing of this attempt was paid when it was re-routed: write it off.";
  return refuse("invalid_transition", message, "offramp_id");
}

/** The bank's booking was the payment of this payout. What it paid too much is a loss. */
function assignBooking(asked: Asked, target: Target): Decided {
  const { exception } = asked;
  const { offramp, payout } = target;
  if (isOtherAttempt(asked, target)) return refuseOtherAttempt();
  if (payout.status !== "sent") {
    const message =
      "The bank has already settled this payout; write the booking off or dismiss it.";
    return refuse("invalid_transition", message, "offramp_id");
  }
  const excess = exception.amount - offramp.destination_amount;
  if (excess < 0n) {
    const message = "The bank paid less than this payout; have it pay the rest, then dismiss this.";
    return refuse("record_invalid", message, "offramp_id");
  }
  const { end_to_end_id } = payout;
  const { bank_account } = exception;
  const lost = excess > 0n ? [exceptionLost(exception, excess)] : [];
  return {
    ...resolved([payoutBooked(offramp, payout.attempt, bank_account), ...lost]),
    payout: { status: "booked", bank_account },
    offramp: {
      status: "fiat_sent",
      status_message: null,
      payout_reference: { end_to_end_id, trace_number: null, uetr: null },
    },
  };
}

const MAY_RETURN: readonly Payout["status"][] = ["sent", "booked", "returned"];

/** The money came back from this payout: all of it, a part, or one more part. */
function assignReturn(asked: Asked, target: Target): Decided {
  const { exception, reroute_ms, now } = asked;
  const { offramp, payout } = target;
  if (isOtherAttempt(asked, target)) return refuseOtherAttempt();
  const is_unbooked = payout.status === "sent";
  const bank_account = is_unbooked ? exception.bank_account : payout.bank_account;
  const source = exception.held > 0n ? "suspense" : bankAt(bank_account);
  // A rejected payment that had been booked never left the bank.
  const amount = exception.answer === "rejected" ? exception.amount : exception.held;
  if (amount <= 0n) return refuse(...NO_MONEY);
  const is_open = ["sending_fiat", "fiat_sent", "bounced"].includes(offramp.status);
  if (!is_open || !MAY_RETURN.includes(payout.status)) {
    const message =
      offramp.status === "failed"
        ? "The payout has failed and was refunded: return the money, or write it off."
        : `The payout is ${offramp.status}: nothing can come back from it any more.`;
    return refuse("invalid_transition", message, "offramp_id");
  }
  const before = payout.returned_amount ?? 0n;
  if (before + amount > offramp.destination_amount) {
    const message = "More came back than is missing of this payout; choose another one.";
    return refuse("record_invalid", message, "offramp_id");
  }
  const status_message =
    "The payment came back. Re-route it to another payment detail, or refund it.";
  const booked = is_unbooked ? [payoutBooked(offramp, payout.attempt, bank_account)] : [];
  const implied = is_unbooked ? { bank_account, is_booking_implied: true } : {};
  return {
    ...resolved([...booked, exceptionAssigned(exception, offramp.id, amount, source)]),
    payout: { status: "returned", returned_amount: before + amount, ...implied },
    offramp: bounced(status_message, reroute_ms, now),
    came_back: { before, after: before + amount },
  };
}

/**
 * More came back after the payout was refunded. It is the user's too, at the rate of this moment
 * and never better than the quote's, as what came back before.
 */
function assignLate(
  { exception, prices }: Asked,
  { offramp, attempts, quote, late }: Target,
): Decided {
  const { held, end_to_end_id } = exception;
  const last = attempts.findLast(({ status }) => status === "returned")!;
  const named = attempts.find((attempt) => attempt.end_to_end_id === end_to_end_id) ?? last;
  if (named.attempt !== last.attempt) {
    return refuseOtherAttempt();
  }
  if (last.returned_amount! + late + held > offramp.destination_amount) {
    const message = "More came back than is missing of this payout; choose another one.";
    return refuse("record_invalid", message, "offramp_id");
  }
  const rate = refundRate(offramp, prices);
  if (rate === null) {
    const message = `There is no current rate for ${exception.currency}; try again later.`;
    return refuse("currency_not_supported", message, "offramp_id");
  }
  const worth = refundWorth(offramp, held, rate);
  const deducted = minOf(quote.shortfall, worth);
  return {
    exception: { status: "resolved", given_back: worth - deducted, refund_rate: rate },
    entries: [exceptionGivenBack(exception, offramp, worth, deducted)],
    quote: { ...quote, shortfall: quote.shortfall - deducted },
  };
}

function refuse(code: ErrorCode, message: string, field = "resolution"): Decided {
  return { problems: [{ field, code, message }] };
}

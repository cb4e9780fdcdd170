import { PROPOSAL_LIFE_MS } from "../approvals/model.ts";
import { listProposalTimes, type ProposalTime } from "../approvals/store.ts";
import type { Session } from "../platform/db/database.ts";
import type { RecordKey } from "../platform/db/rows.ts";
import { type Decimal, parseDecimal, powerOfTen } from "../platform/money.ts";
import type { Prices } from "../prices/price-book.ts";
import type { Gate } from "./gates.ts";
import type { Offramp } from "./model.ts";
import { findReturn, type Payout } from "./payouts/model.ts";
import { type Quote, restUntil } from "./quotes/model.ts";

/**
 * How long the rate of a quote is kept for a payout that waits: it is a promise for a short time,
 * not an option.
 */
export type RateRules = {
  /** How long a gate may hold a funded offramp. */
  rate_hold_ms: number;
  /** How long a bounced payout may be re-routed. */
  reroute_ms: number;
  /** How much worse for us the rate may be when the caller opens a gate late. */
  rate_slippage_basis_points: number;
};

type Facts = {
  gate: Gate | null;
  /** From then on, a gate that the caller opens is open only at a rate close to the quote's. */
  rest_until: Date;
  /** Destination units for one token; null when there is no current rate. */
  rate_now: Decimal | null;
};

type Judgement =
  | { decision: "pay" }
  | { decision: "wait"; change: Partial<Offramp> }
  | { decision: "fail"; status_message: string };

/** Whether a funded offramp that is not sent yet is paid, waits or fails. */
export function judgeWaiting(
  rules: RateRules,
  offramp: Offramp,
  { gate, rest_until, rate_now }: Facts,
  now: Date,
): Judgement {
  if (gate === null) {
    if (now <= rest_until || !wasHeldByCaller(rules, offramp, now)) return { decision: "pay" };
    if (rate_now === null) return wait(rules, offramp, noRate(offramp), now);
    if (isClose(rules, offramp, rate_now)) return { decision: "pay" };
    const status_message =
      "The rate has moved too far since the quote expired. The deposit was credited to the " +
      "user's balance.";
    return { decision: "fail", status_message };
  }
  const waiting = wait(rules, offramp, gate, now);
  const { rate_until, rate_paused_at } = { ...offramp, ...waiting.change };
  if (gate.by !== "caller" || rate_paused_at || now < rate_until!) return waiting;
  const status_message =
    "The payout waited too long, and its rate is no longer kept. The deposit was credited to the " +
    "user's balance.";
  return { decision: "fail", status_message };
}

/** Before its first payout, and only once a gate held it. */
function wasHeldByCaller(rules: RateRules, offramp: Offramp, now: Date): boolean {
  if (offramp.rate_until === null) return false;
  const until = offramp.rate_paused_at ?? now;
  return until.getTime() > offramp.rate_until.getTime() - rules.rate_hold_ms;
}

/** The time stands still while only the operator can act. */
function wait(
  { rate_hold_ms }: RateRules,
  { funded_at, rate_until, rate_paused_at }: Offramp,
  { message, by }: Gate,
  now: Date,
) {
  const is_first = rate_until === null;
  const until = rate_until ?? new Date(funded_at!.getTime() + rate_hold_ms);
  const since = rate_paused_at ?? (is_first ? funded_at! : now);
  const paused_ms = rate_paused_at ? now.getTime() - rate_paused_at.getTime() : 0;
  const clock =
    by === "operator"
      ? { rate_until: until, rate_paused_at: since }
      : { rate_until: new Date(until.getTime() + paused_ms), rate_paused_at: null };
  const change = { status: "ongoing_checks", status_message: message, ...clock } as const;
  return { decision: "wait" as const, change };
}

function noRate({ destination_currency }: Offramp): Gate {
  const message = `There is no current rate for ${destination_currency}. The operator is notified.`;
  return { message, by: "operator" };
}

/** What decides whether a payout that was stopped before it left may still go. */
type StoppedFacts = {
  payouts: readonly Payout[];
  quote: Quote;
  /** Null when there are no current rates. */
  rates: Prices["rates"] | null;
};

/**
 * Whether a payout that was stopped before it left must not go at the quote's rate any more. The
 * caller may decide when it goes on, so that after the quote's time the rate must still be close
 * to it. Of a payout that came back, what came back is paid again, whatever the rate.
 */
export function hasRateMoved(
  rules: RateRules,
  offramp: Offramp,
  { payouts, quote, rates }: StoppedFacts,
  now: Date,
): boolean {
  if (now <= restUntil(quote) || findReturn(offramp, payouts)) return false;
  const rate_now = rates?.get(offramp.deposit_token)?.get(offramp.destination_currency);
  return rate_now === undefined || !isClose(rules, offramp, rate_now);
}

export const RATE_HAS_MOVED =
  "The rate has moved too far since the quote expired, and no money had left: refund the " +
  "payout and quote again.";

/** Fewer destination units for one token are worse for us. */
function isClose(
  { rate_slippage_basis_points }: RateRules,
  { rate }: Pick<Offramp, "rate">,
  now: Decimal,
): boolean {
  const locked = parseDecimal(rate)!;
  const least = locked.units * BigInt(10_000 - rate_slippage_basis_points);
  return now.units * 10_000n * powerOfTen(locked.scale) >= least * powerOfTen(now.scale);
}

/** The kinds of proposals about an offramp that stop the time. */
const STOPPING = ["refund-offramps", "reroute-offramps"];

export type StoppedTimes = ReadonlyMap<string, readonly ProposalTime[]>;

/** When proposals about these offramps were open. */
export function loadStoppedTimes(
  session: Session,
  offramps: readonly RecordKey[],
): Promise<StoppedTimes> {
  return listProposalTimes(session, STOPPING, offramps);
}

/**
 * Until when the rate of a waiting offramp is kept. The time during which proposals about it are
 * open is added, in all at most the life of one: else a proposal after the other would keep a rate
 * for ever. Null while the rate is not limited.
 */
export function keptUntil(
  rules: Pick<RateRules, "rate_hold_ms" | "reroute_ms">,
  { id, status, rate_until }: Pick<Offramp, "id" | "status" | "rate_until">,
  times: StoppedTimes,
  now: Date,
): Date | null {
  if (rate_until === null) return null;
  const hold_ms = status === "bounced" ? rules.reroute_ms : rules.rate_hold_ms;
  let counted_to = rate_until.getTime() - hold_ms;
  let stopped_ms = 0;
  for (const { created_at, ended_at } of times.get(id) ?? []) {
    const from = Math.max(created_at.getTime(), counted_to);
    const to = (ended_at ?? now).getTime();
    // A proposal cannot bring back a time that was over.
    if (to <= from || from >= rate_until.getTime() + stopped_ms) continue;
    stopped_ms += to - from;
    counted_to = to;
  }
  return new Date(rate_until.getTime() + Math.min(stopped_ms, PROPOSAL_LIFE_MS));
}

import type { Account } from "./installation.ts";

/*
 * What the service should be doing, in as few words as possible and without its code: what is owed
 * to each user, the state of each record, what bank and chain were told. All amounts are whole
 * numbers: millionths of a token, cents.
 */

export type Token = "usdc" | "usdt";
export const TOKENS: readonly Token[] = ["usdc", "usdt"];

const HOUR_MS = 3_600_000;
const LAPSE_MS = 72 * HOUR_MS;
/** The lesser of this and a tenth of the fees may be missing from a deposit. */
export const TOLERANCE = 10_000n;
/** What everybody begins with, in millionths of each token. */
export const FIRST_BALANCE = 700_000_000n;

export type User = {
  id: string;
  account: Account;
  details: string[];
  owed: Record<Token, bigint>;
  blocked: "suspended" | "frozen" | null;
  /** Something may be under way: answers cannot be foretold exactly until it has settled. */
  is_busy: boolean;
};

export type Offramp = {
  id: string;
  quote: Quote;
  amount: bigint;
  fee: bigint;
  rate: Rate;
  token_amount: bigint;
  token_fee: bigint;
  status: string;
  attempt: number;
  /** What came back of the last attempt; null if nothing had left. */
  returned: bigint | null;
  bounced_ms: number;
  needs_document: boolean;
  /** A gate moved while it was under way: several states are right. */
  is_open: boolean;
};

export type Quote = {
  id: string;
  user: User;
  token: Token;
  address: string;
  expires_ms: number;
  offramps: Offramp[];
  tx_id: string | null;
  is_executed: boolean;
  is_funded: boolean;
  is_closed: boolean;
  shortfall: bigint;
  from_balance: bigint;
  received: { amount: bigint; mined_ms: number }[];
  approval: { id: string; status: "pending" | "done" | "refused"; asked_ms: number } | null;
};

export type Refund = { id: string; user: User; token: Token; amount: bigint; status: string };
export type Onramp = {
  id: string;
  user: User;
  tokens: bigint;
  deposit: bigint;
  code: string;
  created_ms: number;
  status: string;
};
export type Deposit = { reference: string; amount: bigint; onramp: Onramp | null; status: string };
/** Units of the currency for one token, as a fraction. */
export type Rate = { units: bigint; scale: bigint };

type Arrival = { user: User; quote: Quote; token: Token; amount: bigint; mined_ms: number };
type Said = { offramp: Offramp; attempt: number; kind: string; amount: bigint };

export class Model {
  users: User[] = [];
  quotes: Quote[] = [];
  refunds: Refund[] = [];
  onramps: Onramp[] = [];
  deposits: Deposit[] = [];
  invoices: { id: string; account: Account; status: string }[] = [];
  /** On the chain, and perhaps not read yet. */
  arrivals: Arrival[] = [];
  /** Answers of the bank that are perhaps not read yet. */
  said: Said[] = [];

  /** Whether the bank got its next attempt: before a gate closed, perhaps. */
  hasLeft = (_offramp: Offramp): boolean => false;

  offramps(): Offramp[] {
    return this.quotes.flatMap((quote) => quote.offramps);
  }

  /** What executed quotes wait for leaves by no other way. */
  free(user: User, token: Token): bigint {
    const reserved = this.quotes
      .filter((one) => one.user === user && one.token === token)
      .filter((one) => one.is_executed && !one.is_funded && !one.is_closed)
      .map((one) => least(one.from_balance + sum(one.received), due(one)));
    return user.owed[token] - reserved.reduce((total, part) => total + part, 0n);
  }

  /** Everything that was under way comes to its end. */
  settle(now_ms: number): void {
    for (const { user, quote, token, amount, mined_ms } of this.arrivals.splice(0)) {
      user.owed[token] += amount;
      if (token === quote.token) quote.received.push({ amount, mined_ms });
    }
    for (const quote of this.quotes) {
      if (quote.is_executed) this.#fund(quote);
      this.#close(quote, now_ms);
      for (const offramp of quote.offramps) this.#send(offramp);
    }
    for (const one of this.said.splice(0)) this.#hear(one, now_ms);
    for (const offramp of this.offramps()) {
      const is_late = now_ms >= offramp.bounced_ms + LAPSE_MS;
      if (offramp.status === "bounced" && is_late) this.giveBack(offramp);
    }
    for (const refund of this.refunds) if (refund.status === "pending") refund.status = "sent";
    for (const user of this.users) user.is_busy = false;
  }

  #fund(quote: Quote): void {
    if (quote.is_funded || quote.is_closed) return;
    const total = due(quote);
    const minedBy = (ms: number) =>
      sum(quote.received.filter(({ mined_ms }) => mined_ms <= ms)) + quote.from_balance;
    const fees = quote.offramps.reduce((all, { token_fee }) => all + token_fee, 0n);
    const enough = total - least(TOLERANCE, fees / 10n);
    const available = least(minedBy(quote.expires_ms + HOUR_MS), quote.user.owed[quote.token]);
    if (minedBy(quote.expires_ms) * 100n < total * 95n || available < enough) {
      const has_any = minedBy(quote.expires_ms + HOUR_MS) > 0n;
      if (has_any) this.#hold(quote);
      return;
    }
    const used = least(available, total);
    quote.shortfall = total - used;
    this.markFunded(quote, used);
  }

  /** Those of a short deposit wait for the rest. */
  #hold(quote: Quote): void {
    for (const one of quote.offramps) {
      if (one.status === "initiated") one.status = "ongoing_checks";
    }
  }

  markFunded(quote: Quote, used: bigint): void {
    quote.is_funded = true;
    quote.user.owed[quote.token] -= used;
    for (const one of quote.offramps) one.status = "ongoing_checks";
  }

  #close(quote: Quote, now_ms: number): void {
    const { approval } = quote;
    const lapsed = approval?.status === "pending" && now_ms >= approval.asked_ms + LAPSE_MS;
    if (approval && lapsed) approval.status = "refused";
    if (approval?.status === "refused" && !quote.is_closed) {
      for (const one of quote.offramps) if (isWaiting(one)) this.giveBack(one);
      quote.is_closed = true;
    }
    if (quote.is_funded || quote.is_closed || now_ms < quote.expires_ms + HOUR_MS) return;
    quote.is_closed = true;
    for (const one of quote.offramps) one.status = "failed";
  }

  #send(offramp: Offramp): void {
    const { quote } = offramp;
    const is_approved = quote.approval === null || quote.approval.status === "done";
    if (!quote.is_funded || !is_approved || offramp.status !== "ongoing_checks") return;
    if (offramp.needs_document) return;
    if (quote.user.blocked && !this.hasLeft(offramp)) return;
    offramp.status = "sending_fiat";
    offramp.attempt += 1;
  }

  #hear({ offramp, attempt, kind, amount }: Said, now_ms: number): void {
    if (offramp.attempt !== attempt) return;
    const is_sent = ["sending_fiat", "fiat_sent"].includes(offramp.status);
    if (kind === "booked" && offramp.status === "sending_fiat") offramp.status = "fiat_sent";
    if (kind === "rejected" && offramp.status === "sending_fiat") this.giveBack(offramp);
    if (kind !== "returned" || !is_sent) return;
    offramp.status = "bounced";
    offramp.returned = amount;
    offramp.bounced_ms = now_ms;
  }

  /** It fails, and its money is owed again: all of it, or what came back. */
  giveBack(offramp: Offramp): void {
    const { quote, returned, rate } = offramp;
    offramp.status = "failed";
    if (!quote.is_funded) return;
    const worth =
      returned === null ? offramp.token_amount : (returned * 10_000n * rate.scale) / rate.units;
    const deducted = least(quote.shortfall, worth);
    quote.shortfall -= deducted;
    quote.user.owed[quote.token] += worth - deducted;
  }
}

export function isWaiting({ status }: Offramp): boolean {
  return status === "initiated" || status === "ongoing_checks";
}

export function due(quote: Quote): bigint {
  return quote.offramps.reduce((total, one) => total + one.token_amount, 0n);
}

/** 40 basis points, and the tokens for it: both rounded up. */
export function priceOf(amount: bigint, rate: Rate) {
  const fee = divideUp(amount * 40n, 10_000n);
  const tokens = (cents: bigint) => divideUp(cents * 10_000n * rate.scale, rate.units);
  return { fee, token_amount: tokens(amount + fee), token_fee: tokens(fee) };
}

export function readRate(rate: number): Rate {
  const [whole = "0", decimals = ""] = String(rate).split(".");
  return { units: BigInt(whole + decimals), scale: 10n ** BigInt(decimals.length) };
}

/** A JSON number as minor units. */
export function minor(value: number, digits: number): bigint {
  const [whole = "0", decimals = ""] = value.toFixed(digits).split(".");
  return BigInt(whole + decimals);
}

export function divideUp(a: bigint, b: bigint): bigint {
  return (a + b - 1n) / b;
}

export function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

export function sum(list: readonly { amount: bigint }[]): bigint {
  return list.reduce((total, { amount }) => total + amount, 0n);
}

import type { ToUsd } from "../approvals/approval-sums.ts";
import type { ApprovalRules } from "../approvals/with-approval.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import type { Rail } from "../catalogue/rails.ts";
import { listNamedAccounts, type NamedAccount } from "../invoices/payments/named-accounts.ts";
import { loadPayables, type Payable } from "../invoices/payments/payments.ts";
import { payoutRerouted } from "../ledger/offramp-postings.ts";
import { postEntries } from "../ledger/post-entries.ts";
import { type LimitDeps, type Limits, loadLimits, lockLimits } from "../limits/load-limits.ts";
import type { Spend } from "../limits/model.ts";
import { findPayees } from "../limits/store.ts";
import { type PaymentDetail, payableStatus, satisfiesRail } from "../payment-details/model.ts";
import { lockPaymentDetails, toPaymentDetails } from "../payment-details/store.ts";
import { AccountMap } from "../platform/account-map.ts";
import type { Command } from "../platform/commands/use-case.ts";
import type { Transaction } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import type { Problem } from "../platform/errors.ts";
import type { CurrentPrices, Prices } from "../prices/price-book.ts";
import { holdProblems } from "../users/clearance.ts";
import { lockKycs } from "../users/kyc-store.ts";
import type { Kyc } from "../users/model.ts";
import type { OfframpChange, OfframpRule } from "./change-offramps.ts";
import { closedGate, type GatePolicy } from "./gates.ts";
import {
  againInvoiceProblems,
  invoiceKeys,
  namedPayeeProblem,
  newOptionsProblem,
  reserveInvoices,
} from "./invoice-problems.ts";
import type { Offramp } from "./model.ts";
import { instruction, recordInstructions } from "./payouts/assess-offramps.ts";
import { findReturn, type Payout } from "./payouts/model.ts";
import { listPayouts, PAYOUTS } from "./payouts/store.ts";
import type { Quote } from "./quotes/model.ts";
import { findQuotes } from "./quotes/store.ts";
import {
  hasRateMoved,
  keptUntil,
  loadStoppedTimes,
  RATE_HAS_MOVED,
  type RateRules,
  type StoppedTimes,
} from "./rate-promise.ts";
import { advanceOfframp } from "./record-changes.ts";
import { findOfframps, type OfframpRow } from "./store.ts";

export type NewRoute = { payment_detail_id: string | null };

export type RerouteExtra = {
  details: AccountMap<PaymentDetail>;
  kycs: AccountMap<Kyc>;
  limits: Limits;
  payees: ReadonlyMap<string, Buffer>;
  /** The rates of each quote, at which limits value its payouts. */
  version_ids: ReadonlyMap<string, string>;
  invoices: AccountMap<Payable>;
  named: AccountMap<NamedAccount[]>;
  /** The attempts of each offramp. */
  payouts: ReadonlyMap<string, readonly Payout[]>;
  /** When proposals about each offramp were open. */
  stopped: StoppedTimes;
  toUsd: ToUsd;
  /** What decides about the rate of payouts that have not left. */
  quotes: AccountMap<Quote>;
  rates: Prices["rates"] | null;
};

/** Beyond these, a re-route needs two members, one of them the operator's. */
export type RerouteLimits = {
  return_cost_max_basis_points: number;
  /** Cents. */
  return_cost_max_usd: bigint;
};
const REROUTES_MAX = 3;

type RerouteDeps = {
  catalogue: Catalogue;
  keyring: Keyring;
  policy: GatePolicy;
  approvals: Pick<ApprovalRules, "usdValue" | "cooling_off_ms" | "now">;
  limits: LimitDeps;
  prices: CurrentPrices;
} & RateRules;

const FIELD = "offramp.payment_detail_id";

/**
 * Sends a bounced payout to another bank account of the same user and currency, at the same amount
 * and without a new fee. Every gate is checked again; if one is closed, the offramp stays bounced.
 * An offramp that pays an invoice reserves it again, if the invoice can still be paid.
 */
export function rerouteOfframps({
  catalogue,
  keyring,
  policy,
  approvals,
  limits,
  prices,
  ...rules
}: RerouteDeps): OfframpRule<NewRoute, RerouteExtra> {
  return {
    name: "reroute-offramps",
    act: "offramp.reroute",
    load: (tx, commands) => lockRoutes(tx, { keyring, limits }, commands),
    loadMore: (tx, extra, offramps) =>
      loadFacts(tx, { keyring, approvals, prices }, extra, offramps),
    decide: (entry, { account_id, input }, extra, now) => {
      const { details, kycs, invoices, named } = extra;
      const { offramp } = entry;
      const id = input.requested.payment_detail_id;
      const detail = id === null ? undefined : details.get(account_id, id);
      const problems = id === null ? [] : routeProblems(catalogue, offramp, detail);
      if (offramp.status !== "bounced") {
        const message = "Only an offramp with the status bounced can be re-routed.";
        problems.push({ field: "offramp_id", code: "invalid_transition", message });
        return { problems };
      }
      const until = keptUntil(rules, offramp, extra.stopped, now);
      if (until && now >= until) {
        const message = "The time to re-route this payout is over; its money is refunded.";
        problems.push({ field: "offramp_id", code: "invalid_transition", message });
      }
      problems.push(...movedRateProblems(rules, offramp, extra, now));
      problems.push(...againInvoiceProblems(invoices, offramp));
      if (problems.length > 0 || !detail) return { problems };
      const payee = { fields: detail.fields, rail: offramp.rails };
      const misdirected =
        namedPayeeProblem(catalogue, named, offramp, payee) ??
        newOptionsProblem(approvals, named, offramp, now);
      if (misdirected !== null) {
        return { problems: [{ field: FIELD, code: "record_invalid", message: misdirected }] };
      }
      const rerouted = { ...offramp, payment_detail_id: detail.id };
      const kyc = kycs.get(account_id, offramp.user_id);
      const facts = { kyc, detail_status: detail.status, approval_status: null, invoice_end: null };
      const spend = spendOf(extra.limits.value, extra, rerouted);
      const held = [
        ...(kyc ? holdProblems(kyc, "offramp_id") : []),
        ...extra.limits.problems(spend, FIELD),
      ];
      if (held.length > 0) return { problems: held };
      const closed = closedGate(policy, rerouted, facts);
      if (closed !== null) {
        return {
          problems: [{ field: FIELD, code: "invalid_transition", message: closed.message }],
        };
      }
      const change = { ...instruction(offramp), payment_detail_id: detail.id };
      extra.limits.take(spend);
      // A later command of the same set must see this reservation.
      const payable = offramp.invoice_id && invoices.get(account_id, offramp.invoice_id);
      if (payable && input.problems.length === 0) payable.offramp_id = offramp.id;
      return { value: advanceOfframp(entry, change, now) };
    },
    record: (tx, changes, { payouts }, now) => {
      const offramps = changes.map(({ offramp }) => offramp);
      recordInstructions(tx, offramps, now);
      postReroutes(tx, offramps, payouts, now);
      reserveInvoices(tx, offramps);
    },
  };
}

async function loadFacts(
  tx: Transaction,
  { keyring, approvals, prices }: Pick<RerouteDeps, "keyring" | "approvals" | "prices">,
  extra: RerouteExtra,
  offramps: readonly OfframpRow[],
): Promise<RerouteExtra> {
  const of_quotes = offramps.map(({ account_id, quote_id: id }) => ({ account_id, id }));
  const [invoices, named, rows, stopped, toUsd, quotes, current] = await Promise.all([
    loadPayables(tx, invoiceKeys(offramps)),
    listNamedAccounts(tx, keyring, invoiceKeys(offramps)),
    listPayouts(tx, offramps),
    loadStoppedTimes(tx, offramps),
    approvals.usdValue(tx),
    findQuotes(tx, of_quotes),
    prices.currentPrices(approvals.now(), tx),
  ]);
  const payouts = Map.groupBy(PAYOUTS.assertVouched(tx, rows), ({ offramp_id }) => offramp_id);
  const rates = "stale" in current ? null : current.rates;
  const more = { quotes: AccountMap.of(quotes, (quote) => quote), rates };
  return { ...extra, invoices, named, payouts, stopped, toUsd, ...more };
}

function movedRateProblems(
  rules: RateRules,
  offramp: Offramp,
  { payouts, quotes, rates }: RerouteExtra,
  now: Date,
): Problem[] {
  const quote = quotes.get(offramp.account_id, offramp.quote_id)!;
  const facts = { payouts: payouts.get(offramp.id) ?? [], quote, rates };
  if (!hasRateMoved(rules, offramp, facts, now)) return [];
  return [{ field: "offramp_id", code: "invalid_transition", message: RATE_HAS_MOVED }];
}

/** Locks the users and the payment details, before the offramps. */
async function lockRoutes(
  tx: Transaction,
  { keyring, limits: limit_deps }: Pick<RerouteDeps, "keyring" | "limits">,
  commands: readonly Command<OfframpChange<NewRoute>>[],
): Promise<RerouteExtra> {
  const seen = await findOfframps(
    tx,
    commands.map(({ account_id, input }) => ({ account_id, id: input.offramp_id })),
  );
  const users = seen.map(({ account_id, user_id }) => ({ account_id, user_id }));
  const wanted = commands.flatMap(({ account_id, input }) =>
    input.requested.payment_detail_id
      ? [{ account_id, id: input.requested.payment_detail_id }]
      : [],
  );
  const [locked_ids, kycs, rows, keys] = await Promise.all([
    lockLimits(tx, commands),
    lockKycs(tx, users),
    lockPaymentDetails(tx, wanted),
    keyring.openUserKeys(tx, users),
  ]);
  const payable = rows.map((row) => ({ ...row, status: payableStatus(row) }));
  const details = AccountMap.of(toPaymentDetails(payable, keys), (detail) => detail);
  const none = { invoices: new AccountMap<Payable>(), named: new AccountMap<NamedAccount[]>() };
  const payees = new Map<string, Buffer>();
  const quote_keys = seen.map(({ account_id, quote_id: id }) => ({ account_id, id }));
  const quotes = locked_ids.length > 0 ? await findQuotes(tx, quote_keys) : [];
  const version_ids = new Map(quotes.map(({ id, price_version_id }) => [id, price_version_id]));
  const limits = await loadLimits(tx, limit_deps, locked_ids, {
    version_ids: [...version_ids.values()],
    spends: async (value) => {
      for (const [id, payee] of await findPayees(tx, wanted)) payees.set(id, payee);
      const offramps = AccountMap.of(seen, (offramp) => offramp);
      return commands.flatMap(({ account_id, input }) => {
        const offramp = offramps.get(account_id, input.offramp_id);
        const { payment_detail_id } = input.requested;
        if (!offramp || !payment_detail_id) return [];
        return [spendOf(value, { payees, version_ids }, { ...offramp, payment_detail_id })];
      });
    },
  });
  const later = {
    ...{ payouts: new Map(), stopped: new Map(), toUsd: () => null },
    ...{ quotes: new AccountMap<Quote>(), rates: null },
  };
  return { kycs, details, limits, payees, version_ids, ...none, ...later };
}

/** Whether re-routing costs us too much, all returns together, or was done too often. */
export function isCostlyReroute(
  limits: RerouteLimits,
  offramp: Offramp,
  { payouts, toUsd }: Pick<RerouteExtra, "payouts" | "toUsd">,
): boolean {
  const { destination_amount, destination_currency: currency, attempt } = offramp;
  if (attempt > REROUTES_MAX) return true;
  const missing = (payouts.get(offramp.id) ?? [])
    .map(({ returned_amount }) => destination_amount - (returned_amount ?? destination_amount))
    .reduce((sum, cost) => (cost > 0n ? sum + cost : sum), 0n);
  if (missing === 0n) return false;
  const share = BigInt(limits.return_cost_max_basis_points);
  if (missing * 10_000n > destination_amount * share) return true;
  const missing_usd = toUsd({ amount: missing, currency });
  return missing_usd === null || missing_usd > limits.return_cost_max_usd;
}

/** A re-route pays in full: what the bank kept of the return is a cost of ours. */
function postReroutes(
  tx: Transaction,
  offramps: readonly Offramp[],
  payouts: RerouteExtra["payouts"],
  now: Date,
): void {
  const entries = offramps
    .map((offramp) => ({ offramp, missing: missingOf(offramp, payouts) }))
    .filter(({ missing }) => missing > 0n)
    .map(({ offramp, missing }) => payoutRerouted(offramp, offramp.attempt, missing));
  postEntries(tx, entries, now);
}

/** What the bank kept of the last return, while it is the last attempt. */
function missingOf(offramp: Offramp, payouts: RerouteExtra["payouts"]): bigint {
  const came_back = findReturn(offramp, payouts.get(offramp.id) ?? []);
  return came_back ? offramp.destination_amount - came_back.pending : 0n;
}

type Reroutable = Pick<
  Offramp,
  | "account_id"
  | "user_id"
  | "quote_id"
  | "payment_detail_id"
  | "deposit_token"
  | "token_amount"
  | "token_fee"
>;

/** A re-route counts for the payee only: user and account paid when the quote was executed. */
function spendOf(
  value: Limits["value"],
  { payees, version_ids }: Pick<RerouteExtra, "payees" | "version_ids">,
  { account_id, user_id, quote_id, payment_detail_id, ...offramp }: Reroutable,
): Spend {
  const { deposit_token: token, token_amount, token_fee } = offramp;
  const price_version_id = version_ids.get(quote_id) ?? null;
  const tokens = token_amount - token_fee;
  const usd = value({ price_version_id, token, tokens, is_paid_out: true });
  const payee = payees.get(payment_detail_id)?.toString("hex") ?? null;
  const parts = [{ payee, usd, count: 1 }];
  return { account_id, user_id, largest: usd, parts, scopes: ["payee"] };
}

function routeProblems(
  catalogue: Catalogue,
  offramp: Offramp,
  detail: PaymentDetail | undefined,
): Problem[] {
  const refuse = (code: Problem["code"], message: string) => [{ field: FIELD, code, message }];
  if (detail?.user_id !== offramp.user_id) {
    return refuse("record_not_found", "This user has no such payment detail; check the id.");
  }
  if (detail.status === "deactivated") {
    return refuse(
      "payment_detail_deactivated",
      "This payment detail was deactivated; use another one.",
    );
  }
  if (detail.status !== "approved") {
    return refuse(
      "payment_detail_not_approved",
      "This payment detail is not approved; use another one.",
    );
  }
  if (detail.fields.currency !== offramp.destination_currency) {
    return refuse(
      "currency_mismatch",
      `Use a payment detail that accepts ${offramp.destination_currency}.`,
    );
  }
  if (!satisfiesRail(catalogue, detail.fields, offramp.rails as Rail)) {
    return refuse(
      "rails_not_available",
      `Use a payment detail that can be paid by ${offramp.rails}.`,
    );
  }
  return [];
}

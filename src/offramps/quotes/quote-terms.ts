import type { Catalogue } from "../../catalogue/catalogue.ts";
import { minorDigits } from "../../catalogue/currencies.ts";
import { payeeOf } from "../../payment-details/payee.ts";
import { findPaymentDetails, toPaymentDetails } from "../../payment-details/store.ts";
import type { Session } from "../../platform/db/database.ts";
import { DAY_MS } from "../../platform/durations.ts";
import type { SubjectKeys } from "../../platform/encryption/keyring.ts";
import { minorToText } from "../../platform/money.ts";
import { digestOf } from "../../platform/sealing/seal.ts";
import type { Offramp } from "../model.ts";
import { listQuoteOfframps, toOfframps } from "../store.ts";
import { OFFRAMPS_PER_QUOTE_MAX, type Quote } from "./model.ts";
import { listPayees } from "./payee-store.ts";

/** A payout of a quote, with what members need to know of its payee. */
export type PayoutTerms = {
  offramp: Offramp;
  /** Name and masked account. */
  payee: string;
  /** The same for all payment details of one bank account. */
  payee_key: string;
  /** No payout of the account has reached this bank account before. */
  is_new_payee: boolean;
  /** Its payment detail was created in the 24 hours before `at`. */
  is_recent_payee: boolean;
};

/** What the names of payees are read with. */
export type NameSource = { catalogue: Catalogue; keys: SubjectKeys };

/** All payouts of a quote, in the order in which they were added. */
export async function loadTerms(
  session: Session,
  { catalogue, keys }: NameSource,
  { account_id, id }: Pick<Quote, "account_id" | "id">,
  at: Date,
): Promise<PayoutTerms[]> {
  const [rows, payees] = await Promise.all([
    listQuoteOfframps(session, account_id, id, OFFRAMPS_PER_QUOTE_MAX),
    listPayees(session, account_id, id),
  ]);
  const facts_of = new Map(payees.map((facts) => [facts.payment_detail_id, facts]));
  const detail_rows = await findPaymentDetails(
    session,
    payees.map((facts) => ({ account_id, id: facts.payment_detail_id })),
  );
  const fields_of = new Map(toPaymentDetails(detail_rows, keys).map((row) => [row.id, row.fields]));
  return toOfframps(rows, keys).map(({ offramp }) => {
    const { payment_detail_id, rails: rail } = offramp;
    const facts = facts_of.get(payment_detail_id)!;
    const fields = fields_of.get(payment_detail_id);
    return {
      offramp,
      payee: fields ? payeeOf(catalogue, { fields, rail }) : "Unknown payee",
      payee_key: facts.payee,
      is_new_payee: !facts.was_paid,
      is_recent_payee: facts.created_at.getTime() > at.getTime() - DAY_MS,
    };
  });
}

/**
 * Covers everything that members judge a quote by: all payouts, also those given up since, each
 * with payee, amount, rail, reference, invoice, metadata and document. The fields of a payment
 * detail never change, so its id stands for account and name.
 */
export function digestTerms(terms: readonly PayoutTerms[]): string {
  const facts = terms.flatMap(({ offramp: one }) => [
    ...[one.id, one.payment_detail_id, one.destination_amount, one.destination_currency],
    ...[one.rails, one.token_amount, one.invoice_id, one.details.reference],
    JSON.stringify(Object.entries(one.details.metadata).sort(([a], [b]) => (a < b ? -1 : 1))),
    one.document_hash?.toString("hex") ?? null,
  ]);
  return digestOf(...facts).toString("hex");
}

type PayeeSum = Pick<PayoutTerms, "payee" | "is_new_payee" | "is_recent_payee"> & {
  currency: string;
  count: number;
  amount: bigint;
};

/** By bank account and currency: new payees first, then the largest sums. */
export function sumByPayee(terms: readonly PayoutTerms[]): PayeeSum[] {
  const groups = Map.groupBy(
    terms,
    ({ payee_key, offramp }) => `${payee_key} ${offramp.destination_currency}`,
  );
  const sums = [...groups.values()].map((group): PayeeSum & { tokens: bigint } => {
    const { offramp, payee, is_new_payee } = group[0]!;
    return {
      payee,
      is_new_payee,
      is_recent_payee: group.some((one) => one.is_recent_payee),
      currency: offramp.destination_currency,
      count: group.length,
      amount: group.reduce((sum, one) => sum + one.offramp.destination_amount, 0n),
      tokens: group.reduce((sum, one) => sum + one.offramp.token_amount, 0n),
    };
  });
  const rank = (sum: PayeeSum) => Number(sum.is_recent_payee) + 2 * Number(sum.is_new_payee);
  return sums.sort((a, b) => rank(b) - rank(a) || (a.tokens > b.tokens ? -1 : 1));
}

/** `12 eur, 5 usd` */
export function totalOf(terms: readonly PayoutTerms[]): string {
  const by_currency = Map.groupBy(terms, ({ offramp }) => offramp.destination_currency);
  return [...by_currency]
    .map(([currency, ones]) => {
      const amount = ones.reduce((sum, { offramp }) => sum + offramp.destination_amount, 0n);
      return moneyOf(amount, currency);
    })
    .join(", ");
}

export function moneyOf(amount: bigint, currency: string): string {
  return `${minorToText(amount, minorDigits(currency)!)} ${currency}`;
}

/** What members should notice about a payee; empty for one that was paid before. */
export function marksOf(one: Pick<PayoutTerms, "is_new_payee" | "is_recent_payee">): string {
  const marks = [
    ...(one.is_new_payee ? ["never paid before"] : []),
    ...(one.is_recent_payee ? ["added in the last 24 hours"] : []),
  ];
  return marks.join(", ");
}

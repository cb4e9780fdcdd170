import type { Catalogue } from "../../catalogue/catalogue.ts";
import { minorDigits } from "../../catalogue/currencies.ts";
import type { Metadata } from "../../catalogue/metadata.ts";
import { paidAccountOf, payeeOf } from "../../payment-details/payee.ts";
import { findPaymentDetails, toPaymentDetails } from "../../payment-details/store.ts";
import type { Session } from "../../platform/db/database.ts";
import { DAY_MS } from "../../platform/durations.ts";
import type { Keyring, SubjectKeys } from "../../platform/encryption/keyring.ts";
import { FIRST_ID } from "../../platform/ids.ts";
import { minorToText } from "../../platform/money.ts";
import { digestOf } from "../../platform/sealing/seal.ts";
import type { Offramp } from "../model.ts";
import { listQuoteOfframps, type OfframpRow, toOfframps } from "../store.ts";
import type { Quote } from "./model.ts";
import { type CurrencySum, listPaidDetails, listPayees } from "./payee-store.ts";

/** A payout of a quote, with what members need to know of its payee. */
export type PayoutTerms = {
  /** Without its metadata, which may be large. */
  offramp: Offramp;
  metadata_digest: string;
  /** Name, masked account and bank. */
  payee: string;
  /** The same for all payment details of one bank account. */
  payee_key: string;
  /** No payout of the account has reached this number at this bank before. */
  is_new_payee: boolean;
  /** Its payment detail was created in the 24 hours before `at`. */
  is_recent_payee: boolean;
};

/** What payees are read with: the keys of the quote's user, and those of others paid before. */
export type NameSource = { catalogue: Catalogue; keys: SubjectKeys; keyring: Keyring };

const ROWS_AT_ONCE = 500;

/** All payouts of a quote, in the order in which they were added. */
export async function loadTerms(
  session: Session,
  names: NameSource,
  { account_id, id }: Pick<Quote, "account_id" | "id">,
  at: Date,
): Promise<PayoutTerms[]> {
  const terms: PayoutTerms[] = [];
  for (let after_id = FIRST_ID; ; ) {
    const rows = await listQuoteOfframps(session, account_id, id, ROWS_AT_ONCE, after_id);
    if (rows.length === 0) return terms;
    terms.push(...(await toTerms(session, names, rows, at)));
    after_id = rows.at(-1)!.id;
  }
}

/** Payouts of one quote, in the order given. */
export async function toTerms(
  session: Session,
  names: NameSource,
  rows: readonly OfframpRow[],
  at: Date,
): Promise<PayoutTerms[]> {
  const [first] = rows;
  if (!first) return [];
  const { catalogue, keys } = names;
  const { account_id } = first;
  const detail_ids = [...new Set(rows.map((row) => row.payment_detail_id))];
  const payees = await listPayees(session, account_id, detail_ids);
  const facts_of = new Map(payees.map((facts) => [facts.payment_detail_id, facts]));
  const detail_keys = detail_ids.map((detail_id) => ({ account_id, id: detail_id }));
  const details = toPaymentDetails(await findPaymentDetails(session, detail_keys), keys);
  const fields_of = new Map(details.map((row) => [row.id, row.fields]));
  const paid_before = await findPaidBefore(session, names, first, detail_ids);
  return toOfframps(rows, keys).map(({ offramp }) => {
    const { payment_detail_id, rails: rail } = offramp;
    const { metadata, ...rest } = offramp.details;
    const facts = facts_of.get(payment_detail_id)!;
    const fields = fields_of.get(payment_detail_id);
    const paid = fields ? paidAccountOf(catalogue, { fields, rail }) : null;
    return {
      offramp: { ...offramp, details: { ...rest, metadata: {} } },
      metadata_digest: digestMetadata(metadata),
      payee: fields ? payeeOf(catalogue, { fields, rail }) : "Unknown payee",
      payee_key: facts.payee,
      is_new_payee: paid === null || !paid_before.has(paid),
      is_recent_payee: facts.created_at.getTime() > at.getTime() - DAY_MS,
    };
  });
}

/** The accounts that payouts of other quotes have reached, as `paidAccountOf` names them. */
async function findPaidBefore(
  session: Session,
  { catalogue, keyring }: NameSource,
  { account_id, quote_id }: OfframpRow,
  detail_ids: readonly string[],
): Promise<ReadonlySet<string | null>> {
  const paid = await listPaidDetails(session, account_id, quote_id, detail_ids);
  const paid_ids = [...new Set(paid.map(({ id }) => id))];
  const rows = await findPaymentDetails(
    session,
    paid_ids.map((id) => ({ account_id, id })),
  );
  const details = toPaymentDetails(rows, await keyring.openUserKeys(session, rows));
  const fields_of = new Map(details.map((row) => [row.id, row.fields]));
  return new Set(
    paid.map(({ id, rails: rail }) => {
      const fields = fields_of.get(id);
      return fields ? paidAccountOf(catalogue, { fields, rail }) : null;
    }),
  );
}

function digestMetadata(metadata: Metadata): string {
  const entries = Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1));
  return digestOf(JSON.stringify(entries)).toString("hex");
}

/**
 * Covers everything that members judge a quote by: all payouts, also those given up since, each
 * with payee, amount, rail, reference, invoice, metadata and document. The fields of a payment
 * detail never change, so its id stands for account and name.
 */
export function digestTerms(terms: readonly PayoutTerms[]): string {
  const facts = terms.flatMap(({ offramp: one, metadata_digest }) => [
    ...[one.id, one.payment_detail_id, one.destination_amount, one.destination_currency],
    ...[one.rails, one.token_amount, one.invoice_id, one.details.reference],
    metadata_digest,
    one.document_hash?.toString("hex") ?? null,
  ]);
  return digestOf(...facts).toString("hex");
}

type PayeeSum = Pick<PayoutTerms, "payee" | "is_new_payee" | "is_recent_payee"> & {
  currency: string;
  count: number;
  amount: bigint;
};

/** By payee as shown, bank account and currency: new payees first, then the largest sums. */
export function sumByPayee(terms: readonly PayoutTerms[]): PayeeSum[] {
  const groups = Map.groupBy(
    terms,
    // The key alone is the same for accounts of one number at two banks; so may be masked IBANs.
    ({ payee, payee_key, is_new_payee, offramp }) =>
      `${payee} ${payee_key} ${is_new_payee} ${offramp.destination_currency}`,
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

export function sumByCurrency(terms: readonly PayoutTerms[]): CurrencySum[] {
  const by_currency = Map.groupBy(terms, ({ offramp }) => offramp.destination_currency);
  return [...by_currency].map(([currency, ones]) => ({
    currency,
    count: ones.length,
    amount: ones.reduce((sum, { offramp }) => sum + offramp.destination_amount, 0n),
  }));
}

export function countOf(sums: readonly CurrencySum[]): number {
  return sums.reduce((count, sum) => count + sum.count, 0);
}

/** `12 eur, 5 usd` */
export function textOf(sums: readonly CurrencySum[]): string {
  return sums.map(({ amount, currency }) => moneyOf(amount, currency)).join(", ");
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

import { findPayables } from "../../invoices/payments/payments.ts";
import { AccountMap } from "../../platform/account-map.ts";
import type { Command } from "../../platform/commands/use-case.ts";
import type { Transaction } from "../../platform/db/database.ts";
import type { Keyring, SubjectKeys } from "../../platform/encryption/keyring.ts";
import type { Problem } from "../../platform/errors.ts";
import { findKycs } from "../../users/kyc-store.ts";
import type { Kyc } from "../../users/model.ts";
import { usersOf } from "../../users/store.ts";
import type { QuotePayment } from "../gates.ts";
import { invoiceKeys, quoteInvoiceProblems } from "../invoice-problems.ts";
import type { Offramp } from "../model.ts";
import type { Rates } from "../render.ts";
import {
  listInvoicePayments,
  listQuoteOfframps,
  listQuotePayments,
  listQuoteRates,
  toOfframps,
} from "../store.ts";
import { withoutAbandoned } from "./fund-from-deposits.ts";
import type { Quote } from "./model.ts";
import { lockQuotes } from "./store.ts";

export const OFFRAMPS_EMBEDDED_MAX = 500;

export type QuoteContent = {
  payments: QuotePayment[];
  offramps: Offramp[];
  rates: Rates;
  /** Why its offramps cannot pay their invoices. */
  invoice_problems: Problem[];
  /** The cost of its offramps, without those given up. */
  due: bigint;
  /** The fees in it. */
  due_fees: bigint;
};

export type LoadedQuotes = {
  quotes: AccountMap<Quote>;
  kycs: AccountMap<Kyc>;
  keys: SubjectKeys;
  contents: Map<string, QuoteContent>;
};

/** What paying for quotes depends on, in whatever way they are paid. Locks the quotes. */
export async function loadQuotes(
  tx: Transaction,
  keyring: Keyring,
  commands: readonly Command<{ user_id: string; quote_id: string }>[],
): Promise<LoadedQuotes> {
  const users = usersOf(commands);
  const quote_keys = commands.map(({ account_id, input }) => ({ account_id, id: input.quote_id }));
  // Lock first: the reads below then see everything that concurrent additions committed.
  const [locked, kycs, keys] = await Promise.all([
    lockQuotes(tx, quote_keys),
    findKycs(tx, users),
    keyring.openUserKeys(tx, users),
  ]);
  const contents = await Promise.all(
    locked.map(async (quote) => [quote.id, await loadContent(tx, keys, quote)] as const),
  );
  const quotes = AccountMap.of(locked, (quote) => quote);
  return { quotes, kycs, keys, contents: new Map(contents) };
}

async function loadContent(
  tx: Transaction,
  keys: SubjectKeys,
  quote: Quote,
): Promise<QuoteContent> {
  const { account_id, id } = quote;
  const [payments, for_invoices, rows, rates, paying] = await Promise.all([
    listQuotePayments(tx, account_id, id),
    listInvoicePayments(tx, account_id, id),
    listQuoteOfframps(tx, account_id, id, OFFRAMPS_EMBEDDED_MAX),
    listQuoteRates(tx, account_id, [id]),
    withoutAbandoned(tx, quote),
  ]);
  const { token_amount: due, token_fees: due_fees } = paying;
  const offramps = toOfframps(rows, keys).map(({ offramp }) => offramp);
  const invoices = await findPayables(tx, invoiceKeys(for_invoices));
  const invoice_problems = quoteInvoiceProblems(invoices, for_invoices);
  return { payments, offramps, rates: toRates(rates), invoice_problems, due, due_fees };
}

export function toRates(rows: { destination_currency: string; rate: string }[]): Rates {
  return Object.fromEntries(rows.map((row) => [row.destination_currency, Number(row.rate)]));
}

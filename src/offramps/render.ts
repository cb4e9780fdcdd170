import type { Static } from "typebox";
import { minorDigits } from "../catalogue/currencies.ts";
import type { Clock } from "../platform/clock.ts";
import { compileRender } from "../platform/http/render.ts";
import { isoTime } from "../platform/iso-time.ts";
import { minorToNumber } from "../platform/money.ts";
import type { Offramp } from "./model.ts";
import { type Quote, quoteStatus } from "./quotes/model.ts";
import { QuoteAnswer, QuoteListAnswer } from "./quotes/schemas.ts";
import { OfframpRecord } from "./schemas.ts";

const writeRecord = compileRender(OfframpRecord);
const writeQuote = compileRender(QuoteAnswer);
const writeQuoteList = compileRender(QuoteListAnswer);

const TOKEN_DIGITS = 6;

/** Currency → destination units for one token. */
export type Rates = Record<string, number>;

/** Renders offramps and quotes; URLs in responses are built from the public URL. */
export type OfframpRenderer = ReturnType<typeof createOfframpRenderer>;

export function createOfframpRenderer(publicUrl: () => string, clock: Pick<Clock, "now">) {
  const toRecord = (offramp: Offramp): Static<typeof OfframpRecord> => {
    const digits = minorDigits(offramp.destination_currency)!;
    const { details, document_status } = offramp;
    const uploaded = `${publicUrl()}/offramps/${offramp.id}/supporting-documents`;
    const submitted_url = offramp.document_source === "upload" ? uploaded : details.submitted_url;
    return {
      id: offramp.id,
      user_id: offramp.user_id,
      payment_detail_id: offramp.payment_detail_id,
      quote_id: offramp.quote_id,
      status: offramp.status,
      status_message: offramp.status_message,
      destination_amount: minorToNumber(offramp.destination_amount, digits),
      destination_currency: offramp.destination_currency,
      reference: details.reference ?? "",
      rails: offramp.rails,
      rate: Number(offramp.rate),
      fee: minorToNumber(offramp.fee, digits),
      supporting_document: document_status && { submitted_url, status: document_status },
      payout_reference: offramp.payout_reference,
      ...(offramp.invoice_id === null ? {} : { invoice_id: offramp.invoice_id }),
      metadata: details.metadata,
      created_at: isoTime(offramp.created_at),
      updated_at: isoTime(offramp.updated_at),
    };
  };
  const toQuote = (quote: Quote, rates: Rates) => ({
    id: quote.id,
    user_id: quote.user_id,
    deposit_token: quote.deposit_token,
    deposit_token_chain: quote.deposit_token_chain,
    deposit_token_amount: minorToNumber(quote.token_amount, TOKEN_DIGITS),
    fees: minorToNumber(quote.token_fees, TOKEN_DIGITS),
    expiry: Math.floor(quote.expires_at.getTime() / 1000),
    executed: quote.executed_at !== null,
    status: quoteStatus(quote, clock.now()),
    rates,
    created_at: quote.created_at.toISOString(),
    updated_at: quote.updated_at.toISOString(),
  });

  // Creation renders each record twice: for the response and for its event.
  const written = new WeakMap<Offramp, string>();
  const write = (offramp: Offramp): string => {
    const known = written.get(offramp);
    if (known !== undefined) return known;
    const text = writeRecord(toRecord(offramp));
    written.set(offramp, text);
    return text;
  };
  const writeAll = (offramps: readonly Offramp[]) => `[${offramps.map(write).join(",")}]`;

  return {
    offramp: (offramp: Offramp) => `{"offramp":${write(offramp)}}`,
    created: (offramps: readonly Offramp[]) => `{"offramps":${writeAll(offramps)}}`,
    list: (offramps: readonly Offramp[], has_more: boolean) =>
      `{"offramps":${writeAll(offramps)},"has_more":${has_more}}`,
    event: (offramp: Offramp) =>
      `{"event":"offramp_update","timestamp":${offramp.updated_at.getTime()},` +
      `"payload":{"offramp":${write(offramp)}}}`,
    quote: (quote: Quote, offramps: readonly Offramp[], rates: Rates) =>
      writeQuote({
        quote: toQuote(quote, rates),
        deposit_address: { address: quote.deposit_address, blockchain: quote.deposit_token_chain },
        crypto_transfer: toNamedTransfer(quote),
        ...toApproval(quote),
        offramps: offramps.map(toRecord),
        ...(offramps.length < quote.offramp_count ? { has_more_offramps: true } : {}),
      }),
    quotes: (quotes: readonly Quote[], rates_of: (quote: Quote) => Rates, has_more: boolean) =>
      writeQuoteList({ quotes: quotes.map((quote) => toQuote(quote, rates_of(quote))), has_more }),
  };
}

function toNamedTransfer({ tx_id, deposit_token_chain, tx_network, tx_status }: Quote) {
  if (tx_id === null) return null;
  const network = tx_network ?? "";
  return { tx_id, blockchain: deposit_token_chain, network, status: tx_status ?? "unknown" };
}

/** Only where paying the quote needs two members. */
function toApproval({ proposal_id, approval_status: status }: Quote) {
  return proposal_id && status ? { approval: { proposal_id, status } } : {};
}

import type { CallOptions } from "../api.ts";
import type { List } from "../list.ts";
import type { Answer, Body, Query, Schema } from "../types.ts";
import { Resource } from "./resource.ts";

const ALL = "/users/{user_id}/quotes";
const ONE = "/users/{user_id}/quotes/{quote_id}";

export type Quote = Schema<"Quote">;
export type NewQuote = Body<"post", typeof ALL>["quote"];
/** A quote with its offramps and where to send the tokens. */
export type QuoteWithOfframps = Answer<"get", typeof ONE>;
export type CryptoTransfer = Body<"post", `${typeof ONE}/execute`>["quote"]["crypto_transfer"];
export type QuoteRate = Schema<"QuoteRate">;
export type NewQuoteRate = Body<"post", "/users/{user_id}/quote/rate">["quote"];

/** Prices that are valid for a limited time, and their payouts. */
export class Quotes extends Resource {
  create(user_id: string, quote: NewQuote, options?: CallOptions): Promise<QuoteWithOfframps> {
    return this.api.send("post", ALL, { path: { user_id }, body: { quote } }, options);
  }

  show(user_id: string, quote_id: string, options?: CallOptions): Promise<QuoteWithOfframps> {
    return this.api.send("get", ONE, { path: { user_id, quote_id } }, options);
  }

  list(user_id: string, query: Query<typeof ALL> = {}, options?: CallOptions): List<Quote> {
    return this.api.list(ALL, "quotes", { path: { user_id }, query }, options);
  }

  /** Names the transfer that pays for the quote; it is confirmed in the background. */
  execute(
    user_id: string,
    quote_id: string,
    crypto_transfer: CryptoTransfer,
    options?: CallOptions,
  ): Promise<QuoteWithOfframps> {
    const input = { path: { user_id, quote_id }, body: { quote: { crypto_transfer } } };
    return this.api.send("post", `${ONE}/execute`, input, options);
  }

  /** Pays for the quote with the user's balance. */
  fund(user_id: string, quote_id: string, options?: CallOptions): Promise<QuoteWithOfframps> {
    return this.api.send("post", `${ONE}/fund`, { path: { user_id, quote_id } }, options);
  }

  /** Prices one payout without storing anything. */
  async rate(user_id: string, quote: NewQuoteRate, options?: CallOptions): Promise<QuoteRate> {
    const input = { path: { user_id }, body: { quote } };
    return this.api.sendFor("quote", "post", "/users/{user_id}/quote/rate", input, options);
  }
}

import { TOKEN_AMOUNT_MAX } from "../../catalogue/chains.ts";
import type { Problem } from "../../platform/errors.ts";
import type { Offramp } from "../model.ts";
import { OFFRAMPS_PER_QUOTE_MAX, type Quote } from "./model.ts";

/** The quote with the cost of its new offramps added. */
export function withTotals(quote: Quote, offramps: readonly Offramp[], now: Date): Quote {
  let { token_amount, token_fees } = quote;
  for (const offramp of offramps) {
    token_amount += offramp.token_amount;
    token_fees += offramp.token_fee;
  }
  const offramp_count = quote.offramp_count + offramps.length;
  return { ...quote, token_amount, token_fees, offramp_count, updated_at: now };
}

export function totalProblems(quote: Quote): Problem[] {
  const problems: Problem[] = [];
  const refuse = (message: string) =>
    problems.push({ field: "offramps", code: "record_invalid", message });
  if (quote.offramp_count > OFFRAMPS_PER_QUOTE_MAX) {
    refuse(`A quote can have at most ${OFFRAMPS_PER_QUOTE_MAX} offramps; create another quote.`);
  }
  if (quote.token_amount > TOKEN_AMOUNT_MAX) {
    refuse("The total of a quote must be below 1 000 000 000 tokens; create another quote.");
  }
  return problems;
}

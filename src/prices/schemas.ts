import Type from "typebox";
import { CHAINS, TOKENS } from "../catalogue/chains.ts";
import { RAILS } from "../catalogue/rails.ts";
import { closedObject, optional, titledObject } from "../platform/schema-parts.ts";

const amount = (description: string) =>
  Type.Optional(Type.Union([Type.Number(), Type.String(), Type.Null()], { description }));

export const QuoteRateBody = closedObject({
  quote: closedObject({
    deposit_token: Type.String({ description: `One of ${TOKENS.join(", ")}.` }),
    deposit_token_chain: Type.String({ description: `One of ${CHAINS.join(", ")}.` }),
    fiat_currency: Type.String({ description: "The payout currency, e.g. eur." }),
    rails: optional(
      Type.String(),
      `One of ${RAILS.join(", ")}; default the first that the currency offers.`,
    ),
    fiat_amount: amount("The amount the payee receives. Send either this or deposit_token_amount."),
    deposit_token_amount: amount("The tokens to spend, fees included."),
  }),
});

export const QuoteRateAnswer = Type.Object({
  quote: titledObject("QuoteRate", {
    deposit_token: Type.Enum([...TOKENS]),
    deposit_token_chain: Type.Enum([...CHAINS]),
    deposit_token_amount: Type.Number({ description: "As sent, or the cost with fees." }),
    fiat_amount: Type.Number({
      description: "As sent, or the maximum that deposit_token_amount pays for.",
    }),
    fiat_currency: Type.String(),
    currency_pair: Type.String({ description: "Token and currency, e.g. usdceur." }),
    fees: Type.Number({ description: "In the token." }),
    rails: Type.Enum([...RAILS]),
    rate: Type.Number({ description: "Units of the currency for one token." }),
    expiry: Type.Null({ description: "Nothing is stored and no rate is locked." }),
  }),
});

const MODES = ["sending", "receiving"] as const;

export const ConversionBody = closedObject({
  conversion: closedObject({
    input_currency: Type.String({ description: "A token, or for an onramp usd or eur." }),
    input_amount: amount("The amount to send; with mode sending."),
    output_currency: Type.String({ description: "A payout currency, or a token." }),
    output_amount: amount("The amount to receive; with mode receiving."),
    mode: Type.Enum(MODES, { description: "Which of the two amounts you send." }),
  }),
});

export const ConversionAnswer = Type.Object({
  conversion: titledObject("Conversion", {
    input_currency: Type.String(),
    input_amount: Type.Number(),
    output_currency: Type.String(),
    output_amount: Type.Number(),
    mode: Type.Enum(MODES),
    exchange_rate: Type.Record(Type.String(), Type.Number(), {
      description: "Units of the fiat currency for one token, under their names: `usdc_eur`.",
    }),
    fees: Type.Number({ description: "In the fiat currency." }),
  }),
});

import Type from "typebox";
import { CHAINS, TOKENS } from "../catalogue/chains.ts";
import { RAILS } from "../catalogue/rails.ts";

const closed = { additionalProperties: false };
const amount = (description: string) =>
  Type.Optional(Type.Union([Type.Number(), Type.String(), Type.Null()], { description }));

export const QuoteRateBody = Type.Object(
  {
    quote: Type.Object(
      {
        deposit_token: Type.String({ description: `One of ${TOKENS.join(", ")}.` }),
        deposit_token_chain: Type.String({ description: `One of ${CHAINS.join(", ")}.` }),
        fiat_currency: Type.String({ description: "What is paid out, e.g. eur." }),
        rails: Type.Optional(
          Type.Union([Type.String(), Type.Null()], {
            description: `One of ${RAILS.join(", ")}; default the first that the currency offers.`,
          }),
        ),
        fiat_amount: amount("What the payee shall receive. Either this or deposit_token_amount."),
        deposit_token_amount: amount("What is to be spent, fees included."),
      },
      closed,
    ),
  },
  closed,
);

export const QuoteRateAnswer = Type.Object({
  quote: Type.Object(
    {
      deposit_token: Type.Enum([...TOKENS]),
      deposit_token_chain: Type.Enum([...CHAINS]),
      deposit_token_amount: Type.Number({ description: "As asked, or what it costs with fees." }),
      fiat_amount: Type.Number({
        description: "As asked, or the most that deposit_token_amount pays for.",
      }),
      fiat_currency: Type.String(),
      currency_pair: Type.String({ description: "Token and currency, e.g. usdceur." }),
      fees: Type.Number({ description: "In the token." }),
      rails: Type.Enum([...RAILS]),
      rate: Type.Number({ description: "Units of the currency for one token." }),
      expiry: Type.Null({ description: "Nothing is stored and no rate is kept." }),
    },
    { title: "QuoteRate" },
  ),
});

const MODES = ["sending", "receiving"];

export const ConversionBody = Type.Object(
  {
    conversion: Type.Object(
      {
        input_currency: Type.String({ description: "A token, or for an onramp usd or eur." }),
        input_amount: amount("What is sent; with mode sending."),
        output_currency: Type.String({ description: "A currency paid out, or a token." }),
        output_amount: amount("What shall be received; with mode receiving."),
        mode: Type.Enum(MODES, { description: "Which of the two amounts is given." }),
      },
      closed,
    ),
  },
  closed,
);

export const ConversionAnswer = Type.Object({
  conversion: Type.Object(
    {
      input_currency: Type.String(),
      input_amount: Type.Number(),
      output_currency: Type.String(),
      output_amount: Type.Number(),
      mode: Type.Enum(MODES),
      exchange_rate: Type.Record(Type.String(), Type.Number(), {
        description: "Units of the fiat currency for one token, under their names: `usdc_eur`.",
      }),
      fees: Type.Number({ description: "In the fiat currency." }),
    },
    { title: "Conversion" },
  ),
});

import Type from "typebox";
import { PROPOSAL_STATUSES } from "../../approvals/model.ts";
import { CHAINS, TOKENS } from "../../catalogue/chains.ts";
import { listAnswer, listQuery } from "../../platform/http/list.ts";
import { OfframpRecord } from "../schemas.ts";
import { QUOTE_STATUSES } from "./model.ts";

const closed = { additionalProperties: false };

export const CreateQuoteBody = Type.Object(
  {
    quote: Type.Object(
      {
        deposit_token: Type.String({ description: `One of ${TOKENS.join(", ")}.` }),
        deposit_token_chain: Type.String({ description: `One of ${CHAINS.join(", ")}.` }),
      },
      closed,
    ),
  },
  closed,
);

const QuoteRecord = Type.Object(
  {
    id: Type.String({ format: "uuid" }),
    user_id: Type.String({ format: "uuid" }),
    deposit_token: Type.Enum([...TOKENS]),
    deposit_token_chain: Type.Enum([...CHAINS]),
    deposit_token_amount: Type.Number({ description: "What its offramps cost, fees included." }),
    fees: Type.Number({ description: "The fees contained in it, in the token." }),
    expiry: Type.Integer({ description: "Unix seconds." }),
    executed: Type.Boolean(),
    status: Type.Enum([...QUOTE_STATUSES], {
      description:
        "`open`: offramps can be added until the expiry. `executed`: the transfer was named, or " +
        "the balance used. `expired`: not executed in time. `failed`: executed, but not paid in " +
        "time; its offramps have failed.",
    }),
    rates: Type.Record(Type.String(), Type.Number(), {
      description: "Destination units for one token, for the currencies in use.",
    }),
    created_at: Type.String({ format: "date-time" }),
    updated_at: Type.String({ format: "date-time" }),
  },
  { title: "Quote" },
);

const DepositAddressRecord = Type.Object({
  address: Type.String(),
  blockchain: Type.String(),
});

const CryptoTransfer = Type.Union([
  Type.Object({ tx_id: Type.String(), blockchain: Type.String(), network: Type.String() }),
  Type.Null(),
]);

export const QuoteAnswer = Type.Object(
  {
    quote: QuoteRecord,
    deposit_address: DepositAddressRecord,
    crypto_transfer: CryptoTransfer,
    approval: Type.Optional(
      Type.Object(
        {
          proposal_id: Type.String({ format: "uuid" }),
          status: Type.Enum([...PROPOSAL_STATUSES], {
            description: "Of the proposal. Until it is `done` the offramps are not paid.",
          }),
        },
        { description: "Present when paying the offramps needs two members." },
      ),
    ),
    offramps: Type.Array(OfframpRecord, { description: "At most 500; see has_more_offramps." }),
    has_more_offramps: Type.Optional(Type.Boolean()),
  },
  { title: "QuoteAnswer" },
);

export const QuoteListAnswer = listAnswer("quotes", QuoteRecord);
export const QuoteListQuery = listQuery({
  status: Type.Optional(
    Type.Enum([...QUOTE_STATUSES], { description: "Only quotes with this status." }),
  ),
});

export const ExecuteQuoteBody = Type.Object(
  {
    quote: Type.Object(
      {
        crypto_transfer: Type.Object(
          {
            tx_id: Type.String({
              description:
                "Hash of the transaction that pays for the quote: 64 hexadecimal digits, 0x " +
                "optional; on solana its signature in base58.",
            }),
            blockchain: Type.String({ description: "The chain of the quote." }),
            network: Type.String({ description: "E.g. mainnet, sepolia." }),
          },
          closed,
        ),
      },
      closed,
    ),
  },
  closed,
);

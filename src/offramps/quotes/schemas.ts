import Type from "typebox";
import { PROPOSAL_STATUSES } from "../../approvals/model.ts";
import { CHAINS, TOKENS } from "../../catalogue/chains.ts";
import { TRANSFER_STATUSES } from "../../partners/chain/port.ts";
import { byStatus, listAnswer, listQuery } from "../../platform/http/list.ts";
import { closedObject, nullable, TIME, titledObject, UUID } from "../../platform/schema-parts.ts";
import { OfframpRecord } from "../schemas.ts";
import { QUOTE_STATUSES } from "./model.ts";

export const CreateQuoteBody = closedObject({
  quote: closedObject({
    deposit_token: Type.String({ description: `One of ${TOKENS.join(", ")}.` }),
    deposit_token_chain: Type.String({ description: `One of ${CHAINS.join(", ")}.` }),
  }),
});

const QuoteRecord = titledObject("Quote", {
  id: UUID,
  user_id: UUID,
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
  created_at: TIME,
  updated_at: TIME,
});

const DepositAddressRecord = Type.Object({
  address: Type.String(),
  blockchain: Type.String(),
});

const CryptoTransfer = nullable(
  titledObject("NamedTransfer", {
    tx_id: Type.String(),
    blockchain: Type.String(),
    network: Type.String(),
    status: Type.Enum([...TRANSFER_STATUSES], {
      description:
        "What the chain says about the transfer. Deposits are credited whoever names them.",
    }),
  }),
);

export const QuoteAnswer = titledObject("QuoteAnswer", {
  quote: QuoteRecord,
  deposit_address: DepositAddressRecord,
  crypto_transfer: CryptoTransfer,
  approval: Type.Optional(
    Type.Object(
      {
        proposal_id: UUID,
        status: Type.Enum([...PROPOSAL_STATUSES], {
          description: "Of the proposal. Until it is `done` the offramps are not paid.",
        }),
      },
      { description: "Present when paying the offramps needs two members." },
    ),
  ),
  offramps: Type.Array(OfframpRecord, {
    description: "At most 500, fewer if they are very large; see has_more_offramps.",
  }),
  has_more_offramps: Type.Optional(Type.Boolean()),
});

export const QuoteListAnswer = listAnswer("quotes", QuoteRecord);
export const QuoteListQuery = listQuery(byStatus(QUOTE_STATUSES, "Only quotes with this status."));

export const ExecuteQuoteBody = closedObject({
  quote: closedObject({
    crypto_transfer: closedObject({
      tx_id: Type.String({
        description:
          "Hash of the transaction that pays for the quote: 64 hexadecimal digits, 0x " +
          "optional; on solana its signature in base58.",
      }),
      blockchain: Type.String({ description: "The chain of the quote." }),
      network: Type.String({ description: "E.g. mainnet, sepolia." }),
    }),
  }),
});

import Type from "typebox";
import { CHAINS, TOKENS } from "../catalogue/chains.ts";
import { listAnswer, listQuery } from "../platform/http/list.ts";
import { nullable, TIME, titledObject, UUID } from "../platform/schema-parts.ts";
import { MISSING_PARTS } from "./ivms101.ts";
import { TRANSFER_KINDS, TRANSFER_STATUSES, TRAVEL_STATUSES } from "./model.ts";

const status = Type.Enum([...TRAVEL_STATUSES]);

const SUMMARY = {
  id: UUID,
  user_id: UUID,
  kind: Type.Enum([...TRANSFER_KINDS]),
  record_id: Type.String({ format: "uuid", description: "The onramp or refund." }),
  token: Type.Enum([...TOKENS]),
  chain: Type.Enum([...CHAINS]),
  amount: Type.Number({ description: "The tokens that were sent." }),
  amount_usd: Type.Number({ description: "Their value when they were sent." }),
  status,
  missing: Type.Array(Type.Enum([...MISSING_PARTS]), {
    description: "What was not known when the tokens were sent.",
  }),
  transfer_status: Type.Enum([...TRANSFER_STATUSES]),
  tx_id: nullable(Type.String()),
  created_at: TIME,
  updated_at: TIME,
};

export const TravelSummary = titledObject("TravelRecordSummary", SUMMARY);

export const TravelAnswer = Type.Object({
  travel_record: titledObject("TravelRecord", {
    ...SUMMARY,
    ivms101: nullable(
      Type.Record(Type.String(), Type.Unknown()),
      "Originator and beneficiary in the data model IVMS101 (2020). Null once the user is erased.",
    ),
  }),
});
export const TravelListAnswer = listAnswer("travel_records", TravelSummary);
export const TravelListQuery = listQuery({
  user_id: Type.Optional(Type.String({ description: "Only transfers of this user." })),
  status: Type.Optional(
    Type.Enum([...TRAVEL_STATUSES], { description: "Only records with this status." }),
  ),
});

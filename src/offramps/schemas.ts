import Type from "typebox";
import { listAnswer, listQuery } from "../platform/http/list.ts";
import {
  closedObject,
  METADATA,
  NULLABLE_TEXT,
  nullable,
  OPTIONAL_METADATA,
  OPTIONAL_REASON,
  optional,
  optionalText,
  TIME,
  titledObject,
  UUID,
} from "../platform/schema-parts.ts";
import { DOCUMENT_STATUSES, OFFRAMP_STATUSES } from "./model.ts";

const OFFRAMPS_PER_REQUEST_MAX = 500;

export const CreateOfframpsBody = closedObject({
  offramps: Type.Array(
    closedObject({
      payment_detail_id: Type.String({ description: "The bank account to pay." }),
      destination_amount: Type.Union([Type.Number(), Type.String()], {
        description: "The amount that the payee receives, as a number or a plain decimal string.",
        errorMessage: "Send a number or a plain decimal string such as 1000.50.",
      }),
      destination_currency: Type.String({ description: "E.g. usd, eur." }),
      rails: optionalText("local, swift or wire."),
      reference: optionalText("At most 140 characters; forwarded on EUR routes."),
      supporting_document_attributes: optional(
        closedObject({ submitted_url: optionalText("URL of the file itself.") }),
      ),
      invoice_id: optionalText("The invoice that this payout pays, at its full total."),
      metadata: OPTIONAL_METADATA,
    }),
    { minItems: 1, maxItems: OFFRAMPS_PER_REQUEST_MAX },
  ),
});

export const UpdateOfframpBody = closedObject({
  offramp: closedObject({
    reference: optionalText("At most 140 characters."),
    metadata: OPTIONAL_METADATA,
  }),
});

export const OfframpRecord = titledObject("Offramp", {
  id: UUID,
  user_id: UUID,
  payment_detail_id: UUID,
  quote_id: UUID,
  status: Type.Enum([...OFFRAMP_STATUSES]),
  status_message: NULLABLE_TEXT,
  destination_amount: Type.Number(),
  destination_currency: Type.String(),
  reference: Type.String({ description: "Empty if none was sent." }),
  rails: Type.String(),
  rate: Type.Number({ description: "Destination units for one token." }),
  fee: Type.Number({ description: "In the destination currency." }),
  supporting_document: nullable(
    Type.Object({ submitted_url: NULLABLE_TEXT, status: Type.Enum([...DOCUMENT_STATUSES]) }),
  ),
  payout_reference: nullable(
    Type.Object({
      end_to_end_id: Type.String(),
      trace_number: NULLABLE_TEXT,
      uetr: NULLABLE_TEXT,
    }),
  ),
  invoice_id: Type.Optional(
    Type.String({ format: "uuid", description: "Only if it pays an invoice." }),
  ),
  metadata: METADATA,
  created_at: TIME,
  updated_at: TIME,
});

export const OfframpAnswer = Type.Object({ offramp: OfframpRecord });
export const OfframpsAnswer = Type.Object({ offramps: Type.Array(OfframpRecord) });
export const OfframpListAnswer = listAnswer("offramps", OfframpRecord);
export const OfframpListQuery = listQuery({
  status: Type.Optional(
    Type.Enum([...OFFRAMP_STATUSES], { description: "Only offramps with this status." }),
  ),
  quote_id: Type.Optional(Type.String({ description: "Only offramps of this quote." })),
});
export const AccountOfframpListQuery = listQuery({
  ...OfframpListQuery.properties,
  user_id: Type.Optional(Type.String({ description: "Only offramps of this user." })),
});

export const RerouteBody = closedObject({
  offramp: closedObject({
    payment_detail_id: Type.String({
      description: "A payment detail of the same user and currency.",
    }),
  }),
  reason: OPTIONAL_REASON,
});

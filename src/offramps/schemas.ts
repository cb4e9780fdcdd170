import Type from "typebox";
import { listAnswer, listQuery } from "../platform/http/list.ts";
import { DOCUMENT_STATUSES, OFFRAMP_STATUSES } from "./model.ts";

const closed = { additionalProperties: false };
const nullableText = Type.Union([Type.String(), Type.Null()]);
const optionalText = (description: string) =>
  Type.Optional(Type.Union([Type.String(), Type.Null()], { description }));
const metadataInput = Type.Optional(
  Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()], {
    description: "At most 50 keys of at most 40 characters; values of at most 500 characters.",
  }),
);

const OFFRAMPS_PER_REQUEST_MAX = 500;

export const CreateOfframpsBody = Type.Object(
  {
    offramps: Type.Array(
      Type.Object(
        {
          payment_detail_id: Type.String({ description: "The bank account to pay." }),
          destination_amount: Type.Union([Type.Number(), Type.String()], {
            description:
              "The amount that the payee receives, as a number or a plain decimal string.",
            errorMessage: "Send a number or a plain decimal string such as 1000.50.",
          }),
          destination_currency: Type.String({ description: "E.g. usd, eur." }),
          rails: optionalText("local, swift or wire."),
          reference: optionalText("At most 140 characters; forwarded on EUR routes."),
          supporting_document_attributes: Type.Optional(
            Type.Union([
              Type.Object({ submitted_url: optionalText("URL of the file itself.") }, closed),
              Type.Null(),
            ]),
          ),
          invoice_id: optionalText("The invoice that this payout pays, at its full total."),
          metadata: metadataInput,
        },
        closed,
      ),
      { minItems: 1, maxItems: OFFRAMPS_PER_REQUEST_MAX },
    ),
  },
  closed,
);

export const UpdateOfframpBody = Type.Object(
  {
    offramp: Type.Object(
      { reference: optionalText("At most 140 characters."), metadata: metadataInput },
      closed,
    ),
  },
  closed,
);

export const OfframpRecord = Type.Object(
  {
    id: Type.String({ format: "uuid" }),
    user_id: Type.String({ format: "uuid" }),
    payment_detail_id: Type.String({ format: "uuid" }),
    quote_id: Type.String({ format: "uuid" }),
    status: Type.Enum([...OFFRAMP_STATUSES]),
    status_message: nullableText,
    destination_amount: Type.Number(),
    destination_currency: Type.String(),
    reference: Type.String({ description: "Empty if none was sent." }),
    rails: Type.String(),
    rate: Type.Number({ description: "Destination units for one token." }),
    fee: Type.Number({ description: "In the destination currency." }),
    supporting_document: Type.Union([
      Type.Object({ submitted_url: nullableText, status: Type.Enum([...DOCUMENT_STATUSES]) }),
      Type.Null(),
    ]),
    payout_reference: Type.Union([
      Type.Object({
        end_to_end_id: Type.String(),
        trace_number: nullableText,
        uetr: nullableText,
      }),
      Type.Null(),
    ]),
    invoice_id: Type.Optional(
      Type.String({ format: "uuid", description: "Only if it pays an invoice." }),
    ),
    metadata: Type.Record(Type.String(), Type.Unknown()),
    created_at: Type.String({ format: "date-time" }),
    updated_at: Type.String({ format: "date-time" }),
  },
  { title: "Offramp" },
);

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

export const RerouteBody = Type.Object(
  {
    offramp: Type.Object(
      {
        payment_detail_id: Type.String({
          description: "A payment detail of the same user and currency.",
        }),
      },
      closed,
    ),
  },
  closed,
);

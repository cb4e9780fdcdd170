import Type from "typebox";
import {
  BENEFICIARY_TYPES,
  FIELD_NAMES,
  GENERAL_FIELDS,
} from "../catalogue/payment-detail-fields.ts";
import { listAnswer, listQuery } from "../platform/http/list.ts";
import { PAYMENT_DETAIL_STATUSES } from "./model.ts";

const described = new Map(GENERAL_FIELDS.map((field) => [field.name, field.description]));
const nullable = Type.Union([Type.String(), Type.Null()]);
const metadata = Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()], {
  description: "At most 50 keys of at most 40 characters; values of at most 500 characters.",
});
const closed = { additionalProperties: false };

// The fields that a currency and rail need are data (GET /payment_detail_requirements), so the
// schema has only what every payment detail needs; the model reports the rest in the same response.
const input = Object.fromEntries(
  FIELD_NAMES.map((name) => {
    const description = described.get(name) ?? "See GET /payment_detail_requirements.";
    const text = Type.Union([Type.String(), Type.Null()], { description });
    const always = GENERAL_FIELDS.some((field) => field.name === name && field.needed === "always");
    return [name, always ? text : Type.Optional(text)];
  }),
);

export const PaymentDetailBody = Type.Object(
  { payment_detail: Type.Object({ ...input, metadata: Type.Optional(metadata) }, closed) },
  closed,
);

export const PaymentDetailRecord = Type.Object(
  {
    id: Type.String({ format: "uuid" }),
    user_id: Type.String({ format: "uuid" }),
    status: Type.Enum([...PAYMENT_DETAIL_STATUSES]),
    ...Object.fromEntries(FIELD_NAMES.map((name) => [name, nullable])),
    beneficiary_type: Type.Enum([...BENEFICIARY_TYPES]),
    metadata: Type.Record(Type.String(), Type.Unknown()),
    created_at: Type.String({ format: "date-time" }),
    updated_at: Type.String({ format: "date-time" }),
  },
  { title: "PaymentDetail" },
);

export const PaymentDetailAnswer = Type.Object({ payment_detail: PaymentDetailRecord });
export const PaymentDetailListAnswer = listAnswer("payment_details", PaymentDetailRecord);
export const PaymentDetailListQuery = listQuery({
  status: Type.Optional(Type.Enum([...PAYMENT_DETAIL_STATUSES])),
});

export const PaymentDetailEvent = Type.Object({
  event: Type.String(),
  timestamp: Type.Integer(),
  payload: Type.Object({ payment_detail: PaymentDetailRecord }),
});

export const ValidationAnswer = Type.Object({
  payment_detail: Type.Object({
    valid: Type.Boolean(),
    errors: Type.Array(
      Type.Object({ field: Type.String(), code: Type.String(), message: Type.String() }),
    ),
  }),
});

export const RequirementsQuery = Type.Object(
  {
    currency: Type.Optional(Type.String({ description: "Only this currency, e.g. eur." })),
    rails: Type.Optional(Type.String({ description: "Only this rail: local, swift or wire." })),
    beneficiary_type: Type.Optional(Type.Enum([...BENEFICIARY_TYPES])),
  },
  closed,
);

export const RequirementsAnswer = Type.Object({
  payment_detail_requirements: Type.Array(
    Type.Object(
      {
        currency: Type.String(),
        rails: Type.String(),
        beneficiary_type: Type.Enum([...BENEFICIARY_TYPES]),
        minimum_amount: Type.Union([Type.Number(), Type.Null()], {
          description: "Minimum amount of an offramp; null where it is stated in usd.",
        }),
        minimum_usd_equivalent: Type.Union([Type.Number(), Type.Null()]),
        experimental: Type.Boolean(),
        bank_countries: Type.Union([Type.Array(Type.String()), Type.Null()], {
          description:
            "ISO 3166-1 codes: the country of an IBAN or BIC must be one of them. Null: any.",
        }),
        fields: Type.Array(
          Type.Object({
            name: Type.String(),
            required: Type.Boolean(),
            pattern: nullable,
            check: nullable,
            max_length: Type.Integer(),
            description: Type.String(),
            example: Type.String(),
          }),
        ),
        one_of: Type.Array(Type.Array(Type.String()), {
          description: "Sets of fields of which one must be complete.",
        }),
      },
      { title: "PaymentDetailRequirement" },
    ),
  ),
});

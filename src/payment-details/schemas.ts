import Type from "typebox";
import {
  BENEFICIARY_TYPES,
  FIELD_NAMES,
  GENERAL_FIELDS,
} from "../catalogue/payment-detail-fields.ts";
import { byStatus, listAnswer, listQuery } from "../platform/http/list.ts";
import {
  closedObject,
  METADATA,
  NULLABLE_TEXT,
  nullable,
  OPTIONAL_METADATA,
  TIME,
  titledObject,
  UUID,
} from "../platform/schema-parts.ts";
import { PAYMENT_DETAIL_STATUSES } from "./model.ts";

const described = new Map(GENERAL_FIELDS.map((field) => [field.name, field.description]));

// The fields that a currency and rail need are data (GET /payment_detail_requirements), so the
// schema has only what every payment detail needs; the model reports the rest in the same response.
const input = Object.fromEntries(
  FIELD_NAMES.map((name) => {
    const description = described.get(name) ?? "See GET /payment_detail_requirements.";
    const text = nullable(Type.String(), description);
    const always = GENERAL_FIELDS.some((field) => field.name === name && field.needed === "always");
    return [name, always ? text : Type.Optional(text)];
  }),
);

export const PaymentDetailBody = closedObject({
  payment_detail: closedObject({ ...input, metadata: OPTIONAL_METADATA }),
});

export const PaymentDetailRecord = titledObject("PaymentDetail", {
  id: UUID,
  user_id: UUID,
  status: Type.Enum([...PAYMENT_DETAIL_STATUSES]),
  ...Object.fromEntries(FIELD_NAMES.map((name) => [name, NULLABLE_TEXT])),
  beneficiary_type: Type.Enum([...BENEFICIARY_TYPES]),
  metadata: METADATA,
  created_at: TIME,
  updated_at: TIME,
});

export const PaymentDetailAnswer = Type.Object({ payment_detail: PaymentDetailRecord });
export const PaymentDetailListAnswer = listAnswer("payment_details", PaymentDetailRecord);
export const PaymentDetailListQuery = listQuery(byStatus(PAYMENT_DETAIL_STATUSES));

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

export const RequirementsQuery = closedObject({
  currency: Type.Optional(Type.String({ description: "Only this currency, e.g. eur." })),
  rails: Type.Optional(Type.String({ description: "Only this rail: local, swift or wire." })),
  beneficiary_type: Type.Optional(Type.Enum([...BENEFICIARY_TYPES])),
});

export const RequirementsAnswer = Type.Object({
  payment_detail_requirements: Type.Array(
    titledObject("PaymentDetailRequirement", {
      currency: Type.String(),
      rails: Type.String(),
      beneficiary_type: Type.Enum([...BENEFICIARY_TYPES]),
      minimum_amount: nullable(
        Type.Number(),
        "Minimum amount of an offramp; null where it is stated in usd.",
      ),
      minimum_usd_equivalent: nullable(Type.Number()),
      experimental: Type.Boolean(),
      bank_countries: nullable(
        Type.Array(Type.String()),
        "ISO 3166-1 codes: the country of an IBAN or BIC must be one of them. Null: any.",
      ),
      fields: Type.Array(
        Type.Object({
          name: Type.String(),
          required: Type.Boolean(),
          pattern: NULLABLE_TEXT,
          check: NULLABLE_TEXT,
          max_length: Type.Integer(),
          description: Type.String(),
          example: Type.String(),
        }),
      ),
      one_of: Type.Array(Type.Array(Type.String()), {
        description: "Sets of fields of which one must be complete.",
      }),
    }),
  ),
});

import Type from "typebox";
import { byStatus, listAnswer, listQuery } from "../platform/http/list.ts";
import {
  closedObject,
  METADATA,
  NULLABLE_TEXT,
  nullable,
  OPTIONAL_METADATA,
  optionalText,
  TIME,
  titledObject,
  UUID,
} from "../platform/schema-parts.ts";
import { KYC_STATUSES } from "./model.ts";

// Optional text may also be null: absent, null and blank are equal. The model checks lengths and
// formats, so that all problems are reported at once.

const IDENTITY_INPUT = {
  date_of_birth: optionalText("DD/MM/YYYY or YYYY-MM-DD; of a business its founding date."),
  address_line1: optionalText("First address line."),
  address_line2: optionalText("Second address line."),
  city: optionalText("City."),
  state: optionalText("State; two letters in the United States."),
  postcode: optionalText("Postal or zip code."),
  country: optionalText("ISO 3166-1 alpha-2."),
  nationality: optionalText("ISO 3166-1 alpha-2."),
  phone: optionalText("E.164, e.g. +351210000000."),
  ssn: optionalText("Social security, tax or registration number."),
  source_of_funds: optionalText("Where the money comes from."),
  business_activity: optionalText("What a business does."),
  metadata: OPTIONAL_METADATA,
};

const NAMES_INPUT = {
  first_name: optionalText("As on the identity document; required for an individual."),
  last_name: optionalText("As on the identity document; required for an individual."),
  company_name: optionalText("Legal name; required for a business."),
};

export const CreateUserBody = closedObject({
  user: closedObject({
    beneficiary_type: Type.Enum(["individual", "business"]),
    email: Type.String({ description: "Unique within the account." }),
    ...NAMES_INPUT,
    ...IDENTITY_INPUT,
  }),
});

export const UpdateUserBody = closedObject({
  user: closedObject({
    email: optionalText("Unique within the account."),
    ...NAMES_INPUT,
    ...IDENTITY_INPUT,
  }),
});

const status = Type.Enum([...KYC_STATUSES]);
const perCurrency = Type.Object({ status, swift_status: status });

export const UserRecord = titledObject("User", {
  id: UUID,
  beneficiary_type: Type.Enum(["individual", "business"]),
  email: Type.String(),
  first_name: NULLABLE_TEXT,
  last_name: NULLABLE_TEXT,
  company_name: NULLABLE_TEXT,
  date_of_birth: NULLABLE_TEXT,
  address_line1: NULLABLE_TEXT,
  address_line2: NULLABLE_TEXT,
  city: NULLABLE_TEXT,
  state: NULLABLE_TEXT,
  postcode: NULLABLE_TEXT,
  country: NULLABLE_TEXT,
  nationality: NULLABLE_TEXT,
  phone: NULLABLE_TEXT,
  ssn: NULLABLE_TEXT,
  source_of_funds: NULLABLE_TEXT,
  business_activity: NULLABLE_TEXT,
  metadata: METADATA,
  kyc: Type.Object({
    general: Type.Object({ status, moderation_comment: NULLABLE_TEXT }),
    usd: perCurrency,
    eur: perCurrency,
  }),
  created_at: TIME,
  updated_at: TIME,
  deactivated_at: nullable(
    TIME,
    "Since when nothing new can be started, because the user's erasure was requested.",
  ),
});

export const UserAnswer = Type.Object({ user: UserRecord });
export const UserListAnswer = listAnswer("users", UserRecord);
export const UserListQuery = listQuery(byStatus(KYC_STATUSES, "The general KYC status."));

export const KycEvent = Type.Object({
  event: Type.String(),
  timestamp: Type.Integer(),
  payload: Type.Object({ user: UserRecord }),
});

import Type from "typebox";
import { listAnswer, listQuery } from "../platform/http/list.ts";
import { KYC_STATUSES } from "./model.ts";

// Optional text may also be null: absent, null and blank are equal. The model checks lengths and
// formats, so that all problems are reported at once.
const text = (description: string) => Type.Union([Type.String(), Type.Null()], { description });
const optional = (description: string) => Type.Optional(text(description));
const metadata = Type.Optional(
  Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()], {
    description: "At most 50 keys of at most 40 characters; values of at most 500 characters.",
  }),
);

const IDENTITY_INPUT = {
  date_of_birth: optional("DD/MM/YYYY or YYYY-MM-DD; of a business its founding date."),
  address_line1: optional("First address line."),
  address_line2: optional("Second address line."),
  city: optional("City."),
  state: optional("State; two letters in the United States."),
  postcode: optional("Postal or zip code."),
  country: optional("ISO 3166-1 alpha-2."),
  nationality: optional("ISO 3166-1 alpha-2."),
  phone: optional("E.164, e.g. +351210000000."),
  ssn: optional("Social security, tax or registration number."),
  source_of_funds: optional("Where the money comes from."),
  business_activity: optional("What a business does."),
  metadata,
};

const NAMES_INPUT = {
  first_name: optional("As on the identity document; required for an individual."),
  last_name: optional("As on the identity document; required for an individual."),
  company_name: optional("Legal name; required for a business."),
};

const closed = { additionalProperties: false };

export const CreateUserBody = Type.Object(
  {
    user: Type.Object(
      {
        beneficiary_type: Type.Enum(["individual", "business"]),
        email: Type.String({ description: "Unique within the account." }),
        ...NAMES_INPUT,
        ...IDENTITY_INPUT,
      },
      closed,
    ),
  },
  closed,
);

export const UpdateUserBody = Type.Object(
  {
    user: Type.Object(
      { email: optional("Unique within the account."), ...NAMES_INPUT, ...IDENTITY_INPUT },
      closed,
    ),
  },
  closed,
);

const status = Type.Enum([...KYC_STATUSES]);
const nullable = Type.Union([Type.String(), Type.Null()]);
const perCurrency = Type.Object({ status, swift_status: status });

export const UserRecord = Type.Object(
  {
    id: Type.String({ format: "uuid" }),
    beneficiary_type: Type.Enum(["individual", "business"]),
    email: Type.String(),
    first_name: nullable,
    last_name: nullable,
    company_name: nullable,
    date_of_birth: nullable,
    address_line1: nullable,
    address_line2: nullable,
    city: nullable,
    state: nullable,
    postcode: nullable,
    country: nullable,
    nationality: nullable,
    phone: nullable,
    ssn: nullable,
    source_of_funds: nullable,
    business_activity: nullable,
    metadata: Type.Record(Type.String(), Type.Unknown()),
    kyc: Type.Object({
      general: Type.Object({ status, moderation_comment: nullable }),
      usd: perCurrency,
      eur: perCurrency,
    }),
    created_at: Type.String({ format: "date-time" }),
    updated_at: Type.String({ format: "date-time" }),
  },
  { title: "User" },
);

export const UserAnswer = Type.Object({ user: UserRecord });
export const UserListAnswer = listAnswer("users", UserRecord);
export const UserListQuery = listQuery({
  status: Type.Optional(Type.Enum([...KYC_STATUSES], { description: "The general KYC status." })),
});

export const KycEvent = Type.Object({
  event: Type.String(),
  timestamp: Type.Integer(),
  payload: Type.Object({ user: UserRecord }),
});

import type { BeneficiaryType } from "../catalogue/payment-detail-fields.ts";
import type { FileType } from "../partners/files/judge-file.ts";
import type { Identity } from "../users/model.ts";
import { HAS_OWNERS, isOwnerField, OWNER_FIELDS, OWNER_LIMITS } from "./owners.ts";

/** Whether the back of an identity document is required. */
export const DOCUMENT_TYPES = {
  passport: false,
  identity_card: true,
  driving_licence: true,
  residence_permit: true,
} as const;

/** Every field of the page and its maximum length; null: checked by its format. */
export const FIELD_LIMITS = {
  first_name: 100,
  last_name: 100,
  company_name: 140,
  registration_number: 50,
  business_activity: 500,
  date_of_birth: null,
  nationality: null,
  address_line1: 140,
  address_line2: 140,
  city: 100,
  state: 100,
  postcode: 20,
  country: null,
  phone: 40,
  document_type: null,
  source_of_funds: 500,
  controller_first_name: 100,
  controller_last_name: 100,
  controller_date_of_birth: null,
  controller_nationality: null,
  controller_document_type: null,
  [HAS_OWNERS]: null,
  ...OWNER_LIMITS,
} as const;

export type IdentityFieldName = keyof typeof FIELD_LIMITS;
type FieldKind = "text" | "date" | "email" | "phone" | "country" | "select" | "percent";
export type Field = { name: IdentityFieldName; kind: FieldKind; required: boolean };
/** Values as stored: dates as `YYYY-MM-DD`, unknown ones null. */
export type Values = Record<IdentityFieldName, string | null>;

const text = (name: IdentityFieldName, required = true): Field => ({
  name,
  kind: "text",
  required,
});

/** State and postcode are `required` only where the country has them. */
const ADDRESS: readonly Field[] = [
  { name: "country", kind: "country", required: true },
  text("address_line1"),
  text("address_line2", false),
  text("city"),
  { name: "state", kind: "select", required: true },
  text("postcode"),
];

export const FIELDS: Readonly<Record<BeneficiaryType, readonly Field[]>> = {
  individual: [
    text("first_name"),
    text("last_name"),
    { name: "date_of_birth", kind: "date", required: true },
    { name: "nationality", kind: "country", required: true },
    ...ADDRESS,
    { name: "phone", kind: "phone", required: true },
    text("source_of_funds", false),
    { name: "document_type", kind: "select", required: true },
  ],
  business: [
    text("company_name"),
    text("registration_number"),
    text("business_activity"),
    ...ADDRESS,
    { name: "phone", kind: "phone", required: false },
    text("source_of_funds", false),
    text("controller_first_name"),
    text("controller_last_name"),
    { name: "controller_date_of_birth", kind: "date", required: true },
    { name: "controller_nationality", kind: "country", required: true },
    { name: "controller_document_type", kind: "select", required: true },
    ...OWNER_FIELDS,
  ],
};

/** The person whose birth date unmasks known data and whose document type decides on its back. */
export const PERSON_FIELDS = {
  individual: { birth_date: "date_of_birth", document_type: "document_type" },
  business: {
    birth_date: "controller_date_of_birth",
    document_type: "controller_document_type",
  },
} as const satisfies Record<BeneficiaryType, Record<string, IdentityFieldName>>;

export const SLOTS = [
  "document_front",
  "document_back",
  "selfie",
  "registration_document",
] as const;
export type Slot = (typeof SLOTS)[number];

export const SLOTS_OF: Readonly<Record<BeneficiaryType, readonly Slot[]>> = {
  individual: ["document_front", "document_back", "selfie"],
  business: ["registration_document", "document_front", "document_back", "selfie"],
};

export function acceptedTypes(slot: Slot): readonly FileType[] {
  return slot === "selfie" ? ["jpg", "png"] : ["jpg", "png", "pdf"];
}

/** A PDF of a document contains both sides. */
export function isSlotRequired(
  slot: Slot,
  document_type: string | null,
  front_type: FileType | undefined,
): boolean {
  if (slot !== "document_back") return true;
  const has_back =
    document_type !== null &&
    Object.hasOwn(DOCUMENT_TYPES, document_type) &&
    DOCUMENT_TYPES[document_type as keyof typeof DOCUMENT_TYPES];
  return has_back && front_type !== "pdf";
}

/** The field of the user's record with the same meaning; null for what only KYC asks for. */
function fieldInUser(name: IdentityFieldName): keyof Omit<Identity, "metadata"> | null {
  if (isOwnerField(name)) return null;
  switch (name) {
    case "registration_number":
      return "ssn";
    case "document_type":
    case "controller_first_name":
    case "controller_last_name":
    case "controller_date_of_birth":
    case "controller_nationality":
    case "controller_document_type":
    case HAS_OWNERS:
      return null;
    default:
      return name;
  }
}

/** The submitted values, with the account's record at that time. */
export type Submitted = {
  values: Partial<Values>;
  known: Partial<Values>;
  /** Names that differ from the record. */
  other_names: IdentityFieldName[];
};

/** The values of the user's record: until the approval, only what the account has sent. */
export function recordValues(type: BeneficiaryType, identity: Identity): Partial<Values> {
  return Object.fromEntries(
    FIELDS[type].map(({ name }) => {
      const in_user = fieldInUser(name);
      return [name, in_user ? identity[in_user] : null];
    }),
  );
}

/** The birth date that proves who the visitor is; null for companies. */
export function accountBirthDate(type: BeneficiaryType, identity: Identity): string | null {
  return recordValues(type, identity)[PERSON_FIELDS[type].birth_date] ?? null;
}

/**
 * The known values: the last submission, otherwise the record. The record wins where the account
 * changed it since, and where the submitted name contradicts it.
 */
export function knownValues(
  type: BeneficiaryType,
  identity: Identity,
  submitted: Submitted | null,
): Partial<Values> {
  const record = recordValues(type, identity);
  if (!submitted) return record;
  const kept = [...findChangedSince(type, identity, submitted), ...submitted.other_names];
  return Object.fromEntries(
    FIELDS[type].map(({ name }) => {
      const source = kept.includes(name) ? record : submitted.values;
      return [name, source[name] ?? null];
    }),
  );
}

/** The fields that the account changed after the submission. */
export function findChangedSince(
  type: BeneficiaryType,
  identity: Identity,
  { known }: Submitted,
): IdentityFieldName[] {
  const record = recordValues(type, identity);
  return FIELDS[type]
    .map(({ name }) => name)
    .filter((name) => (record[name] ?? null) !== (known[name] ?? null));
}

/** The fields where the applicant contradicts the account: a reviewer checks these first. */
export function findContradictions(
  type: BeneficiaryType,
  { known, values }: Submitted,
): IdentityFieldName[] {
  return FIELDS[type]
    .map(({ name }) => name)
    .filter((name) => known[name] && known[name] !== (values[name] ?? null));
}

/** The user's identity after an approval: the submitted values, with later changes. */
export function approvedIdentity(
  type: BeneficiaryType,
  identity: Identity,
  submitted: Submitted,
): Identity {
  const values = knownValues(type, identity, submitted);
  const approved = { ...identity };
  for (const { name } of FIELDS[type]) {
    const in_user = fieldInUser(name);
    if (in_user) approved[in_user] = values[name] ?? null;
  }
  return approved;
}

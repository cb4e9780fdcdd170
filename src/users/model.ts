import { type Catalogue, isBlockedCountry } from "../catalogue/catalogue.ts";
import {
  checkCountry,
  checkPastDate,
  checkWord,
  type Draft,
  FIRST_BIRTH_DATE,
  FIRST_FOUNDING_DATE,
  isGiven,
  readDraft,
  report,
  requireField,
} from "../catalogue/draft.ts";
import { type Metadata, readMetadata } from "../catalogue/metadata.ts";
import { BENEFICIARY_TYPES, type BeneficiaryType } from "../catalogue/payment-detail-fields.ts";
import { readEmail, upperAscii } from "../catalogue/text.ts";
import type { ScreeningVerdict } from "../partners/screening/port.ts";
import type { Problem } from "../platform/errors.ts";
import { digestOf } from "../platform/sealing/seal.ts";

export const KYC_STATUSES = [
  "not_started",
  "initiated",
  "pending_assessment",
  "prechecks_completed",
  "application_queued",
  "approved",
  "awaiting_manual_review",
  "retry_required",
  "retry_denied",
  "failed",
  "suspended",
] as const;
export type KycStatus = (typeof KYC_STATUSES)[number];

/** Every text field of a user and its maximum length; null: checked by its format. */
const LIMITS = {
  beneficiary_type: null,
  email: 254,
  first_name: 100,
  last_name: 100,
  company_name: 140,
  date_of_birth: null,
  address_line1: 140,
  address_line2: 140,
  city: 100,
  state: 100,
  postcode: 20,
  country: null,
  nationality: null,
  phone: 40,
  ssn: 50,
  source_of_funds: 500,
  business_activity: 500,
} as const;

type UserFieldName = keyof typeof LIMITS;

/** The data of a person or company. Dates as `YYYY-MM-DD`; absent fields are null. */
export type Identity = Record<Exclude<UserFieldName, "beneficiary_type">, string | null> & {
  metadata: Metadata;
};

export type UserFields = { beneficiary_type: BeneficiaryType; identity: Identity };

/** `confirmed` by a reviewer; the others as the lists say. */
export type ScreeningStatus = ScreeningVerdict | "confirmed";

type Screening = {
  status: ScreeningStatus;
  /** The lists or the person's data have changed since. */
  is_stale: boolean;
  /** Since when it is not clear. */
  held_at: Date | null;
};

/** What screening says about a user, as columns. */
export type HeldUser = {
  account_id: string;
  id: string;
  screening_status: ScreeningStatus;
  screening_held_at: Date | null;
};

/** The KYC status map, kept as columns of the user's row. */
export type Kyc = {
  general: { status: KycStatus; moderation_comment: string | null };
  usd: { status: KycStatus; swift_status: KycStatus };
  eur: { status: KycStatus; swift_status: KycStatus };
  /** The operator has frozen the user or the account: nothing leaves. Absent where not read. */
  is_frozen?: boolean;
  /** The user's erasure was requested: nothing new is started. Absent where not read. */
  is_deactivated?: boolean;
  /** What screening says about the person. Absent where not read. */
  screening?: Screening;
};

export type User = UserFields & {
  account_id: string;
  id: string;
  kyc: Kyc;
  /** Number of the last event. */
  sequence: number;
  created_at: Date;
  updated_at: Date;
  /** When the user's erasure was requested; null while nobody did. */
  deactivated_at: Date | null;
};

/** The facts that the event of a change proves. */
export function digestKyc({ account_id, id, kyc, sequence }: DigestedUser): Buffer {
  const { general, usd, eur } = kyc;
  const cleared = [usd.status, usd.swift_status, eur.status, eur.swift_status];
  return digestOf(account_id, id, general.status, sequence, ...cleared);
}

type DigestedUser = Pick<User, "account_id" | "id" | "sequence"> & {
  kyc: { general: { status: KycStatus }; usd: Kyc["usd"]; eur: Kyc["eur"] };
};

/** The name of a person or company: of a person also if a company was named. */
export function nameOfUser(user: Pick<User, "beneficiary_type" | "identity">): string {
  const { company_name, first_name, last_name } = user.identity;
  const of_person = [first_name, last_name].filter(Boolean).join(" ");
  return (user.beneficiary_type === "business" && company_name) || of_person;
}

/** Every name that was given: of a person and a company, whichever of them the user is. */
export function namesOfUser(user: Pick<User, "beneficiary_type" | "identity">): string[] {
  const { company_name, first_name, last_name } = user.identity;
  const of_person = [first_name, last_name].filter(Boolean).join(" ");
  return [...new Set([nameOfUser(user), of_person, company_name ?? ""])].filter(Boolean);
}

export const KYC_NOT_STARTED: Kyc = {
  general: { status: "not_started", moderation_comment: null },
  usd: { status: "not_started", swift_status: "not_started" },
  eur: { status: "not_started", swift_status: "not_started" },
};

/** Once a user is approved, their identity can no longer be changed through the API. */
export function isIdentityEditable(user: User): boolean {
  return !["approved", "suspended"].includes(user.kyc.general.status);
}

// One @, no spaces, a dot in the domain: only the mail server can check more.
export const PHONE = /^\+[1-9]\d{6,14}$/;

/**
 * All problems of a new user at once, and its fields in their stored form. Fields with a problem
 * are null.
 */
export function checkUser(
  catalogue: Catalogue,
  input: unknown,
  today: string,
  already: readonly Problem[],
): { problems: readonly Problem[]; fields: UserFields } {
  const draft = readDraft("user", LIMITS, input, already);
  checkForms(draft, catalogue, today);
  requireField(draft, "beneficiary_type", "Send beneficiary_type: individual or business.");
  requireField(draft, "email", "Send email: the address of the person or company.");
  const type = draft.values.beneficiary_type as BeneficiaryType | null;
  if (type === "individual") {
    requireField(draft, "first_name", "Send first_name, as on the identity document.");
    requireField(draft, "last_name", "Send last_name, as on the identity document.");
  }
  if (type === "business")
    requireField(draft, "company_name", "Send company_name: the legal name.");
  const metadata = readMetadata(draft.input.metadata, "metadata", draft.found.report) ?? {};
  const { beneficiary_type: _, ...identity } = draft.values;
  return {
    problems: draft.problems,
    fields: { beneficiary_type: type ?? "individual", identity: { ...identity, metadata } },
  };
}

/** The same rules for a change: a sent value replaces the stored one, null clears it. */
export function checkUserChange(
  catalogue: Catalogue,
  user: User,
  input: unknown,
  today: string,
  already: readonly Problem[],
): { problems: readonly Problem[]; fields: UserFields } {
  const change = typeof input === "object" && input !== null ? input : {};
  const merged = { beneficiary_type: user.beneficiary_type, ...user.identity, ...change };
  const { problems, fields } = checkUser(catalogue, merged, today, already);
  // Stored values are not checked again, even if today's rules would refuse them; only the format
  // of a state depends on another field.
  const is_judged = (name: string) =>
    Object.hasOwn(change, name) || (name === "state" && Object.hasOwn(change, "country"));
  const kept = Object.entries(user.identity).filter(([name]) => !is_judged(name));
  return {
    problems: problems.filter(({ field }) => is_judged(fieldName(field))),
    fields: { ...fields, identity: { ...fields.identity, ...Object.fromEntries(kept) } },
  };
}

/** `user.metadata.colour` → `metadata`. */
function fieldName(path: string): string {
  return path.split(".")[1] ?? "";
}

function checkForms(draft: Draft<UserFieldName>, catalogue: Catalogue, today: string): void {
  const { values } = draft;
  for (const name of ["country", "nationality"] as const) {
    if (values[name] !== null) values[name] = upperAscii(values[name]);
    checkCountry(draft, name);
  }
  checkWord(draft, "beneficiary_type", BENEFICIARY_TYPES);
  if (values.country !== null && isBlockedCountry(catalogue, values.country)) {
    const message = "Users in this country are not supported.";
    report(draft, "country", "country_not_supported", message);
  }
  if (values.email !== null) {
    const email = readEmail(values.email);
    if (email !== null) values.email = email;
    else
      report(draft, "email", "record_invalid", "Send an e-mail address such as ana@example.com.");
  }
  if (values.phone !== null) {
    values.phone = values.phone.replace(/[\s().-]/g, "");
    if (!PHONE.test(values.phone)) {
      report(
        draft,
        "phone",
        "record_invalid",
        "Send the number in E.164 format, e.g. +351210000000.",
      );
    }
  }
  const is_business = values.beneficiary_type === "business";
  checkPastDate(
    draft,
    "date_of_birth",
    today,
    is_business ? FIRST_FOUNDING_DATE : FIRST_BIRTH_DATE,
  );
  if (
    values.country === "US" &&
    values.state !== null &&
    !/^[A-Z]{2}$/.test(upperAscii(values.state))
  ) {
    report(draft, "state", "record_invalid", "Send the two-letter code of the state, e.g. NY.");
  } else if (values.country === "US" && values.state !== null) {
    values.state = upperAscii(values.state);
  }
  if (isGiven(draft, "ssn") && values.ssn !== null) values.ssn = values.ssn.replace(/\s/g, "");
}

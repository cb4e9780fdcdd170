/** The server's state of this session; everything on the page is derived from it. */
export type KycState = {
  /** In the sandbox no real checks are made. */
  mode: "sandbox" | "live";
  link_id: string;
  status: KycStatus;
  moderation_comment: string | null;
  beneficiary_type: "individual" | "business";
  account_name: string;
  expires_at: string;
  is_confirmed: boolean;
  can_confirm: boolean;
  identity: Record<string, IdentityValue | undefined>;
  fields: Field[];
  countries: Country[];
  files: Partial<Record<FileSlotName, FileSlot>>;
  can_edit: boolean;
};

export type KycStatus =
  | "not_started"
  | "initiated"
  | "pending_assessment"
  | "prechecks_completed"
  | "application_queued"
  | "awaiting_manual_review"
  | "approved"
  | "retry_required"
  | "retry_denied"
  | "suspended"
  | "failed";

export type IdentityValue = { value: string | null; is_masked: boolean; is_known: boolean };

export type Field = {
  name: string;
  label_key: string;
  kind: "text" | "date" | "email" | "phone" | "country" | "select" | "percent";
  required: boolean;
  max_length: number | null;
  options: string[] | null;
};

export type Country = {
  code: string;
  name: string;
  /** Whether residents of this country are served. */
  is_served: boolean;
  states: [code: string, name: string][] | null;
  has_postcode: boolean;
  postcode_pattern: string | null;
  postcode_example: string | null;
};

export type FileSlotName = "document_front" | "document_back" | "selfie" | "registration_document";

export type FileSlot = { required: boolean; accepts: string[]; uploaded: UploadedFile | null };

export type UploadedFile = {
  type: string;
  size: number;
  uploaded_at: string;
  can_preview: boolean;
};

/** The value in clear, or empty: the initial value of a form field. */
export function clearValue(state: KycState, name: string): string {
  const known = state.identity[name];
  return known && !known.is_masked ? (known.value ?? "") : "";
}

export function isMasked(state: KycState, name: string): boolean {
  const known = state.identity[name];
  return known?.is_masked === true && known.is_known;
}

export function isKnown(state: KycState, name: string): boolean {
  return state.identity[name]?.is_known === true;
}

export function findCountry(state: KycState, code: string): Country | undefined {
  return state.countries.find((country) => country.code === code);
}

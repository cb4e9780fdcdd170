import { findAccountById } from "../../accounts/store.ts";
import { type Catalogue, isBlockedCountry } from "../../catalogue/catalogue.ts";
import type { BeneficiaryType } from "../../catalogue/payment-detail-fields.ts";
import { POSTAL_COUNTRIES } from "../../catalogue/postal.ts";
import { MEDIA_TYPES } from "../../partners/files/judge-file.ts";
import type { Mode } from "../../platform/config/config.ts";
import type { Session } from "../../platform/db/database.ts";
import type { UserKey } from "../../users/store.ts";
import {
  findKycDraft,
  findLastApplication,
  type KycDraft,
  type KycFile,
  listKycFiles,
} from "../application-store.ts";
import {
  acceptedTypes,
  DOCUMENT_TYPES,
  FIELD_LIMITS,
  FIELDS,
  type IdentityFieldName,
  isSlotRequired,
  knownValues,
  PERSON_FIELDS,
  recordValues,
  SLOTS_OF,
  type Values,
} from "../fields.ts";
import { BIRTH_DATE_TRIES_MAX } from "../model.ts";
import { findKycUser, type OpenUser } from "../move-kyc.ts";
import {
  HAS_OWNERS,
  HAS_OWNERS_OPTIONS,
  isOwnerField,
  OWNER_NAMES,
  ownerLabelKey,
} from "../owners.ts";
import type { KycVisit } from "../store.ts";
import { canEdit, gone, type Visitor, type VisitorDeps } from "./visitor.ts";

export type StateDeps = VisitorDeps & { catalogue: Catalogue; mode: Mode };

/** The data of the page, without anything that this visitor may not see. */
export async function loadState(deps: StateDeps, visitor: Visitor) {
  const { database, keyring } = deps;
  const { key, session, visit } = visitor;
  const [found, account] = await Promise.all([
    findKycUser(database, keyring, key),
    findAccountById(database, key.account_id),
  ]);
  if (!found) throw gone();
  const { user } = found;
  const { type, last, draft, record, standing } = await loadForm(database, key, found);
  const can_edit = canEdit(user, session);
  const files = await listKycFiles(database, key, can_edit ? null : (last?.id ?? null));
  const is_confirmed = visit.confirmed_at !== null;
  const tries_left = BIRTH_DATE_TRIES_MAX - session.wrong_birth_dates;
  return {
    mode: deps.mode,
    /** Sent with every request, so that two links in one browser are never confused. */
    link_id: session.id,
    status: user.kyc.general.status,
    moderation_comment: user.kyc.general.moderation_comment,
    beneficiary_type: type,
    account_name: account?.name ?? "",
    expires_at: session.expires_at.toISOString(),
    is_confirmed,
    can_confirm: can_edit && !is_confirmed && tries_left > 0 && session.birth_date_hash !== null,
    identity: showIdentity(
      type,
      standing,
      (name, value) => can_edit && maySee(visit, draft, record, name, value),
    ),
    fields: FIELDS[type].map((field) => ({
      ...field,
      label_key: isOwnerField(field.name) ? ownerLabelKey(field.name) : field.name,
      max_length: FIELD_LIMITS[field.name],
      options: optionsOf(field.name),
    })),
    countries: POSTAL_COUNTRIES.map((country) => ({
      ...country,
      is_served: !isBlockedCountry(deps.catalogue, country.code),
    })),
    files: showFiles(type, standing, files, (file) => can_edit && file.visit_id === visit.id),
    can_edit,
  };
}

function optionsOf(name: IdentityFieldName): readonly string[] | null {
  if (name === HAS_OWNERS) return HAS_OWNERS_OPTIONS;
  return name.endsWith("document_type") ? Object.keys(DOCUMENT_TYPES) : null;
}

/** What the form contains: the draft's value where there is one, otherwise the known value. */
export async function loadForm(session: Session, key: UserKey, { user, subject_key }: OpenUser) {
  const type = user.beneficiary_type;
  const last = await findLastApplication(session, key, subject_key);
  const draft = await findKycDraft(session, key, subject_key);
  const known = knownValues(type, user.identity, last?.submitted ?? null);
  const typed = Object.entries(draft).map(([name, entry]) => [name, entry.value]);
  const standing: Partial<Values> = { ...known, ...Object.fromEntries(typed) };
  return { type, last, draft, record: recordValues(type, user.identity), standing };
}

/**
 * Typed values are shown in the browser where they were typed; the account's values, to a visitor
 * who confirmed the birth date. Values typed in other browsers are never shown.
 */
export function maySee(
  visit: KycVisit,
  draft: KycDraft,
  record: Partial<Values>,
  name: IdentityFieldName,
  value: string,
): boolean {
  if (draft[name]?.visit_id === visit.id) return true;
  return visit.confirmed_at !== null && record[name] === value;
}

function showIdentity(
  type: BeneficiaryType,
  values: Partial<Values>,
  isShown: (name: IdentityFieldName, value: string) => boolean,
) {
  return Object.fromEntries(
    FIELDS[type].map(({ name }) => {
      const value = values[name] ?? null;
      const is_masked = value !== null && !isShown(name, value);
      const shown = is_masked ? mask(name, value) : value;
      return [name, { value: shown, is_masked, is_known: value !== null }];
    }),
  );
}

const SHOWS_FIRST_LETTER: readonly IdentityFieldName[] = [
  ...(["first_name", "last_name", "company_name"] as const),
  ...(["controller_first_name", "controller_last_name", "address_line1", "city"] as const),
  ...OWNER_NAMES,
];
const HIDDEN = "•••";

/** Enough for the owner to recognise the value, too little for anyone else to learn it. */
function mask(name: IdentityFieldName, value: string): string {
  const [first] = value;
  // One letter would reveal most of a short name.
  const is_long = [...value].length > 2;
  return SHOWS_FIRST_LETTER.includes(name) && is_long ? `${first}${HIDDEN}` : HIDDEN;
}

function showFiles(
  type: BeneficiaryType,
  values: Partial<Values>,
  files: readonly KycFile[],
  canPreview: (file: KycFile) => boolean,
) {
  const by_slot = new Map(files.map((file) => [file.slot, file]));
  const document_type = values[PERSON_FIELDS[type].document_type] ?? null;
  const front_type = by_slot.get("document_front")?.type;
  return Object.fromEntries(
    SLOTS_OF[type].map((slot) => {
      const file = by_slot.get(slot);
      const uploaded = file
        ? {
            type: MEDIA_TYPES[file.type],
            size: file.size,
            uploaded_at: file.uploaded_at.toISOString(),
            can_preview: canPreview(file),
          }
        : null;
      const accepts = acceptedTypes(slot).map((kind) => MEDIA_TYPES[kind]);
      const required = isSlotRequired(slot, document_type, front_type);
      return [slot, { required, accepts, uploaded }];
    }),
  );
}

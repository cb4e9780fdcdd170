import { askedOwners, HAS_OWNERS, ownerOf } from "./owners.ts";
import {
  clearValue,
  type Field,
  type FileSlotName,
  findCountry,
  isKnown,
  isMasked,
  type KycState,
} from "./state.ts";

export type StepName =
  | "about"
  | "company"
  | "address"
  | "registration"
  | "owners"
  | "person"
  | "document"
  | "selfie"
  | "review";

/** Includes the places that are not counted as steps: they ask for nothing that is sent. */
export type PlaceName = StepName | "welcome" | "confirm";

type Step = { name: StepName; fields: string[]; files: FileSlotName[] };

const ADDRESS = ["country", "address_line1", "address_line2", "city", "state", "postcode"];
const DOCUMENT_FILES: FileSlotName[] = ["document_front", "document_back"];

const INDIVIDUAL: Step[] = [
  {
    name: "about",
    fields: ["first_name", "last_name", "date_of_birth", "nationality", "phone", "source_of_funds"],
    files: [],
  },
  { name: "address", fields: ADDRESS, files: [] },
  { name: "document", fields: ["document_type"], files: DOCUMENT_FILES },
  { name: "selfie", fields: [], files: ["selfie"] },
  { name: "review", fields: [], files: [] },
];

const BUSINESS: Step[] = [
  {
    name: "company",
    fields: [
      "company_name",
      "registration_number",
      "business_activity",
      "phone",
      "source_of_funds",
    ],
    files: [],
  },
  { name: "address", fields: ADDRESS, files: [] },
  { name: "registration", fields: [], files: ["registration_document"] },
  // And the fields of each owner.
  { name: "owners", fields: [HAS_OWNERS], files: [] },
  {
    name: "person",
    fields: [
      "controller_first_name",
      "controller_last_name",
      "controller_date_of_birth",
      "controller_nationality",
    ],
    files: [],
  },
  { name: "document", fields: ["controller_document_type"], files: DOCUMENT_FILES },
  { name: "selfie", fields: [], files: ["selfie"] },
  { name: "review", fields: [], files: [] },
];

export function stepsOf(state: KycState): Step[] {
  return state.beneficiary_type === "business" ? BUSINESS : INDIVIDUAL;
}

/** The fields of a step that the server asks for, in the order of the step. */
export function fieldsOf(state: KycState, step: StepName): Field[] {
  const steps = stepsOf(state);
  const wanted = steps.find(({ name }) => name === step)?.fields ?? [];
  const placed = steps.flatMap(({ fields }) => fields);
  // A field that the server asks for and this page does not place is asked on the first step.
  const unplaced = state.fields.filter(({ name }) => !placed.includes(name));
  const listed = wanted.flatMap((name) => state.fields.filter((field) => field.name === name));
  if (step === "owners") listed.push(...unplaced.filter(({ name }) => ownerOf(name) !== null));
  const nowhere = unplaced.filter(({ name }) => ownerOf(name) === null);
  return step === steps[0]?.name ? [...listed, ...nowhere] : listed;
}

/**
 * Whether a country or the company's owners have such a field. While the answer that decides it
 * is hidden this is unknown; then earlier values are shown, and the server reports what is missing.
 */
export function existsIn(state: KycState, country_code: string, field: string): boolean {
  const country = findCountry(state, country_code);
  if (field === "state") return country ? country.states !== null : isKnown(state, "state");
  if (field === "postcode") return country ? country.has_postcode : true;
  const owner = ownerOf(field);
  return owner === null || askedOwners(state).includes(owner);
}

export function filesOf(state: KycState, step: StepName): FileSlotName[] {
  const slots = stepsOf(state).find(({ name }) => name === step)?.files ?? [];
  return slots.filter((slot) => state.files[slot]?.required || state.files[slot]?.uploaded);
}

/** The names of fields and files that are missing on a step. */
export function missingOn(state: KycState, step: StepName): string[] {
  const country = clearValue(state, "country");
  const fields = fieldsOf(state, step)
    .filter(({ name }) => existsIn(state, country, name))
    .filter(({ name, required }) => required || mustBeGiven(state, name))
    .filter(({ name }) => !isKnown(state, name) && !isMasked(state, name));
  const files = filesOf(state, step).filter((slot) => {
    const file = state.files[slot];
    return file?.required && !file.uploaded;
  });
  return [...fields.map(({ name }) => name), ...files];
}

/** If a country has states or postcodes, an address needs them. */
export function mustBeGiven(state: KycState, name: string, country_code?: string): boolean {
  const country = findCountry(state, country_code ?? clearValue(state, "country"));
  if (name === "state") return country?.states != null;
  if (name === "postcode") return country?.has_postcode === true;
  return false;
}

export function stepAfter(state: KycState, step: StepName): StepName {
  const steps = stepsOf(state);
  return steps[steps.findIndex(({ name }) => name === step) + 1]?.name ?? "review";
}

/** Where a returning user continues. */
export function firstOpenStep(state: KycState): StepName {
  const open = stepsOf(state).find(({ name }) => missingOn(state, name).length > 0);
  return open?.name ?? "review";
}

/** The step on which a field or file is asked for. */
export function stepAsking(state: KycState, name: string): StepName {
  const found = stepsOf(state).find(
    (step) =>
      fieldsOf(state, step.name).some((field) => field.name === name) ||
      step.files.includes(name as FileSlotName),
  );
  return found?.name ?? "review";
}

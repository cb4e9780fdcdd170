import {
  checkCountry,
  checkPastDate,
  checkWord,
  type Draft,
  FIRST_BIRTH_DATE,
  report,
} from "../catalogue/draft.ts";
import { upperAscii } from "../catalogue/text.ts";

const NUMBERS = [1, 2, 3, 4] as const;
type Part = "first_name" | "last_name" | "date_of_birth" | "nationality" | "share";
type OwnerFieldName = `owner_${(typeof NUMBERS)[number]}_${Part}`;
/** Whether anybody owns enough: nobody is only an answer if it was given. */
export const HAS_OWNERS = "has_owners";
type Name = OwnerFieldName | typeof HAS_OWNERS;
type OwnerValues = Partial<Record<Name, string | null>>;

/** In per cent: who owns less is not named, so there are at most as many owners as numbers. */
const SHARE_MIN = 25;
const SHARE_MAX = 100;
/** Hundredths: at most two decimals. */
const PARTS_PER_CENT = 100;
const SHARE = /^\d{1,3}(?:[.,]\d{1,2})?$/;

/** The parts of an owner, in the order of the page, and their maximum length. */
const PARTS = [
  { part: "first_name", kind: "text", limit: 100 },
  { part: "last_name", kind: "text", limit: 100 },
  { part: "date_of_birth", kind: "date", limit: null },
  { part: "nationality", kind: "country", limit: null },
  { part: "share", kind: "percent", limit: null },
] as const satisfies { part: Part; kind: string; limit: number | null }[];

const ALL = NUMBERS.flatMap((number) =>
  PARTS.map((one) => ({ ...one, name: `owner_${number}_${one.part}` as OwnerFieldName })),
);

export const OWNER_LIMITS = Object.fromEntries(ALL.map(({ name, limit }) => [name, limit])) as {
  readonly [name in OwnerFieldName]: number | null;
};

/** Required only if the owner is asked for. */
export const OWNER_FIELDS = [
  { name: HAS_OWNERS, kind: "select", required: true },
  ...ALL.map(({ name, kind }) => ({ name, kind, required: true }) as const),
] as const;

export const HAS_OWNERS_OPTIONS = ["yes", "no"] as const;

export const OWNER_NAMES = ALL.filter(({ kind }) => kind === "text").map(({ name }) => name);
const OWNER_SHARES = namesOf("share");

export function isOwnerField(name: string): name is OwnerFieldName {
  return Object.hasOwn(OWNER_LIMITS, name);
}

/** The shares that given ones are added to: hidden ones could be guessed from the refusals. */
export function sharesBeside(given: Record<string, unknown>): OwnerFieldName[] {
  const is_judged = OWNER_SHARES.some((name) => (given[name] ?? null) !== null);
  return is_judged ? OWNER_SHARES.filter((name) => !Object.hasOwn(given, name)) : [];
}

/** All parts of an owner are asked for once one of them is given; of the first one always. */
export function isOwnerAsked(values: OwnerValues, name: OwnerFieldName): boolean {
  if (values[HAS_OWNERS] !== "yes") return false;
  const number = numberOf(name);
  const named = NUMBERS.filter((one) => isNamed(values, one));
  return named.length === 0 ? number === NUMBERS[0] : named.some((one) => one === number);
}

/** The format of what is given, and the sum of the shares together with those known before. */
export function checkOwners(draft: Draft<Name>, standing: OwnerValues, today: string): void {
  checkWord(draft, HAS_OWNERS, HAS_OWNERS_OPTIONS);
  for (const name of namesOf("date_of_birth")) checkPastDate(draft, name, today, FIRST_BIRTH_DATE);
  for (const name of namesOf("nationality")) {
    const value = draft.values[name];
    if (value !== null) draft.values[name] = upperAscii(value);
    checkCountry(draft, name);
  }
  for (const name of OWNER_SHARES) checkShare(draft, name);
  const last = OWNER_SHARES.findLast((name) => draft.values[name] !== null);
  if (!last) return;
  const sum = OWNER_SHARES.map((name) => {
    const is_given = Object.hasOwn(draft.input, name);
    return hundredths((is_given ? draft.values[name] : standing[name]) ?? "0");
  }).reduce((one, other) => one + other, 0);
  if (sum <= SHARE_MAX * PARTS_PER_CENT) return;
  report(draft, last, "record_invalid", `All shares together are more than ${SHARE_MAX} %.`);
}

/** Why the answer that nobody owns enough cannot be true; null when it can. */
export function findOwnerContradiction(values: OwnerValues): string | null {
  const names_some = NUMBERS.some((number) => isNamed(values, number));
  if (values[HAS_OWNERS] !== "no" || !names_some) return null;
  return "Owners are named, so the answer cannot be no. Answer yes, or remove the owners.";
}

/** An owner as submitted, by part. */
type Owner = Record<Part, string | null>;

/** Null: the applicant was not asked, or has not answered. */
export function ownersIn(values: OwnerValues): Owner[] | null {
  if (!values[HAS_OWNERS]) return null;
  return NUMBERS.filter((number) => isNamed(values, number)).map(
    (number) =>
      Object.fromEntries(
        PARTS.map(({ part }) => [part, values[`owner_${number}_${part}`] ?? null]),
      ) as Owner,
  );
}

/** `owner_2_share` → `owner_share`: the texts of all owners are the same. */
export function ownerLabelKey(name: OwnerFieldName): string {
  return name.replace(/\d_/, "");
}

function checkShare(draft: Draft<Name>, name: OwnerFieldName): void {
  const value = draft.values[name];
  if (value === null) return;
  const share = SHARE.test(value) ? Number(value.replace(",", ".")) : Number.NaN;
  if (share >= SHARE_MIN && share <= SHARE_MAX) {
    draft.values[name] = String(share);
    return;
  }
  const message = `Enter a number from ${SHARE_MIN} to ${SHARE_MAX} with at most two decimals.`;
  report(draft, name, "record_invalid", message);
}

function hundredths(share: string): number {
  return Math.round(Number(share) * PARTS_PER_CENT);
}

function isNamed(values: OwnerValues, number: (typeof NUMBERS)[number]): boolean {
  return PARTS.some(({ part }) => (values[`owner_${number}_${part}`] ?? null) !== null);
}

function namesOf(part: Part): OwnerFieldName[] {
  return ALL.filter((one) => one.part === part).map(({ name }) => name);
}

function numberOf(name: OwnerFieldName): number {
  return Number(name.split("_")[1]);
}

import { clearValue, isKnown, isMasked, type KycState } from "./state.ts";

/** The question whether there are owners to name. */
export const HAS_OWNERS = "has_owners";

/** 2 of `owner_2_share`; null for the fields of nobody's. */
export function ownerOf(field: string): number | null {
  const number = /^owner_(\d+)_/.exec(field)?.[1];
  return number === undefined ? null : Number(number);
}

/** The owners that can be named. */
export function possibleOwners(state: KycState): number[] {
  const numbers = state.fields.map(({ name }) => ownerOf(name)).filter((one) => one !== null);
  return [...new Set(numbers)];
}

/** The owners of whom something was given. */
export function namedOwners(state: KycState): number[] {
  return possibleOwners(state).filter((number) =>
    state.fields.some(({ name }) => ownerOf(name) === number && isKnown(state, name)),
  );
}

/** Those and, if there are owners, at least one. While the answer is hidden this is unknown. */
export function askedOwners(state: KycState): number[] {
  const named = namedOwners(state);
  if (isMasked(state, HAS_OWNERS)) return named;
  if (clearValue(state, HAS_OWNERS) !== "yes") return [];
  return named.length > 0 ? named : possibleOwners(state).slice(0, 1);
}

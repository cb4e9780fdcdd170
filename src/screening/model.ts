import type {
  ListEntry,
  ScreenedPerson,
  ScreeningHit,
  ScreeningVerdict,
} from "../partners/screening/port.ts";
import { keyedHash } from "../platform/encryption/cipher.ts";
import { namesOfUser, type ScreeningStatus, type User } from "../users/model.ts";

export const SCREENED_RECORDS = ["user", "payment_detail"] as const;
export type ScreenedRecordKind = (typeof SCREENED_RECORDS)[number];

/**
 * `open` waits for a reviewer, who makes it `cleared` (somebody else) or `confirmed`; both can be
 * corrected. `closed`: the entry has left its list, or a later match with it took its place.
 */
export const MATCH_STATUSES = ["open", "cleared", "confirmed", "closed"] as const;
export type MatchStatus = (typeof MATCH_STATUSES)[number];

export type MatchDecision = "clear" | "confirm";
export const DECIDED: Readonly<Record<MatchDecision, MatchStatus>> = {
  clear: "cleared",
  confirm: "confirmed",
};

/** Both sides as they were compared. */
export type MatchDetails = {
  person: ScreenedPerson;
  entry: ListEntry;
  /** The name or wallet of the entry. */
  listed: string;
  reason: string | null;
};

export type ScreeningMatch = {
  account_id: string;
  id: string;
  user_id: string;
  record_kind: ScreenedRecordKind;
  record_id: string;
  list: string;
  entry_id: string;
  entry_digest: string;
  person_digest: Buffer;
  verdict: Exclude<ScreeningVerdict, "clear">;
  score: number;
  status: MatchStatus;
  details: MatchDetails;
  decided_by: string | null;
  decided_at: Date | null;
  created_at: Date;
  updated_at: Date;
};

/** What decides about a record: every match of it but its details. */
export type MatchFacts = Pick<
  ScreeningMatch,
  | "account_id"
  | "id"
  | "record_id"
  | "list"
  | "entry_id"
  | "entry_digest"
  | "person_digest"
  | "verdict"
  | "status"
>;

/** With those of their wallets that a list has. */
export function personOfUser(user: User, wallets: readonly string[]): ScreenedPerson {
  const { date_of_birth, country, nationality } = user.identity;
  return {
    kind: user.beneficiary_type,
    names: namesOfUser(user),
    birth_date: user.beneficiary_type === "individual" ? date_of_birth : null,
    countries: [country, nationality].filter((code) => code !== null),
    wallets,
  };
}

/**
 * What was compared, as a keyed digest: a decision holds until it changes. A wallet and a name are
 * apart, so that a new wallet does not reopen what was decided about the name.
 */
export function digestPerson(
  index_key: Buffer,
  account_id: string,
  { wallets: _, ...person }: ScreenedPerson,
  hit: ScreeningHit,
): Buffer {
  const compared = hit.by === "wallet" ? { wallet: hit.listed } : person;
  return keyedHash(index_key, "screened person", account_id, JSON.stringify(compared));
}

/** The state of a person whose matches are these. */
export function statusOf(matches: readonly Pick<MatchFacts, "status" | "verdict">[]) {
  const verdicts = matches.filter(({ status }) => status === "open").map((match) => match.verdict);
  const found: ScreeningStatus = matches.some(({ status }) => status === "confirmed")
    ? "confirmed"
    : verdicts.includes("match")
      ? "match"
      : verdicts.length > 0
        ? "possible_match"
        : "clear";
  return found;
}

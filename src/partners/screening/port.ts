/** Whom a name, a birth date or a wallet belongs to. */
type ScreenedKind = "individual" | "business";

/** A user, a payee, or whoever sent tokens: what is compared with the lists. */
export type ScreenedPerson = {
  kind: ScreenedKind;
  /** Every name that the person is known by, in any order of words and any script. */
  names: readonly string[];
  /** `YYYY-MM-DD`. */
  birth_date: string | null;
  /** ISO 3166-1 alpha-2: of residence, nationality, bank. */
  countries: readonly string[];
  wallets: readonly string[];
};

export type ListedName = {
  text: string;
  /** The list itself says that many others have this name: it counts only with the birth date. */
  is_weak: boolean;
};

/** The days that a birth date may mean: one, a month, a year, several years. */
export type DateRange = { from: string; to: string };

/** One person, company or vessel of a list. */
export type ListEntry = {
  /** The list's short name, such as `ofac` or `eu`. */
  list: string;
  /** The entry's id within its list. */
  id: string;
  kind: ScreenedKind | "other";
  names: readonly ListedName[];
  birth_dates: readonly DateRange[];
  countries: readonly string[];
  wallets: readonly string[];
  programs: readonly string[];
  /** Of everything above: changes when the list changes the entry. */
  digest: string;
};

/**
 * `clear`: nobody on a list is like this person. `possible_match`: a reviewer has to decide.
 * `match`: the wallet is listed, or name and birth date (of a company: country) agree.
 */
export const SCREENING_VERDICTS = ["clear", "possible_match", "match"] as const;
export type ScreeningVerdict = (typeof SCREENING_VERDICTS)[number];

export type ScreeningHit = {
  entry: ListEntry;
  verdict: Exclude<ScreeningVerdict, "clear">;
  /** What is like the entry's. */
  by: "name" | "wallet";
  /** From 0 to 1. */
  score: number;
  /** The name or the wallet of the entry that is like the person's. */
  listed: string;
};

/** What is loaded, for the operator. */
export type ScreeningLists = {
  /** Digest of the lists, the matching and its thresholds: the same version, the same answers. */
  version: string;
  entries: number;
  files: readonly { path: string; list: string; entries: number; digest: string }[];
};

/**
 * Compares people with lists of sanctioned ones. It answers from memory: it is asked within
 * transactions, before a request is answered. Without a list it is off.
 */
export type ScreeningPort = {
  /** What is loaded now; null: screening is off. */
  lists: () => ScreeningLists | null;
  /** The most similar entries first; empty: clear. */
  screen: (person: ScreenedPerson) => readonly ScreeningHit[];
  /** Whether a list still has an entry with this id, whatever it says now. */
  isListed: (entry: Pick<ListEntry, "list" | "id">) => boolean;
  /** The last load that failed and has not been followed by a good one. */
  problem: () => string | null;
  /** Reads the lists again if they have changed; true: the version is another one. */
  reload: () => Promise<boolean>;
};

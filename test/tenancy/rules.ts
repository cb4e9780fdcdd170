import type { Touched } from "./explain.ts";

/** What a statement does that a database distributed by account could not run, or not on one node. */
export function faultsOf(text: string, touched: Touched): string[] {
  const open = namesOf(touched.tenants.filter(({ account }) => account === null));
  const accounts = new Set(touched.tenants.map(({ account }) => account));
  const lookups = [...new Set(touched.lookups)].filter((name) => !(name in REFERENCE_TABLES));
  return [
    ...open.map((table) => `the account of ${table} is not fixed`),
    ...(open.length === 0 && accounts.size > 1 ? ["it names two accounts"] : []),
    ...(touched.tenants.length > 0
      ? lookups.map((table) => `it joins the look-up table ${table} with accounts' tables`)
      : []),
    ...(/\bctid\b/.test(text) && touched.tenants.length > 0 ? ["it uses a ctid"] : []),
    ...(/\bskip locked\b/.test(text) && open.length > 0 ? ["it skips locked rows anywhere"] : []),
  ];
}

function namesOf(tables: readonly { table: string }[]): string[] {
  return [...new Set(tables.map(({ table }) => table))];
}

/** Small tables that every node has a copy of, and that statements on accounts' tables may read. */
export const REFERENCE_TABLES: Readonly<Record<string, string>> = {
  accounts: "the names and switches of accounts; changed by people, read everywhere",
  people: "who members are; changed when somebody signs up",
  price_versions: "rates and fees by version, never changed",
  screening_state: "one row: the version of the sanctions lists",
};

/**
 * Statements that concern all accounts on purpose. They only read, without a lock: what they find is
 * then done by a transaction for each account.
 */
type Listed = { file: string; starts?: string; reason: string };

export const CROSSING: readonly Listed[] = [
  { file: "src/verify/", reason: "verify reads everything of one snapshot" },
  { file: "src/platform/tasks/store.ts", reason: "the worker asks what is due" },
  {
    file: "src/platform/tasks/advance-clock.ts",
    reason: "the sandbox clock asks what is due next",
  },
  { file: "src/platform/tasks/wait-until-idle.ts", reason: "asks whether anything is due" },
  { file: "src/platform/tasks/worker-health.ts", reason: "/readyz speaks of all tasks" },
  { file: "src/platform/sealing/seal.ts", reason: "lists what is unsealed; each chain is its own" },
  { file: "src/ledger/day-sum-store.ts", reason: "lists whose sums are behind" },
  { file: "src/prices/exposure-store.ts", reason: "the operator's exposure is that of all" },
  {
    file: "src/accounts/store.ts",
    starts: "select members.account_id, accounts.name",
    reason: "where a person is a member",
  },
  {
    file: "src/users/any-account-store.ts",
    starts: "select account_id from users where id",
    reason: "the operator names a user by id",
  },
  {
    file: "src/offramps/payouts/store.ts",
    starts: "select account_id, offramp_id, attempt",
    reason: "lists payouts that no bank answered",
  },
  {
    file: "src/partners/bank/file-bank/old-details-store.ts",
    reason: "lists whose corrections are old",
  },
];

/** What a distributed installation cannot do yet: it works on one PostgreSQL only. */
export const NOT_YET: readonly Listed[] = [
  {
    file: "src/prices/exposure-store.ts",
    starts: "with newer as",
    reason: "checkpoints of all accounts are written at once",
  },
  {
    file: "src/payment-details/store.ts",
    starts: "select account_id, id, user_id, status, details",
    reason: "payees of earlier versions are indexed across accounts when the service starts",
  },
];

export function isNotYet(place: string, text: string): boolean {
  const plain = text.replaceAll(/\s+/g, " ").trim();
  return NOT_YET.some(
    ({ file, starts = "" }) => place.startsWith(file) && plain.startsWith(starts),
  );
}

/** Why this statement may read all accounts; undefined if it may not. */
export function whyCrossing(place: string, text: string): string | undefined {
  const plain = text.replaceAll(/\s+/g, " ").trim();
  const reads = /^(select|with)\b/.test(plain) && !/\bfor (no key )?(update|share)\b/.test(plain);
  if (!reads || /\b(insert into|update \w+ set|delete from)\b/.test(plain)) return undefined;
  return CROSSING.find(
    ({ file, starts = "" }) => place.startsWith(file) && plain.startsWith(starts),
  )?.reason;
}

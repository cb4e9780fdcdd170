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
 * `all_accounts`: the statement concerns all of them on purpose. It only reads, without a lock; what
 * it finds is then done by a transaction for each account.
 * `other_account`: it names one, which may be another than that of its transaction. It only reads,
 * without a lock.
 * `not_yet`: it does not run on a database distributed by account.
 */
export type Exception = {
  kind: "all_accounts" | "other_account" | "not_yet";
  file: string;
  /** How the statement begins, if not all of the file are meant. */
  starts?: string;
  reason: string;
};

/** This list may only become shorter. */
export const EXCEPTIONS: readonly Exception[] = [
  {
    kind: "all_accounts",
    file: "src/verify/",
    reason: "verify reads everything of one snapshot",
  },
  {
    kind: "other_account",
    file: "src/verify/",
    reason: "verify reads everything of one snapshot",
  },
  {
    kind: "all_accounts",
    file: "src/platform/tasks/store.ts",
    reason: "the worker asks what is due, and whose it is",
  },
  {
    kind: "all_accounts",
    file: "src/platform/tasks/advance-clock.ts",
    reason: "the sandbox clock asks what is due next",
  },
  {
    kind: "all_accounts",
    file: "src/platform/tasks/wait-until-idle.ts",
    reason: "asks whether anything is due",
  },
  {
    kind: "all_accounts",
    file: "src/platform/tasks/worker-health.ts",
    reason: "/readyz speaks of all tasks",
  },
  {
    kind: "all_accounts",
    file: "src/platform/sealing/seal.ts",
    starts: "select distinct account_id, log",
    reason: "lists what is unsealed; each chain is sealed by itself",
  },
  {
    kind: "all_accounts",
    file: "src/ledger/day-sum-store.ts",
    reason: "lists whose sums are behind",
  },
  {
    kind: "all_accounts",
    file: "src/prices/exposure-store.ts",
    reason: "the operator's exposure is that of all; checkpoints are written for each account",
  },
  {
    kind: "all_accounts",
    file: "src/accounts/store.ts",
    starts: "select members.*, accounts.name",
    reason: "where a person is a member",
  },
  {
    kind: "all_accounts",
    file: "src/users/any-account-store.ts",
    starts: "select account_id from users where id",
    reason: "the operator names a user by id",
  },
  {
    kind: "all_accounts",
    file: "src/offramps/payouts/store.ts",
    starts: "select account_id, offramp_id, attempt",
    reason: "lists payouts that no bank answered",
  },
  {
    kind: "all_accounts",
    file: "src/payment-details/store.ts",
    starts: "select account_id from payment_details where payee_index is null",
    reason: "asks whose payees of earlier versions have no index",
  },
  {
    kind: "other_account",
    file: "src/accounts/api-key-store.ts",
    starts: "select id from api_keys",
    reason: "the key that asks for a change of a shared invoice may be the other party's",
  },
  {
    kind: "other_account",
    file: "src/invoices/counterparty/view-store.ts",
    starts: "select v.account_id, v.id",
    reason: "whether the buyer pays a shared invoice now; its end is told by the buyer's task",
  },
  {
    kind: "other_account",
    file: "src/invoices/store.ts",
    reason: "the payer reads the owner's invoice; the owner's account decides when it is told",
  },
];

export function exceptionOf(
  kind: Exception["kind"],
  place: string,
  text: string,
): Exception | undefined {
  if (kind !== "not_yet" && !isPlainRead(text)) return undefined;
  const plain = plainText(text);
  return EXCEPTIONS.find(
    (one) => one.kind === kind && place.startsWith(one.file) && plain.startsWith(one.starts ?? ""),
  );
}

/** Without a lock. */
export function isPlainRead(text: string): boolean {
  const plain = plainText(text);
  return (
    /^(select|with)\b/.test(plain) &&
    !/\bfor (no key )?(update|share)\b/.test(plain) &&
    !/\b(insert into|update \w+ (\w+ )?set|delete from)\b/.test(plain)
  );
}

function plainText(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

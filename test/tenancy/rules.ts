import type { Touched } from "./explain.ts";

/** What a statement does that a database distributed by account could not run, or not on one node. */
const NOT_PASSED_ON = /\bset_config\('(?:lock_timeout|enable_|jit)/;

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
    ...(NOT_PASSED_ON.test(text) ? ["Citus passes on SET LOCAL only (set-local.ts)"] : []),
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
 */
export type Exception = {
  kind: "all_accounts" | "other_account";
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
    reason: "the worker asks what is due",
  },
  {
    kind: "all_accounts",
    file: "src/platform/tasks/claim-store.ts",
    reason: "the worker asks whose due tasks are next",
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
    file: "src/platform/tasks/task-metrics.ts",
    reason: "a metric counts what is due",
  },
  {
    kind: "all_accounts",
    file: "src/platform/sealing/seal.ts",
    starts: "select distinct account_id, log",
    reason: "lists what is unsealed; each chain is sealed by itself",
  },
  {
    kind: "all_accounts",
    file: "src/platform/sealing/rejected-entries.ts",
    reason: "a metric counts what was set aside",
  },
  {
    kind: "all_accounts",
    file: "src/webhooks/metrics-store.ts",
    reason: "metrics of deliveries",
  },
  {
    kind: "all_accounts",
    file: "src/offramps/metrics-store.ts",
    reason: "metrics of payouts",
  },
  {
    kind: "all_accounts",
    file: "src/offramps/exceptions/store.ts",
    reason: "the operator lists, finds and counts what banks said of any payout",
  },
  {
    kind: "all_accounts",
    file: "src/offramps/store.ts",
    starts: "select offramps.account_id from accounts",
    reason: "the operator names an offramp by its id",
  },
  {
    kind: "all_accounts",
    file: "src/offramps/payouts/store.ts",
    starts: "select account_id, offramp_id, attempt",
    reason: "lists payouts that no bank answered",
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
    file: "src/accounts/store.ts",
    starts: "select distinct account_id from app_grants",
    reason: "where a person consented, when their password was reset",
  },
  {
    kind: "all_accounts",
    file: "src/accounts/api-key-store.ts",
    starts: "select id, created_by_person",
    reason: "who created keys that the history of another account names",
  },
  {
    kind: "all_accounts",
    file: "src/accounts/api-key-store.ts",
    starts: "select * from api_keys where id = any",
    reason: "the operator names a key by its id",
  },
  {
    kind: "all_accounts",
    file: "src/apps/store.ts",
    starts: "select distinct account_id from app_grants",
    reason: "who authorised an application",
  },
  {
    kind: "all_accounts",
    file: "src/approvals/store.ts",
    reason: "the operator lists the proposals of all accounts",
  },
  {
    kind: "all_accounts",
    file: "src/approvals/pending-store.ts",
    reason: "the operator counts the proposals of all accounts",
  },
  {
    kind: "all_accounts",
    file: "src/kyc/review/review-store.ts",
    reason: "the operator lists who waits for a review",
  },
  {
    kind: "all_accounts",
    file: "src/screening/store.ts",
    reason: "the operator lists and counts the matches and users of all accounts",
  },
  {
    kind: "all_accounts",
    file: "src/invoices/payments/claim-store.ts",
    starts: "select account_id, invoice_id, chain",
    reason: "the sandbox asks whose claims name a transaction",
  },
  {
    kind: "all_accounts",
    file: "src/users/any-account-store.ts",
    starts: "select account_id from users where id",
    reason: "the operator names a user by id",
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
    file: "src/accounts/audit-store.ts",
    reason: "what the log says of the operator's member, while another account is changed",
  },
  {
    kind: "other_account",
    file: "src/accounts/member-callers/store.ts",
    reason: "the operator's member, while another account is changed",
  },
  {
    kind: "other_account",
    file: "src/accounts/audited/find-member.ts",
    reason: "the operator's member, while another account is changed",
  },
  {
    kind: "other_account",
    file: "src/accounts/store.ts",
    reason: "the members of both accounts, while a decision is counted",
  },
  {
    kind: "other_account",
    file: "src/accounts/controls-store.ts",
    reason: "the controls of both accounts",
  },
  {
    kind: "other_account",
    file: "src/apps/oauth/artifacts-store.ts",
    reason: "an application may belong to another account than the person",
  },
  {
    kind: "other_account",
    file: "src/approvals/votes/vote-store.ts",
    reason: "voters may be members of the operator",
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
  {
    kind: "other_account",
    file: "src/ledger/store.ts",
    reason: "the entries of the operator's deposit and of the onramp that it paid",
  },
  {
    kind: "other_account",
    file: "src/screening/store.ts",
    starts: "select id, details from fiat_deposits",
    reason: "who paid a user's onramp is in the operator's bank deposit",
  },
  {
    kind: "other_account",
    file: "src/webhooks/delivery/other-accounts-store.ts",
    reason: "events of another account, as far as it consents",
  },
];

export function exceptionOf(
  kind: Exception["kind"],
  place: string,
  text: string,
): Exception | undefined {
  if (!isPlainRead(text)) return undefined;
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

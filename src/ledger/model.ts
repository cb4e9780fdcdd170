import { COIN_DIGITS, NATIVE_COINS } from "../catalogue/chains.ts";
import { minorDigits } from "../catalogue/currencies.ts";
import { minorToText } from "../platform/money.ts";
import { digestOf } from "../platform/sealing/seal.ts";

/** Debits are positive, credits negative. Minor units; six digits for tokens. */
export type EntryLine = { ledger_account: string; currency: string; amount: bigint };

/** What happened, with a business key that can be posted only once. */
export type NewEntry = {
  account_id: string;
  key: string;
  kind: string;
  lines: readonly EntryLine[];
};

export type Entry = NewEntry & { id: string; created_at: Date };

type LedgerAccountRule = {
  name: string;
  /** What there is one account for each of: the account is then `<name>:<id>`, part by part. */
  per: readonly ("user" | "chain" | "bank_account" | "offramp" | "refund" | "onramp")[];
  /** The side on which it grows; a balance in its natural sign is positive there. */
  side: "debit" | "credit";
  sign: "any" | "never_negative";
  /** The database stores its balance and refuses a negative one; verify checks the others. */
  is_kept: boolean;
  meaning: string;
};

/**
 * The chart of accounts. Balances are stored only for accounts of one record: a row that every
 * payout locks, such as `wallet`, would serialize all payouts.
 */
export const LEDGER_ACCOUNTS: readonly LedgerAccountRule[] = [
  rule("wallet", ["chain"], "debit", "any", "Tokens held in the operator's wallets on a chain."),
  rule(
    "bank",
    ["bank_account"],
    "debit",
    "any",
    "Money in one of the operator's bank accounts. In live mode a negative balance is an alarm.",
  ),
  rule(
    "bank",
    [],
    "debit",
    "any",
    "The same in entries from before each bank account had its own ledger account.",
  ),
  rule(
    "owed",
    ["user", "chain"],
    "credit",
    "never_negative",
    "Tokens that belong to a user, on the chain on which they came in.",
  ),
  rule(
    "payout_pending",
    ["offramp"],
    "credit",
    "never_negative",
    "What an offramp still has to pay: tokens before the instruction, then its own currency.",
  ),
  rule(
    "refund_pending",
    ["refund"],
    "credit",
    "never_negative",
    "Tokens of refunds that are not final yet.",
  ),
  rule("onramp", ["onramp"], "credit", "never_negative", "What an onramp still has to deliver."),
  rule(
    "deposit_clearing",
    [],
    "credit",
    "never_negative",
    "Reserved for a quote, not yet for each of its offramps. Zero when nothing is pending.",
  ),
  rule(
    "return_clearing",
    [],
    "credit",
    "never_negative",
    "Returned money that is not assigned yet. Zero when nothing is pending.",
  ),
  rule("fx_position", [], "debit", "any", "The open position between tokens and currencies."),
  rule(
    "treasury",
    [],
    "debit",
    "any",
    "The operator's own money: opening balances, conversions, and transfers to and from its bank " +
      "accounts and wallets.",
  ),
  rule("bank_costs", [], "debit", "any", "Fees of the banks, less the interest that they pay."),
  rule("fees", [], "credit", "never_negative", "Fees earned."),
  rule("rounding", [], "credit", "any", "Rounding differences."),
  rule(
    "short_deposits",
    [],
    "debit",
    "never_negative",
    "Shortfalls of deposits accepted within the tolerance.",
  ),
  rule(
    "return_costs",
    [],
    "debit",
    "never_negative",
    "Fees that banks deduct from returned payments.",
  ),
  rule(
    "network_costs",
    [],
    "debit",
    "never_negative",
    "Gas of transactions on chains, in the chain's coin.",
  ),
  rule(
    "write_offs",
    [],
    "debit",
    "any",
    "Losses and gains that the operator accepts when resolving bank exceptions.",
  ),
  rule("suspense", [], "credit", "never_negative", "Money that arrived and is not matched yet."),
];

function rule(
  name: string,
  per: LedgerAccountRule["per"],
  side: LedgerAccountRule["side"],
  sign: LedgerAccountRule["sign"],
  meaning: string,
): LedgerAccountRule {
  const is_kept = per.some((part) => part !== "chain" && part !== "bank_account");
  return { name, per, side, sign, is_kept, meaning };
}

const RULES = new Map(
  LEDGER_ACCOUNTS.map((account) => [`${account.name} ${account.per.length}`, account]),
);

export const owedTo = (user_id: string, chain: string) => `owed:${user_id}:${chain}`;
export const walletOn = (chain: string) => `wallet:${chain}`;
/** Null: booked before each bank account had its own ledger account. */
export const bankAt = (bank_account: string | null) =>
  bank_account === null ? "bank" : `bank:${bank_account}`;
export const payoutPending = (offramp_id: string) => `payout_pending:${offramp_id}`;
export const onrampAccount = (onramp_id: string) => `onramp:${onramp_id}`;
export const refundPending = (refund_id: string) => `refund_pending:${refund_id}`;

/** Throws for an account that is not in the chart, which is always a bug. */
export function ruleOf(ledger_account: string): LedgerAccountRule {
  const [name, ...ids] = ledger_account.split(":");
  const found = RULES.get(`${name} ${ids.length}`);
  if (!found || ids.includes("")) {
    throw new Error(`there is no ledger account "${ledger_account}"`);
  }
  return found;
}

/** Whether the account belongs to one record, such as an offramp; `fees` and wallets do not. */
export function isOfRecord(ledger_account: string): boolean {
  return ruleOf(ledger_account).is_kept;
}

/**
 * Whether two postings may create the balance at the same time. A balance of one record is created
 * by whoever has locked the record, so it is inserted once, with what the entries leave in it, and
 * deleted when it is zero: most records are done, and their balances would only take space.
 */
export function isShared({ per }: Pick<LedgerAccountRule, "per">): boolean {
  return per.includes("user");
}

/** A sum of lines in the account's natural sign. */
export function naturalAmount(ledger_account: string, amount: bigint): bigint {
  return ruleOf(ledger_account).side === "debit" ? amount : -amount;
}

/** The decimal digits of what is booked: currencies, tokens, and the coins that pay for gas. */
export function ledgerDigits(currency: string): number {
  if (Object.values(NATIVE_COINS).includes(currency)) return COIN_DIGITS;
  return minorDigits(currency) ?? 2;
}

/** A line with its amount as decimal text. */
export function describeLine({ ledger_account, currency, amount }: EntryLine) {
  return { ledger_account, currency, amount: minorToText(amount, ledgerDigits(currency)) };
}

/** The first currency in which the lines do not sum to zero, with the difference. */
export function findImbalance(
  lines: readonly EntryLine[],
): { currency: string; sum: bigint } | undefined {
  const sums = new Map<string, bigint>();
  for (const { currency, amount } of lines) {
    sums.set(currency, (sums.get(currency) ?? 0n) + amount);
  }
  for (const [currency, sum] of sums) if (sum !== 0n) return { currency, sum };
  return undefined;
}

/** The digest in the sealed chain. The order of the fields can never change. */
export function digestEntry(entry: Entry): Buffer {
  return digestOf(
    entry.account_id,
    entry.id,
    entry.created_at.toISOString(),
    entry.key,
    entry.kind,
    ...entry.lines.flatMap((line) => [line.ledger_account, line.currency, line.amount]),
  );
}

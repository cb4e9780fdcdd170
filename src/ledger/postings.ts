import {
  LEDGER_ACCOUNTS,
  type Line,
  type NewEntry,
  owedTo,
  payoutPending,
  refundPending,
} from "./model.ts";

/** One row of the posting table, in words. */
export type Posting = {
  when: string;
  key: string;
  lines: readonly { side: "debit" | "credit"; account: string; amount: string }[];
};

/**
 * The posting table: one row per transition that moves money. The functions below do what it
 * says (a test compares them), the reference page is made from it.
 */
export const POSTINGS = {
  deposit_final: {
    when: "A transfer to one of our addresses is final.",
    key: "deposit:<chain>:<tx>:<log>",
    lines: [
      debit("wallet", "what arrived, in the token"),
      credit("owed:<user>", "what arrived, in the token"),
    ],
  },
  quote_funded: {
    when: "What is owed to the user suffices for the quote, or nearly so.",
    key: "fund:<quote>",
    lines: [
      debit("owed:<user>", "what is used of it, in the token"),
      debit("short_deposits", "what is missing within the tolerance, if anything"),
      credit("deposit_clearing", "the quote's whole amount, in the token"),
    ],
  },
  offramp_funded: {
    when: "A funded quote sets aside the part of one of its offramps.",
    key: "fund:<offramp>",
    lines: [
      debit("deposit_clearing", "the offramp's token amount"),
      credit("payout_pending:<offramp>", "the offramp's token amount"),
    ],
  },
  payout_instructed: {
    when: "An attempt to pay is recorded for the first time; a re-route posts nothing.",
    key: "instruct:<offramp>",
    lines: [
      debit("payout_pending:<offramp>", "the offramp's token amount"),
      credit("fx_position", "the offramp's token amount"),
      debit("fx_position", "the payout and its fee, in the destination currency"),
      credit("payout_pending:<offramp>", "the payout"),
      credit("fees", "the fee, if any"),
    ],
  },
  payout_booked: {
    when: "The bank says that it has paid.",
    key: "book:<offramp>:<attempt>",
    lines: [debit("payout_pending:<offramp>", "the payout"), credit("bank", "the payout")],
  },
  payout_returned: {
    when: "The bank gives a booked payout back.",
    key: "return:<offramp>:<attempt>",
    lines: [
      debit("bank", "what came back"),
      debit("return_costs", "what is missing, if less came back than was paid"),
      credit("suspense", "what is too much, if more came back than was paid"),
      credit("payout_pending:<offramp>", "the payout"),
    ],
  },
  offramp_failed_before_instruction: {
    when: "A funded offramp fails before any attempt to pay it was recorded.",
    key: "giveback:<offramp>",
    lines: [
      debit("payout_pending:<offramp>", "the offramp's token amount"),
      credit("owed:<user>", "the offramp's token amount"),
    ],
  },
  offramp_failed_after_instruction: {
    when: "A funded offramp fails after a bank was told to pay it.",
    key: "giveback:<offramp>",
    lines: [
      debit("payout_pending:<offramp>", "the payout"),
      debit("fees", "the fee, if any"),
      credit("fx_position", "the payout and its fee, in the destination currency"),
      debit("fx_position", "the offramp's token amount"),
      credit("owed:<user>", "the offramp's token amount"),
    ],
  },
  refund_started: {
    when: "Tokens owed to a user are to be sent back.",
    key: "refund:<refund>",
    lines: [
      debit("owed:<user>", "the refund, in the token"),
      credit("refund_pending:<refund>", "the refund, in the token"),
    ],
  },
  refund_sent: {
    when: "The transfer of a refund is final.",
    key: "refund_sent:<refund>",
    lines: [
      debit("refund_pending:<refund>", "the refund, in the token"),
      credit("wallet", "the refund, in the token"),
    ],
  },
  suspense_received: {
    when: "Money arrives at the bank that belongs to no payout.",
    key: "suspense:<bank_reference>",
    lines: [debit("bank", "what arrived"), credit("suspense", "what arrived")],
  },
} as const satisfies Record<string, Posting>;

export type PostingKind = keyof typeof POSTINGS;

function debit(account: string, amount: string) {
  return { side: "debit", account, amount } as const;
}

function credit(account: string, amount: string) {
  return { side: "credit", account, amount } as const;
}

type Id = { account_id: string; id: string };
export type DepositMoney = {
  account_id: string;
  user_id: string;
  chain: string;
  tx_id: string;
  log_index: number;
  token: string;
  amount: bigint;
};
export type QuoteMoney = Id & { user_id: string; deposit_token: string; token_amount: bigint };
export type OfframpMoney = QuoteMoney & {
  destination_currency: string;
  destination_amount: bigint;
  fee: bigint;
};
export type RefundMoney = Id & { user_id: string; token: string; amount: bigint };
export type BankReceipt = {
  account_id: string;
  bank_reference: string;
  currency: string;
  amount: bigint;
};

export function depositFinal(deposit: DepositMoney): NewEntry {
  const { chain, tx_id, log_index, token, amount } = deposit;
  return entry("deposit_final", deposit, `deposit:${chain}:${tx_id}:${log_index}`, [
    ["wallet", token, amount],
    [owedTo(deposit.user_id), token, -amount],
  ]);
}

/** `used` is what `owed` gives; at most the quote's amount. */
export function quoteFunded(quote: QuoteMoney, used: bigint): NewEntry {
  const { deposit_token: token, token_amount: total } = quote;
  return entry("quote_funded", quote, `fund:${quote.id}`, [
    [owedTo(quote.user_id), token, used],
    ["short_deposits", token, total - used],
    ["deposit_clearing", token, -total],
  ]);
}

export function offrampFunded(offramp: OfframpMoney): NewEntry {
  const { deposit_token: token, token_amount } = offramp;
  return entry("offramp_funded", offramp, `fund:${offramp.id}`, [
    ["deposit_clearing", token, token_amount],
    [payoutPending(offramp.id), token, -token_amount],
  ]);
}

export function payoutInstructed(offramp: OfframpMoney): NewEntry {
  const { deposit_token: token, token_amount, destination_currency: currency } = offramp;
  return entry("payout_instructed", offramp, `instruct:${offramp.id}`, [
    [payoutPending(offramp.id), token, token_amount],
    ["fx_position", token, -token_amount],
    ["fx_position", currency, offramp.destination_amount + offramp.fee],
    [payoutPending(offramp.id), currency, -offramp.destination_amount],
    ["fees", currency, -offramp.fee],
  ]);
}

export function payoutBooked(offramp: OfframpMoney, attempt: number): NewEntry {
  const { destination_currency: currency, destination_amount } = offramp;
  return entry("payout_booked", offramp, `book:${offramp.id}:${attempt}`, [
    [payoutPending(offramp.id), currency, destination_amount],
    ["bank", currency, -destination_amount],
  ]);
}

/** What came back may be less than was paid (the bank kept a part), or even more. */
export function payoutReturned(offramp: OfframpMoney, attempt: number, returned: bigint): NewEntry {
  const { destination_currency: currency, destination_amount } = offramp;
  const missing = destination_amount - returned;
  return entry("payout_returned", offramp, `return:${offramp.id}:${attempt}`, [
    ["bank", currency, returned],
    ["return_costs", currency, missing > 0n ? missing : 0n],
    ["suspense", currency, missing < 0n ? missing : 0n],
    [payoutPending(offramp.id), currency, -destination_amount],
  ]);
}

export function offrampFailedBeforeInstruction(offramp: OfframpMoney): NewEntry {
  const { deposit_token: token, token_amount } = offramp;
  return entry("offramp_failed_before_instruction", offramp, `giveback:${offramp.id}`, [
    [payoutPending(offramp.id), token, token_amount],
    [owedTo(offramp.user_id), token, -token_amount],
  ]);
}

export function offrampFailedAfterInstruction(offramp: OfframpMoney): NewEntry {
  const { deposit_token: token, token_amount, destination_currency: currency } = offramp;
  return entry("offramp_failed_after_instruction", offramp, `giveback:${offramp.id}`, [
    [payoutPending(offramp.id), currency, offramp.destination_amount],
    ["fees", currency, offramp.fee],
    ["fx_position", currency, -(offramp.destination_amount + offramp.fee)],
    ["fx_position", token, token_amount],
    [owedTo(offramp.user_id), token, -token_amount],
  ]);
}

export function refundStarted(refund: RefundMoney): NewEntry {
  return entry("refund_started", refund, `refund:${refund.id}`, [
    [owedTo(refund.user_id), refund.token, refund.amount],
    [refundPending(refund.id), refund.token, -refund.amount],
  ]);
}

export function refundSent(refund: RefundMoney): NewEntry {
  return entry("refund_sent", refund, `refund_sent:${refund.id}`, [
    [refundPending(refund.id), refund.token, refund.amount],
    ["wallet", refund.token, -refund.amount],
  ]);
}

export function suspenseReceived(receipt: BankReceipt): NewEntry {
  const { bank_reference, currency, amount } = receipt;
  return entry("suspense_received", receipt, `suspense:${bank_reference}`, [
    ["bank", currency, amount],
    ["suspense", currency, -amount],
  ]);
}

/** A part that is nothing, such as no fee, is no line. */
function entry(
  kind: PostingKind,
  { account_id }: { account_id: string },
  key: string,
  lines: readonly (readonly [ledger_account: string, currency: string, amount: bigint])[],
): NewEntry {
  const present = lines
    .filter(([, , amount]) => amount !== 0n)
    .map(([ledger_account, currency, amount]): Line => ({ ledger_account, currency, amount }));
  return { account_id, key, kind, lines: present };
}

/** The reference page, without its first line of note. */
export function describePostings(): string {
  const accounts = LEDGER_ACCOUNTS.map(({ name, per, side, sign, is_kept, meaning }) => {
    const limit = is_kept ? "never negative, refused by the database" : "never negative";
    const account = per === null ? `\`${name}\`` : `\`${name}:<${per}>\``;
    return [account, side, sign === "any" ? "any" : limit, meaning];
  });
  const postings = Object.entries<Posting>(POSTINGS).flatMap(([kind, { when, key, lines }]) => [
    `### ${kind}`,
    `${when} Key: \`${key}\`.`,
    table(
      ["side", "account", "amount"],
      lines.map(({ side, account, amount }) => [side, `\`${account}\``, amount]),
    ),
  ]);
  return `${[
    "# Postings",
    "Every movement of money is one journal entry. Its lines sum to zero in every currency, and " +
      "its key can be posted once. Creating quotes and offramps moves no money and posts nothing.",
    "## Accounts",
    table(["account", "grows by", "sign", "meaning"], accounts),
    "## Entries",
    ...postings,
  ].join("\n\n")}\n`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), `|${" --- |".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

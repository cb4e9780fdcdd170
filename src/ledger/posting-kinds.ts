import type { EntryLine, NewEntry } from "./model.ts";

/** An entry in words. */
export type Posting = {
  when: string;
  key: string;
  lines: readonly { side: "debit" | "credit"; account: string; amount: string }[];
};

const CONVERTED = [
  credit("fx_position", "the offramp's token amount"),
  debit("fx_position", "the payout and its fee, in the destination currency"),
  credit("payout_pending:<offramp>", "the payout"),
  credit("fees", "the fee, if any"),
];

/**
 * Every kind of entry, in words: one row per transition that moves money. The functions of the
 * `*-postings.ts` files write the entries (a test compares them); the reference page is generated
 * from this table.
 */
export const POSTINGS = {
  deposit_final: {
    when: "A transfer to a deposit address is final.",
    key: "deposit:<chain>:<tx>:<log>",
    lines: move("wallet:<chain>", "owed:<user>:<chain>", "what arrived, in the token"),
  },
  quote_funded: {
    when: "The user's balance covers the quote, within the tolerance.",
    key: "fund:<quote>",
    lines: [
      debit("owed:<user>:<chain>", "the part of the balance that is used, in the token"),
      debit("short_deposits", "the shortfall within the tolerance, if any"),
      credit("deposit_clearing", "the quote's total amount, in the token"),
    ],
  },
  offramp_funded: {
    when: "The amount of one offramp is reserved from its funded quote.",
    key: "fund:<offramp>",
    lines: move("deposit_clearing", "payout_pending:<offramp>", "the offramp's token amount"),
  },
  payout_instructed: {
    when: "The first payout attempt is recorded.",
    key: "instruct:<offramp>",
    lines: [debit("payout_pending:<offramp>", "the offramp's token amount"), ...CONVERTED],
  },
  payout_funded: {
    when: "Both at once: every gate is open when the amount is reserved.",
    key: "fund:<offramp>",
    lines: [debit("deposit_clearing", "the offramp's token amount"), ...CONVERTED],
  },
  payout_booked: {
    when: "The bank confirms the payment.",
    key: "book:<offramp>:<attempt>",
    lines: move("payout_pending:<offramp>", "bank:<account>", "the payout"),
  },
  payout_returned: {
    when: "The bank returns a payout.",
    key: "return:<offramp>:<attempt>",
    lines: [
      debit("bank:<account>", "the returned amount"),
      credit("suspense", "the difference, if more came back than was paid"),
      credit("payout_pending:<offramp>", "the returned amount, at most the payout"),
    ],
  },
  payout_rerouted: {
    when: "A payout is re-routed in full although less came back than was paid.",
    key: "reroute:<offramp>:<attempt>",
    lines: move("return_costs", "payout_pending:<offramp>", "what did not come back"),
  },
  offramp_failed_before_instruction: {
    when: "A funded offramp fails before the first payout attempt.",
    key: "giveback:<offramp>",
    lines: [
      debit("payout_pending:<offramp>", "the offramp's token amount"),
      credit("short_deposits", "what is left of the quote's shortfall, if any"),
      credit("owed:<user>:<chain>", "the rest of the offramp's token amount"),
    ],
  },
  offramp_failed_after_instruction: {
    when: "A funded offramp fails after a payout attempt, and no money had left.",
    key: "giveback:<offramp>",
    lines: [
      debit("payout_pending:<offramp>", "the payout"),
      debit("fees", "the fee, if any"),
      credit("fx_position", "the payout and its fee, in the destination currency"),
      debit("fx_position", "the offramp's token amount"),
      credit("short_deposits", "what is left of the quote's shortfall, if any"),
      credit("owed:<user>:<chain>", "the rest of the offramp's token amount"),
    ],
  },
  offramp_failed_after_return: {
    when: "A funded offramp fails after the bank returned a payout; the fee stays earned.",
    key: "giveback:<offramp>",
    lines: [
      debit("payout_pending:<offramp>", "what was still to be paid"),
      credit("return_costs", "what a re-route had added to what came back, if anything"),
      credit("fx_position", "what came back"),
      debit("fx_position", "its value in the token"),
      credit("short_deposits", "what is left of the quote's shortfall, if any"),
      credit("owed:<user>:<chain>", "the rest of its value"),
    ],
  },
  refund_started: {
    when: "A refund of a user's balance is created.",
    key: "refund:<refund>",
    lines: move("owed:<user>:<chain>", "refund_pending:<refund>", "the refund, in the token"),
  },
  refund_sent: {
    when: "The transfer of a refund is final.",
    key: "refund_sent:<refund>",
    lines: [
      debit("refund_pending:<refund>", "the refund, in the token"),
      credit("fees", "the chain's network fee, if any"),
      credit("wallet:<chain>", "the rest"),
    ],
  },
  refund_failed: {
    when: "The chain refuses the transfer of a refund permanently.",
    key: "refund_failed:<refund>",
    lines: move("refund_pending:<refund>", "owed:<user>:<chain>", "the refund, in the token"),
  },
  suspense_received: {
    when: "Money arrives at the bank that belongs to no payout.",
    key: "suspense:<bank_reference>",
    lines: move("bank:<account>", "suspense", "what arrived"),
  },
  exception_assigned: {
    when: "The operator assigns money of a bank exception to a payout, as a return of it.",
    key: "assign:<offramp>:<exception>",
    lines: [
      debit("suspense", "the money that came back"),
      debit("bank:<account>", "the same, if the bank rejected a payment that it had booked"),
      credit("payout_pending:<offramp>", "the same"),
    ],
  },
  exception_given_back: {
    when: "The operator assigns money that came back to a payout that was already refunded.",
    key: "assign:<offramp>:<exception>",
    lines: [
      debit("suspense", "the money that came back"),
      credit("fx_position", "the same"),
      debit("fx_position", "its value in the token"),
      credit("short_deposits", "what is left of the quote's shortfall, if any"),
      credit("owed:<user>:<chain>", "the rest of its value"),
    ],
  },
  exception_written_off: {
    when: "The operator keeps money of a bank exception that nobody claims.",
    key: "write_off:<exception>",
    lines: move("suspense", "write_offs", "the money of the exception"),
  },
  exception_lost: {
    when: "The bank paid without an instruction, or too much, and the operator accepts the loss.",
    key: "loss:<exception>",
    lines: move("write_offs", "bank:<account>", "what left"),
  },
  exception_return_started: {
    when: "The return of a bank exception's money is started.",
    key: "exception_return:<exception>:<try>",
    lines: move("suspense", "return_clearing", "the money of the exception"),
  },
  exception_return_booked: {
    when: "The bank confirms the return of a bank exception's money.",
    key: "exception_return_booked:<exception>:<try>",
    lines: move("return_clearing", "bank:<account>", "the money of the exception"),
  },
  exception_return_refused: {
    when: "The bank refuses the return of a bank exception's money: it is open again.",
    key: "exception_return_refused:<exception>:<try>",
    lines: move("return_clearing", "suspense", "the money of the exception"),
  },
  fiat_deposit_received: {
    when: "The bank reports an incoming deposit; in the operator's books.",
    key: "fiat_deposit:<deposit>",
    lines: move("bank:<account>", "suspense", "what arrived"),
  },
  fiat_deposit_withdrawn: {
    when: "The operator dismisses a deposit that the bank reported twice with different details.",
    key: "fiat_withdrawn:<deposit>",
    lines: move("suspense", "bank:<account>", "the amount posted before"),
  },
  fiat_deposit_matched: {
    when: "A deposit is matched to an onramp and moves to the books of the onramp's account.",
    key: "fiat_matched:<deposit>:<try>",
    lines: move("suspense", "bank:<account>", "the amount that the onramp takes"),
  },
  fiat_deposit_released: {
    when:
      "The onramp releases the deposit without delivery; it moves back to the operator's " +
      "books.",
    key: "fiat_released:<deposit>:<try>",
    lines: move("bank:<account>", "suspense", "the amount that the onramp had taken"),
  },
  fiat_return_started: {
    when: "The return of a deposit to its payer is started.",
    key: "fiat_return:<deposit>:<try>",
    lines: move("suspense", "return_clearing", "the deposit"),
  },
  fiat_return_booked: {
    when: "The bank confirms the return.",
    key: "fiat_return_booked:<deposit>:<try>",
    lines: move("return_clearing", "bank:<account>", "the deposit"),
  },
  fiat_return_refused: {
    when: "The bank refuses the return.",
    key: "fiat_return_refused:<deposit>:<try>",
    lines: move("return_clearing", "suspense", "the deposit"),
  },
  onramp_funded: {
    when: "A deposit pays an onramp; in the books of the onramp's account.",
    key: "onramp_fund:<onramp>",
    lines: [
      debit("bank:<account>", "the amount taken from the deposit"),
      debit("short_deposits", "the shortfall, if the operator accepted it"),
      credit("onramp:<onramp>", "the onramp's deposit amount"),
    ],
  },
  onramp_converted: {
    when: "All checks have passed and the tokens are about to be sent.",
    key: "onramp_convert:<onramp>",
    lines: [
      debit("onramp:<onramp>", "the onramp's deposit amount"),
      credit("fees", "the fee, if any"),
      credit("fx_position", "the remainder"),
      debit("fx_position", "the tokens"),
      credit("onramp:<onramp>", "the tokens"),
    ],
  },
  onramp_delivered: {
    when: "The transfer is on the chain.",
    key: "onramp_deliver:<onramp>",
    lines: move("onramp:<onramp>", "wallet:<chain>", "the tokens"),
  },
  onramp_refused: {
    when: "The chain rejects the transfer permanently: the conversion is reversed.",
    key: "onramp_refuse:<onramp>",
    lines: [
      debit("onramp:<onramp>", "the tokens"),
      credit("fx_position", "the tokens"),
      debit("fx_position", "the deposit amount without the fee"),
      debit("fees", "the fee, if any"),
      credit("onramp:<onramp>", "the onramp's deposit amount"),
    ],
  },
  onramp_given_back: {
    when: "A paid onramp fails before its tokens were sent.",
    key: "onramp_giveback:<onramp>",
    lines: [
      debit("onramp:<onramp>", "the onramp's deposit amount"),
      credit("bank:<account>", "the amount taken from the deposit"),
      credit("short_deposits", "the shortfall, if any"),
    ],
  },
  gas_paid: {
    when: "A transaction that the operator signed is final; also one that failed or was cancelled.",
    key: "gas:<chain>:<tx>",
    lines: move("network_costs", "wallet:<chain>", "the gas in the chain's coin, rounded up"),
  },
  own_transfer: {
    when: "The operator books what it moved to its wallets on a chain, or from them (reversed).",
    key: "own_transfer:<chain>:<currency>:<block>",
    lines: move("wallet:<chain>", "treasury", "the tokens or coins"),
  },
  bank_opened: {
    when: "The operator books the opening balance of a bank account.",
    key: "opening:<account>:<currency>:<number>",
    lines: move("bank:<account>", "treasury", "the balance of the first statement"),
  },
  bank_transfer: {
    when: "The operator books a line of a statement as its own transfer (reversed, if it left).",
    key: "bank_line:<account>:<line>",
    lines: move("bank:<account>", "treasury", "the line's amount"),
  },
  bank_fee: {
    when: "The operator books a line of a statement as interest, or as a fee (reversed).",
    key: "bank_line:<account>:<line>",
    lines: move("bank:<account>", "bank_costs", "the line's amount"),
  },
  fiat_deposit_kept: {
    when: "The operator confirms that an unmatched credit is its own money, not a user's.",
    key: "fiat_kept:<deposit>",
    lines: move("suspense", "treasury", "the deposit"),
  },
  treasury_converted: {
    when: "The operator converted tokens to a currency, or back, to reduce the exposure.",
    key: "convert:<reference>",
    lines: [
      debit("treasury", "what was bought"),
      credit("fx_position", "what was bought"),
      credit("treasury", "what was sold"),
      debit("fx_position", "what was sold"),
    ],
  },
} as const satisfies Record<string, Posting>;

export type PostingKind = keyof typeof POSTINGS;

/** One amount that goes from one account to another. */
function move(debited: string, credited: string, amount: string) {
  return [debit(debited, amount), credit(credited, amount)] as const;
}

function debit(account: string, amount: string) {
  return { side: "debit", account, amount } as const;
}

function credit(account: string, amount: string) {
  return { side: "credit", account, amount } as const;
}

export type Line = readonly [ledger_account: string, currency: string, amount: bigint];

/** A part of zero, such as no fee, gets no line. */
export function entry(
  kind: PostingKind,
  { account_id }: { account_id: string },
  key: string,
  lines: readonly Line[],
): NewEntry {
  const present = lines
    .filter(([, , amount]) => amount !== 0n)
    .map(([ledger_account, currency, amount]): EntryLine => ({ ledger_account, currency, amount }));
  return { account_id, key, kind, lines: present };
}

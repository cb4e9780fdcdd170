import { SCHEMES } from "../iso20022/credit-transfer.ts";
import type { BankAnswer } from "../port.ts";
import type { AccountEntry, PaymentIds, PaymentStatus } from "../report.ts";
import type { BookableSum } from "./ach/ach-store.ts";
import type { BookedLine, FileScheme } from "./model.ts";
import { isReturnId } from "./returns/return-id.ts";
import { TAKEN_BACK } from "./uncertain-credits.ts";

/** A payment of ours that is in a file. */
export type KnownPayment = {
  account_id: string;
  end_to_end_id: string;
  number: bigint;
  amount: bigint;
  currency: string;
  /** Stored for every payment; `is_uetr_sent` says whether the bank was told. */
  uetr: string;
  scheme: FileScheme;
  message_id: string;
  /** The account of ours that pays it. */
  bank_account: string;
  /** Of NACHA files only. */
  short_id: string | null;
  trace_number: string | null;
  batch_number: number | null;
  /** Whether its file is complete: the bank may know it. */
  is_at_bank: boolean;
};

/** Finds payments by what banks repeat. */
export type FindPayments = {
  byIds(ids: PaymentIds & Partial<Pick<AccountEntry, "transaction_id" | "text">>): KnownPayment[];
  ofFile(message_id: string): readonly KnownPayment[];
  /** NACHA files and batches with the sum of a line, and whether the account is booked by sums. */
  bySum?(entry: BookedLine): { is_booked_by_sum: boolean; sums: readonly BookableSum[] };
  /** Whether the bank took the amount of a credit back. */
  isTakenBack?(entry: BookedLine): boolean;
  /** Whether a credit without an id can be an ACH payment that came back. */
  isAchReturn?(entry: BookedLine): boolean;
};

/** What a line means to us. */
export type Matched =
  | { state: "answer"; answers: BankAnswer[] }
  | { state: "credit" }
  | { state: "unmatched"; problem: string };

/**
 * Rejected as a duplicate: the other one may have been paid. Neither is known to be unpaid, so it
 * is not final.
 */
const DUPLICATES: ReadonlySet<string> = new Set("AM05 DUPL DU01 DU02 DU03 DU04 DU05".split(" "));

/** A payment that waits for its window can be neither booked, returned nor rejected. */
export const NOT_AT_BANK = "The payment with this id is in no file that the bank has.";

/** ISO's family of debits that somebody else orders, who can write an id of ours into them. */
const DIRECT_DEBIT = "PMNT/RDDT";
const NOT_ORDERED = "A direct debit: somebody took this money, and it is no payout.";

const OTHER_FILE =
  "It names another file than the one that this payment is in: find out whether it was paid.";

/** What a status of a bank means: only a final rejection is an answer. Null: nothing yet. */
export function matchStatus(status: PaymentStatus, find: FindPayments): Matched | null {
  if (status.outcome !== "rejected" || !status.is_final) return null;
  if (status.reasons.some(({ code }) => code !== null && DUPLICATES.has(code))) {
    return unmatched("Rejected as a duplicate: find out whether the other one was paid.");
  }
  const concerned = paymentsOf(status, find);
  if (concerned.some(({ is_at_bank }) => !is_at_bank)) return unmatched(NOT_AT_BANK);
  if (concerned.length === 0) return unmatched("No payment of ours was rejected here.");
  if (status.level === "payment" && concerned.length > 1) {
    return unmatched("The ids of this status belong to several payments.");
  }
  if (concerned.some((payment) => isOfOtherFile(status, payment))) return unmatched(OTHER_FILE);
  const answers = concerned.map((payment) => ({
    ...answerTo(payment, "rejected"),
    bank_reference: `rejected-${payment.end_to_end_id}`,
    reasons: status.reasons,
  }));
  return { state: "answer", answers };
}

/**
 * Whether a status names a file, and not the one that the payment is in: a copy of the payment may
 * have been rejected, of a file that was sent twice or is older than a restored database. Programs
 * between us and the bank write their own message id; the id of the batch stays.
 */
function isOfOtherFile({ message_id, batch_id }: PaymentStatus, payment: KnownPayment): boolean {
  const named = [message_id, batch_id].filter((id) => id !== null);
  return named.length > 0 && !named.includes(payment.message_id);
}

function paymentsOf(status: PaymentStatus, find: FindPayments): readonly KnownPayment[] {
  if (status.level === "payment") return find.byIds(status);
  // Our files have one batch, with the same id.
  const message_id = status.level === "batch" ? status.batch_id : status.message_id;
  return message_id === null ? [] : find.ofFile(message_id);
}

/** Our own ids are looked for before a credit counts as money that somebody paid in. */
export function matchEntry(entry: BookedLine, find: FindPayments): Matched {
  if (entry.problem !== null) return unmatched(entry.problem);
  const found = find.byIds(entry);
  if (found.length > 1) return unmatched("The ids of this line belong to several payments.");
  const [payment] = found;
  if (payment?.is_at_bank === false) return unmatched(NOT_AT_BANK);
  const is_return = payment !== undefined && isReturnId(payment.end_to_end_id);
  if (is_return && (entry.kind === "incoming" || entry.kind === "returned")) {
    return unmatched(
      "A deposit that was sent back has come back. Settle it with --deposit: then it is one again.",
    );
  }
  if (find.isTakenBack?.(entry)) return unmatched(TAKEN_BACK);
  switch (entry.kind) {
    case "incoming":
      return payment ? cameBack(entry, payment) : paidIn(entry, find);
    case "returned":
      return payment
        ? returned(entry, payment)
        : unmatched("No payment of ours was returned here.");
    case "booked":
      if (isDirectDebit(entry)) return unmatched(NOT_ORDERED);
      return payment ? booked(entry, payment) : bookedFile(entry, find);
    case "charge":
      return unmatched("A fee of the bank.");
    case "taken_back":
      return unmatched("The bank took money back that it had credited.");
  }
}

export function isDirectDebit({ kind, codes }: BookedLine): boolean {
  return kind === "booked" && codes.some((code) => code.startsWith(DIRECT_DEBIT));
}

function paidIn(entry: BookedLine, find: FindPayments): Matched {
  if (entry.booked_on === null) return unmatched("This credit has no date.");
  if (!find.isAchReturn?.(entry)) return { state: "credit" };
  return unmatched(
    "This may be an ACH payment that came back: settle it with --payment, or with --deposit if " +
      "it is another credit.",
  );
}

/**
 * A credit that names a payment of ours and that the bank does not call a return. Who knows the id
 * can send one: a part of it would bounce the payout, and a re-route would pay the rest again.
 */
function cameBack(entry: BookedLine, payment: KnownPayment): Matched {
  if (entry.amount === payment.amount && entry.currency === payment.currency) {
    return returned(entry, payment);
  }
  return unmatched(
    "A credit of another amount names this payment, but the bank does not call it a return: find " +
      "out who sent it.",
  );
}

/** Money can come back to another account of ours than it left. */
function returned(entry: BookedLine, payment: KnownPayment): Matched {
  const { amount, currency, reasons, bank_account } = entry;
  if (payment.scheme === "ach" && amount !== payment.amount) {
    return unmatched("ACH returns a payment whole, and this is another amount: ask the bank.");
  }
  const answer = { ...answerTo(payment, "returned"), bank_account, amount, currency, reasons };
  // ACH returns a payment whole, and tells it by a NACHA file as well: both are one return.
  const bank_reference = payment.scheme === "ach" ? achReturnName(payment) : lineName(entry);
  return { state: "answer", answers: [{ ...answer, bank_reference }] };
}

/** Our name of the return of an ACH payment, whichever file tells it. */
export function achReturnName({ end_to_end_id }: Pick<KnownPayment, "end_to_end_id">): string {
  return `ach-return-${end_to_end_id}`;
}

const OTHER_ACCOUNT = "The bank booked this on another account than it was ordered from.";

function booked(entry: BookedLine, payment: KnownPayment): Matched {
  if (entry.bank_account !== payment.bank_account) return unmatched(OTHER_ACCOUNT);
  if (entry.currency !== payment.currency || entry.amount !== payment.amount) {
    return unmatched("The bank booked another amount than was ordered.");
  }
  const answer = { ...answerTo(payment, "booked"), bank_reference: lineName(entry) };
  return { state: "answer", answers: [answer] };
}

/** A file that was booked as one sum. */
function bookedFile(entry: BookedLine, find: FindPayments): Matched {
  const message_id = entry.batch_id ?? entry.message_id;
  const has_payment_id = entry.end_to_end_id !== null || entry.instruction_id !== null;
  const payments = message_id === null || has_payment_id ? [] : find.ofFile(message_id);
  if (payments.length === 0) return bookedSum(entry, find);
  if (payments.some((one) => one.bank_account !== entry.bank_account)) {
    return unmatched(OTHER_ACCOUNT);
  }
  const sum = payments.reduce((total, { amount }) => total + amount, 0n);
  const is_same_currency = payments.every(({ currency }) => currency === entry.currency);
  const is_counted = entry.batch_count === null || entry.batch_count === payments.length;
  if (!is_same_currency || sum !== entry.amount || !is_counted) {
    return unmatched("The bank booked another sum than the file has.");
  }
  return bookedAll(entry, payments);
}

/** A NACHA file or batch that was booked without an id: by its sum, if no other has the same. */
function bookedSum(entry: BookedLine, find: FindPayments): Matched {
  const nothing = "No payment of ours was booked here.";
  const { sums, is_booked_by_sum } = find.bySum?.(entry) ?? { sums: [], is_booked_by_sum: false };
  const [sum] = sums;
  if (!sum) return unmatched(nothing);
  if (is_booked_by_sum && sums.length === 1) {
    const { message_id, batch_number } = sum;
    const inside = find.ofFile(message_id);
    return bookedAll(
      entry,
      batch_number === null ? inside : inside.filter((one) => one.batch_number === batch_number),
    );
  }
  const names = sums.map(({ message_id, batch_number }) =>
    batch_number === null ? `file ${message_id}` : `batch ${batch_number} of ${message_id}`,
  );
  return unmatched(`${nothing} Its amount is the sum of ${names.join(", and of ")}.`);
}

function bookedAll(entry: BookedLine, payments: readonly KnownPayment[]): Matched {
  return { state: "answer", answers: listBookedAnswers(entry, payments) };
}

/** The answers of a line that books these payments as one sum. */
export function listBookedAnswers(
  entry: Pick<AccountEntry, "entry_key" | "part">,
  payments: readonly KnownPayment[],
): BankAnswer[] {
  return payments.map((payment) => ({
    ...answerTo(payment, "booked"),
    bank_reference: `${lineName(entry)}-${payment.end_to_end_id}`,
  }));
}

export function answerTo(
  payment: KnownPayment,
  kind: BankAnswer["kind"],
): Omit<BankAnswer, "bank_reference"> {
  const { account_id, end_to_end_id, amount, currency, uetr, scheme, trace_number } = payment;
  const is_uetr_sent = scheme !== "ach" && SCHEMES[scheme].is_uetr_sent;
  const proof = { trace_number, uetr: is_uetr_sent ? uetr : null };
  return {
    ...{ account_id, end_to_end_id, kind, amount, currency },
    bank_account: kind === "rejected" ? null : payment.bank_account,
    paid_from: payment.bank_account,
    ...proof,
    reasons: [],
  };
}

/** Our name of a line's part: the same line has the same one in every file. */
export function lineName({ entry_key, part }: Pick<AccountEntry, "entry_key" | "part">): string {
  return `${entry_key}-${part}`;
}

function unmatched(problem: string): Matched {
  return { state: "unmatched", problem };
}

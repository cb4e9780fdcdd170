import type { Session, Transaction } from "../../../platform/db/database.ts";
import type { BankAnswer } from "../port.ts";
import {
  achReturnName,
  answerTo,
  type KnownPayment,
  lineName,
  listBookedAnswers,
  NOT_AT_BANK,
} from "./match-entry.ts";
import {
  lockOpenLine,
  lockOpenStatus,
  type OpenLine,
  updateCorrectionSettled,
  updateLineSettled,
  updateLineToCredit,
  updateStatusSettled,
} from "./open-item-store.ts";
import { listPaymentsById, listPaymentsOfFiles, lockLines } from "./report-store.ts";
import { recordAnswers } from "./returns/record-answers.ts";
import { existsUnbookedReturn, lockHandReturn, updatePaidByHand } from "./returns/return-store.ts";

/** An item of the operator's list, by its id such as `line-12`. */
type ItemId = { type: "line" | "status" | "correction" | "return"; number: bigint };

/**
 * What a person found out: the payment or the file that the item is about, or that it is money from
 * outside; null: none of these.
 */
export type Found = FoundPayments | "deposit" | null;
type FoundPayments = { payment: string } | { file: string; batch: number | null };

/** What an item says, and what follows from settling it so. */
export type Settlement = {
  /** Null if the bank did not say. */
  bank_account: string | null;
  amount: bigint | null;
  currency: string | null;
  booked_on: string | null;
  answers: readonly BankAnswer[];
};

const NONE = "There is no such open item.";

export function readItemId(text: string): ItemId | null {
  const match = /^(line|status|correction|return)-(\d{1,18})$/.exec(text);
  return match && { type: match[1] as ItemId["type"], number: BigInt(match[2]!) };
}

/**
 * Whether settling it so decides about money: it answers payments, or says that a person has sent a
 * deposit back. About a new deposit it is decided when it is matched or returned.
 */
export function movesMoney({ type }: ItemId, found: Found): boolean {
  return type === "return" || (found !== null && found !== "deposit");
}

/**
 * Takes an item off the operator's list. If the person found the payment that it is about, it is
 * answered as if the bank had named it; amounts must still agree. A sentence if it cannot be
 * settled so.
 */
export async function settleItem(
  tx: Transaction,
  index_key: Buffer,
  item: ItemId,
  found: Found,
  now: Date,
): Promise<Settlement | string> {
  const settlement = await prepareSettlement(tx, item, found);
  if (typeof settlement === "string") return settlement;
  const { type, number } = item;
  const { answers } = settlement;
  const references = answers.map(({ bank_reference }) => bank_reference);
  const state = found === null ? "settled" : "answer";
  if (type === "line" && found === "deposit") await toCredit(tx, number, now);
  else if (type === "line") await updateLineSettled(tx, number, state, references, now);
  else if (type === "status") await updateStatusSettled(tx, number, now);
  else if (type === "return") await updatePaidByHand(tx, number);
  else if (!(await updateCorrectionSettled(tx, number, now))) return NONE;
  await recordAnswers(tx, index_key, answers);
  return settlement;
}

/** What settling an item would mean, with the item locked. A sentence if it is not possible. */
export async function prepareSettlement(
  session: Session,
  { type, number }: ItemId,
  found: Found,
): Promise<Settlement | string> {
  if (type === "line") return prepareLine(session, number, found);
  if (type === "status") return prepareStatus(session, number, found);
  if (found !== null) {
    return type === "return"
      ? "A returned deposit has no payment; leave out all options."
      : "A correction has its payment already; leave out all options.";
  }
  if (type === "correction") return { ...NOTHING_KNOWN, answers: [] };
  const row = await lockHandReturn(session, number);
  return row ? { ...row, booked_on: null, answers: [] } : NONE;
}

const NOTHING_KNOWN = { bank_account: null, amount: null, currency: null, booked_on: null };

async function prepareLine(
  session: Session,
  number: bigint,
  found: Found,
): Promise<Settlement | string> {
  const line = await lockOpenLine(session, number);
  if (!line) return NONE;
  const { bank_account, amount, currency, booked_on } = line;
  const facts = { bank_account, amount, currency, booked_on };
  if (found === null) return { ...facts, answers: [] };
  if (found === "deposit") return (await findNoDeposit(session, line)) ?? { ...facts, answers: [] };
  const payments = await listFound(session, found);
  if (typeof payments === "string") return payments;
  const answers = answersOf(line, payments);
  return typeof answers === "string" ? answers : { ...facts, answers };
}

/** Why a line cannot become a deposit; null if it can. */
async function findNoDeposit(session: Session, line: OpenLine): Promise<string | null> {
  if (line.kind !== "incoming" && line.kind !== "returned") {
    return "Only a credit can be a deposit; settle this one without --deposit.";
  }
  if (line.booked_on === null) return "This credit has no date, so it cannot be kept as a deposit.";
  // Else the deposit that was to go back is still in the books, and this would be a second one.
  const is_in_books = await existsUnbookedReturn(session, line.number);
  return is_in_books
    ? "The bank has not booked that the deposit left; settle this line without --deposit."
    : null;
}

/**
 * Money that nobody knows what it is for becomes a deposit: it waits among those that match
 * nothing, and leaves by their ways. So does a deposit that was sent back and came back.
 */
async function toCredit(tx: Transaction, number: bigint, now: Date): Promise<void> {
  await lockLines(tx);
  await updateLineToCredit(tx, number, now);
}

/** The payments that a line answers; a sentence if its amount says that it cannot. */
function answersOf(line: OpenLine, payments: readonly KnownPayment[]): BankAnswer[] | string {
  const sum = payments.reduce((total, { amount }) => total + amount, 0n);
  const is_same_currency = payments.every(({ currency }) => currency === line.currency);
  if (line.kind === "booked") {
    const is_ours = payments.every(({ bank_account }) => bank_account === line.bank_account);
    if (!is_ours) return "The line is of another account than the payments were ordered from.";
    if (sum === line.amount && is_same_currency) return listBookedAnswers(line, payments);
    return "The line has another amount than was ordered; settle it without --payment or --file.";
  }
  const [payment] = payments;
  if ((line.kind !== "incoming" && line.kind !== "returned") || payments.length !== 1) {
    return "A line of this kind has no payment; settle it without --payment or --file.";
  }
  const { amount, currency, bank_account } = line;
  const is_told = payment!.scheme === "ach" && amount === payment!.amount;
  const bank_reference = is_told ? achReturnName(payment!) : lineName(line);
  return [{ ...answerTo(payment!, "returned"), bank_account, amount, currency, bank_reference }];
}

/** A rejection of which the person found out that the payment was not carried out. */
async function prepareStatus(
  session: Session,
  number: bigint,
  found: Found,
): Promise<Settlement | string> {
  const status = await lockOpenStatus(session, number);
  if (!status) return NONE;
  if (found === "deposit") return "A status report is not a credit; leave out --deposit.";
  const payments = found === null ? [] : await listFound(session, found);
  if (typeof payments === "string") return payments;
  const reasons = status.reason_codes.map((code) => ({ code, text: null }));
  const is_return = status.status === "returned";
  const answers = payments.map((payment) => ({
    ...answerTo(payment, is_return ? "returned" : "rejected"),
    bank_reference: is_return ? achReturnName(payment) : `rejected-${payment.end_to_end_id}`,
    reasons,
  }));
  return { ...NOTHING_KNOWN, amount: status.amount, answers };
}

async function listFound(session: Session, found: FoundPayments): Promise<KnownPayment[] | string> {
  if ("payment" in found) {
    const payments = await listPaymentsById(session, [found.payment], []);
    const [payment] = payments;
    if (payment?.is_at_bank) return [payment];
    return payment ? NOT_AT_BANK : "There is no such payment.";
  }
  const inside = await listPaymentsOfFiles(session, [found.file]);
  const payments = inside.filter(
    ({ batch_number }) => found.batch === null || found.batch === batch_number,
  );
  if (payments.some(({ is_at_bank }) => !is_at_bank)) return "The bank does not have that file.";
  return payments.length > 0 ? payments : "There is no file or batch of a file with this id.";
}

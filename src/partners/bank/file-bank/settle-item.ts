import type { Database, Transaction } from "../../../platform/db/database.ts";
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
import { existsUnbookedReturn, updatePaidByHand } from "./returns/return-store.ts";

/** An item of the operator's list, by its id such as `line-12`. */
type ItemId = { type: "line" | "status" | "correction" | "return"; number: bigint };

/**
 * What a person found out: the payment or the file that the item is about, or that it is money from
 * outside; null: none of these.
 */
export type Found = FoundPayments | "deposit" | null;
type FoundPayments = { payment: string } | { file: string; batch: number | null };

/** What becomes of an item; a sentence if it cannot be settled so. */
type Settled = { is_settled: true; answers: readonly BankAnswer[] } | { problem: string };

const NONE = "There is no such open item.";

export function readItemId(text: string): ItemId | null {
  const match = /^(line|status|correction|return)-(\d{1,18})$/.exec(text);
  return match && { type: match[1] as ItemId["type"], number: BigInt(match[2]!) };
}

/**
 * Takes an item off the operator's list. If the person found the payment that it is about, it is
 * answered as if the bank had named it; amounts must still agree. `record` runs in the same
 * transaction.
 */
export async function settleItem(
  database: Database,
  { type, number }: ItemId,
  found: Found,
  now: Date,
  record: (tx: Transaction) => void,
): Promise<Settled> {
  return database.transaction(async (tx) => {
    const settled =
      type === "line"
        ? await settleLine(tx, number, found, now)
        : type === "status"
          ? await settleStatus(tx, number, found, now)
          : type === "return"
            ? await settleReturn(tx, number, found)
            : await settleCorrection(tx, number, found, now);
    if ("problem" in settled) return settled;
    await recordAnswers(tx, settled.answers);
    record(tx);
    return settled;
  });
}

async function settleLine(
  tx: Transaction,
  number: bigint,
  found: Found,
  now: Date,
): Promise<Settled> {
  const line = await lockOpenLine(tx, number);
  if (!line) return { problem: NONE };
  if (found === null) {
    await updateLineSettled(tx, number, "settled", [], now);
    return { is_settled: true, answers: [] };
  }
  if (found === "deposit") return settleDeposit(tx, line, now);
  const payments = await listFound(tx, found);
  if (typeof payments === "string") return { problem: payments };
  const answers = answersOf(line, payments);
  if (typeof answers === "string") return { problem: answers };
  const references = answers.map(({ bank_reference }) => bank_reference);
  await updateLineSettled(tx, number, "answer", references, now);
  return { is_settled: true, answers };
}

/**
 * Money that nobody knows what it is for becomes a deposit: it waits among those that match
 * nothing, and leaves by their ways. So does a deposit that was sent back and came back.
 */
async function settleDeposit(tx: Transaction, line: OpenLine, now: Date): Promise<Settled> {
  if (line.kind !== "incoming" && line.kind !== "returned") {
    return { problem: "Only money that came in is a deposit; settle it without --deposit." };
  }
  if (line.booked_on === null) return { problem: "This credit has no date: it is no deposit." };
  // Else the deposit that was to go back is still in the books, and this would be a second one.
  if (await existsUnbookedReturn(tx, line.number)) {
    return {
      problem: "The bank has not booked that the deposit left; settle this line without --deposit.",
    };
  }
  await lockLines(tx);
  await updateLineToCredit(tx, line.number, now);
  return { is_settled: true, answers: [] };
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
    return "A line of this kind is about no payment; settle it without --payment or --file.";
  }
  const { amount, currency, bank_account } = line;
  const is_told = payment!.scheme === "ach" && amount === payment!.amount;
  const bank_reference = is_told ? achReturnName(payment!) : lineName(line);
  return [{ ...answerTo(payment!, "returned"), bank_account, amount, currency, bank_reference }];
}

/** A rejection of which the person found out that the payment was not carried out. */
async function settleStatus(
  tx: Transaction,
  number: bigint,
  found: Found,
  now: Date,
): Promise<Settled> {
  const status = await lockOpenStatus(tx, number);
  if (!status) return { problem: NONE };
  if (found === "deposit") return { problem: "A status is no money; leave out --deposit." };
  const payments = found === null ? [] : await listFound(tx, found);
  if (typeof payments === "string") return { problem: payments };
  await updateStatusSettled(tx, number, now);
  const reasons = status.reason_codes.map((code) => ({ code, text: null }));
  const is_return = status.status === "returned";
  const answers = payments.map((payment) => ({
    ...answerTo(payment, is_return ? "returned" : "rejected"),
    bank_reference: is_return ? achReturnName(payment) : `rejected-${payment.end_to_end_id}`,
    reasons,
  }));
  return { is_settled: true, answers };
}

async function settleCorrection(
  tx: Transaction,
  number: bigint,
  found: Found,
  now: Date,
): Promise<Settled> {
  if (found !== null) return { problem: "A correction names its payment; leave out all options." };
  const is_settled = await updateCorrectionSettled(tx, number, now);
  return is_settled ? { is_settled, answers: [] } : { problem: NONE };
}

/** A person has sent a deposit back by the bank's own means. */
async function settleReturn(tx: Transaction, number: bigint, found: Found): Promise<Settled> {
  if (found !== null) return { problem: "A return is about no payment; leave out all options." };
  const is_settled = await updatePaidByHand(tx, number);
  return is_settled ? { is_settled, answers: [] } : { problem: NONE };
}

async function listFound(tx: Transaction, found: FoundPayments): Promise<KnownPayment[] | string> {
  if ("payment" in found) {
    const payments = await listPaymentsById(tx, [found.payment], []);
    const [payment] = payments;
    if (payment?.is_at_bank) return [payment];
    return payment ? NOT_AT_BANK : "There is no such payment.";
  }
  const inside = await listPaymentsOfFiles(tx, [found.file]);
  const payments = inside.filter(
    ({ batch_number }) => found.batch === null || found.batch === batch_number,
  );
  return payments.length > 0 ? payments : "There is no such file, or batch of a file.";
}

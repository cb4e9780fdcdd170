import { randomUUID } from "node:crypto";
import type { Transaction } from "../../../../platform/db/database.ts";
import { DAY_MS } from "../../../../platform/durations.ts";
import type { Keyring } from "../../../../platform/encryption/keyring.ts";
import { newId } from "../../../../platform/ids.ts";
import type { BankAnswer, Instruction } from "../../port.ts";
import type { AccountEntry } from "../../report.ts";
import { shortId } from "../ach/credit-of.ts";
import { isProvenNaming } from "../line-details.ts";
import { lineName } from "../match-entry.ts";
import { type FileBankAccount, routeOf } from "../model.ts";
import { insertAnswers } from "../store.ts";
import {
  insertRecovered,
  type LostLine,
  listPaidInFile,
  lockLinesNaming,
  type RecoveredFile,
  updateLineAnswered,
  updateToRecovered,
} from "./recover-store.ts";

type Payment = Pick<Instruction, "account_id" | "end_to_end_id" | "amount" | "currency"> & {
  /** The account of ours that pays it; null if none does. */
  paid_from: string | null;
  paid_from_day: string | null;
};
type Named = Pick<Payment, "end_to_end_id">;
export type RecoverDeps = {
  accounts: readonly FileBankAccount[];
  keyring: Keyring;
  operator_id: string;
  index_key: Buffer;
};

/** In NACHA files, payments have a shorter id. */
const idsOf = ({ end_to_end_id }: Named) => [end_to_end_id, shortId(end_to_end_id)];

/** What a line names that a payment, or a file, can be recognised by. */
export function namedIds(entry: AccountEntry): string[] {
  const { end_to_end_id, instruction_id, transaction_id, message_id, batch_id } = entry;
  const ids = [end_to_end_id, instruction_id, transaction_id, message_id, batch_id];
  // Callers write the text of payments in other currencies.
  const in_text = entry.currency === "usd" ? (entry.text.match(SHORT_IDS) ?? []) : [];
  const present = ids.filter((id) => id !== null).map((id) => id.replaceAll("\n", " "));
  return [...new Set([...present, ...in_text])];
}

const SHORT_IDS = /\bSR[0-9A-Z]{13}\b/g;

/**
 * Those of the instructions that a bank has booked already, although no file here has them: the
 * database was restored, and they had left after the backup. They are not paid again; the statement
 * answers them. A line with another amount or account, or that was changed in the database, answers
 * nothing, and stays with the operator.
 */
export async function recoverPayments(
  tx: Transaction,
  deps: RecoverDeps,
  instructions: readonly Instruction[],
  now: Date,
): Promise<ReadonlySet<string>> {
  const lines = await lockLinesNaming(tx, instructions.flatMap(idsOf));
  if (lines.length === 0) return new Set();
  const recovered = new Set<string>();
  for (const instruction of instructions) {
    const paid_from = routeOf(deps.accounts, instruction)?.account.name ?? null;
    const payment = { ...instruction, paid_from, paid_from_day: paidFromDay(instruction) };
    const own = linesOf(payment, lines);
    const booked = own.find(({ kind }) => kind === "booked");
    if (!booked) continue;
    await insertRecovered(tx, toRow(deps.accounts, instruction, booked, now), now);
    recovered.add(instruction.end_to_end_id);
    await answer(tx, deps, payment, own);
  }
  return recovered;
}

const DAY_LENGTH = 10;

/** The first day on which a bank can have paid it; days of banks can be one behind ours. */
export function paidFromDay({ recorded_at }: Pick<Instruction, "recorded_at">): string | null {
  if (recorded_at === undefined) return null;
  return new Date(recorded_at.getTime() - DAY_MS).toISOString().slice(0, DAY_LENGTH);
}

function linesOf(
  payment: Pick<Payment, "end_to_end_id" | "paid_from_day">,
  lines: readonly LostLine[],
): LostLine[] {
  const ids = idsOf(payment);
  return lines.filter(
    ({ named_ids, booked_on }) =>
      named_ids.some((id) => ids.includes(id)) &&
      (booked_on ?? payment.paid_from_day ?? "") >= (payment.paid_from_day ?? ""),
  );
}

/** What the lines that name a payment say about it. */
async function answer(
  tx: Transaction,
  { index_key, keyring, operator_id }: RecoverDeps,
  payment: Payment,
  own: readonly LostLine[],
): Promise<void> {
  const booked = own.find(({ kind }) => kind === "booked");
  if (!booked) return;
  const key = await keyring.openAccount(tx, operator_id);
  for (const line of own.filter((one) => isSame(one, payment))) {
    if (!isProvenNaming(operator_id, key, line)) continue;
    await insertAnswers(tx, index_key, [answerOf(payment, booked, line)]);
    await updateLineAnswered(tx, line);
  }
}

/** Of a return, any amount and account counts: banks keep a part for their work. */
function isSame(line: LostLine, wanted: Payment): boolean {
  if (line.state !== "unmatched" || line.currency !== wanted.currency) return false;
  if (line.kind === "returned") return true;
  return line.amount === wanted.amount && line.bank_account === wanted.paid_from;
}

function toRow(
  accounts: readonly FileBankAccount[],
  instruction: Instruction,
  { bank_account, number, booked_on }: LostLine,
  now: Date,
) {
  const { account_id, end_to_end_id, amount, currency } = instruction;
  const scheme = routeOf(accounts, instruction)?.route.scheme ?? "sepa";
  const file = recoveredFile({ bank_account, scheme, day: booked_on }, number, now);
  const is_ach = scheme === "ach";
  return {
    ...{ file, account_id, end_to_end_id, amount, currency, uetr: randomUUID() },
    short_id: is_ach ? shortId(end_to_end_id) : null,
    entry_class: is_ach ? ("PPD" as const) : null,
  };
}

/** Windows of banks have small numbers. */
const NUMBERED_FROM = 1_000_000;

function recoveredFile(
  place: { bank_account: string; scheme: string; day: string | null },
  number: bigint,
  now: Date,
): RecoveredFile {
  const id = newId(now);
  return {
    ...{ id, bank_account: place.bank_account, scheme: place.scheme },
    window_day: place.day ?? now.toISOString().slice(0, 10),
    window_number: NUMBERED_FROM + Number(number % 1_000_000_000n),
    message_id: id.replaceAll("-", ""),
  };
}

function answerOf(
  { account_id, end_to_end_id }: Payment,
  booked: LostLine,
  line: LostLine,
): BankAnswer {
  const { kind, amount, currency, bank_account } = line;
  return {
    ...{ account_id, end_to_end_id, kind, amount, currency, bank_account },
    bank_reference: lineName(line),
    paid_from: booked.bank_account,
    trace_number: null,
    uetr: null,
    reasons: [],
  };
}

/**
 * Takes payments out of a file that is not written which a bank has booked or answered already: the
 * database was restored, and the file had left after the backup. Returns whether there were any.
 */
export async function removePaid(
  tx: Transaction,
  deps: RecoverDeps,
  file: { id: string; bank_account: string; scheme: string; window_day: string },
  now: Date,
): Promise<boolean> {
  const payments = await listPaidInFile(tx, file.id);
  const lines = await lockLinesNaming(tx, payments.flatMap(idsOf));
  for (const payment of payments) {
    const place = { bank_account: file.bank_account, scheme: file.scheme, day: file.window_day };
    const recovered = recoveredFile(place, payment.number, now);
    await updateToRecovered(tx, payment.end_to_end_id, recovered, now);
    const paid = { ...payment, paid_from: file.bank_account };
    await answer(tx, deps, paid, linesOf(payment, lines));
  }
  return payments.length > 0;
}

import { randomUUID } from "node:crypto";
import type { Transaction } from "../../../../platform/db/database.ts";
import { newId } from "../../../../platform/ids.ts";
import type { BankAnswer, Instruction } from "../../port.ts";
import type { AccountEntry } from "../../report.ts";
import { shortId } from "../ach/credit-of.ts";
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

type Payment = Pick<Instruction, "account_id" | "end_to_end_id" | "amount" | "currency">;
type Named = Pick<Payment, "end_to_end_id">;
type RecoverDeps = { accounts: readonly FileBankAccount[]; index_key: Buffer };

/** In NACHA files, payments have a shorter id. */
const idsOf = ({ end_to_end_id }: Named) => [end_to_end_id, shortId(end_to_end_id)];

/** What a line names that a payment, or a file, can be recognised by. */
export function namedIds(entry: AccountEntry): string[] {
  const { end_to_end_id, instruction_id, transaction_id, message_id, batch_id, text } = entry;
  const ids = [end_to_end_id, instruction_id, transaction_id, message_id, batch_id];
  return [...new Set([...ids.filter((id) => id !== null), ...(text.match(SHORT_IDS) ?? [])])];
}

const SHORT_IDS = /\bSR[0-9A-Z]{13}\b/g;

/**
 * Those of the instructions that a bank has booked already, although no file here has them: the
 * database was restored, and they had left after the backup. They are not paid again; the statement
 * answers them. A line with another amount answers nothing, and stays with the operator.
 */
export async function recoverPayments(
  tx: Transaction,
  { accounts, index_key }: RecoverDeps,
  instructions: readonly Instruction[],
  now: Date,
): Promise<ReadonlySet<string>> {
  const lines = await lockLinesNaming(tx, instructions.flatMap(idsOf));
  if (lines.length === 0) return new Set();
  const recovered = new Set<string>();
  for (const instruction of instructions) {
    const booked = linesOf(instruction, lines).find(({ kind }) => kind === "booked");
    if (!booked) continue;
    await insertRecovered(tx, toRow(accounts, instruction, booked, now), now);
    recovered.add(instruction.end_to_end_id);
    await answer(tx, index_key, instruction, lines);
  }
  return recovered;
}

function linesOf(payment: Named, lines: readonly LostLine[]): LostLine[] {
  const ids = idsOf(payment);
  return lines.filter(({ named_ids }) => named_ids.some((id) => ids.includes(id)));
}

/** What the lines that name a payment say about it. */
async function answer(
  tx: Transaction,
  index_key: Buffer,
  payment: Payment,
  lines: readonly LostLine[],
): Promise<void> {
  const own = linesOf(payment, lines);
  const booked = own.find(({ kind }) => kind === "booked");
  if (!booked) return;
  for (const line of own.filter((one) => isSame(one, payment))) {
    await insertAnswers(tx, index_key, [answerOf(payment, booked, line)]);
    await updateLineAnswered(tx, line);
  }
}

/** Of a return, any amount counts: banks keep a part for their work. */
function isSame({ kind, amount, currency, state }: LostLine, wanted: Payment): boolean {
  if (state !== "unmatched") return false;
  return currency === wanted.currency && (kind === "returned" || amount === wanted.amount);
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
  { index_key }: Pick<RecoverDeps, "index_key">,
  file: { id: string; bank_account: string; scheme: string; window_day: string },
  now: Date,
): Promise<boolean> {
  const payments = await listPaidInFile(tx, file.id);
  const lines = await lockLinesNaming(tx, payments.flatMap(idsOf));
  for (const payment of payments) {
    const place = { bank_account: file.bank_account, scheme: file.scheme, day: file.window_day };
    const recovered = recoveredFile(place, payment.number, now);
    await updateToRecovered(tx, payment.end_to_end_id, recovered, now);
    await answer(tx, index_key, payment, lines);
  }
  return payments.length > 0;
}

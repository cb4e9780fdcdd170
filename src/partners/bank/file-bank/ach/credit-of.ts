import { createHash } from "node:crypto";
import { compact, textOf } from "../../../../catalogue/text.ts";
import { type AchBatch, type AchCredit, checkCredit } from "../../nacha/ach-file.ts";
import type { Instruction } from "../../port.ts";
import type { AchRoute } from "../model.ts";

/** What the ACH operators carry out on the same day at most: 1 000 000.00. */
const SAME_DAY_AMOUNT_MAX = 100_000_000n;

/**
 * A trace number, or an id of ours with a digit: some names have as many letters. In the name of a
 * payee it would make a line of this payment one of another: one return would bounce both.
 */
const ACH_ID = /\d{15}|\bSR(?=[A-Z]*\d)[0-9A-Z]{13}\b/i;

type Payment = Pick<Instruction, "end_to_end_id" | "amount" | "beneficiary" | "reference">;

/** An instruction as an entry of a NACHA file. Whether a file can carry it is checked later. */
export function creditOf(payment: Payment, trace_sequence: number): AchCredit {
  const { amount, beneficiary, reference } = payment;
  const read = (field: string) => textOf(beneficiary[field]);
  return {
    routing_number: compact(read("routing_number")),
    account_number: compact(read("account_number")),
    account_type: read("account_type") === "savings" ? "savings" : "checking",
    id: shortId(payment.end_to_end_id),
    amount,
    name: read("account_name"),
    text: reference,
    trace_sequence,
  };
}

/** The first field for which no NACHA file can carry this payment; null if one can. */
export function findAchProblem({ schedule }: AchRoute, payment: Payment): string | null {
  const credit = creditOf(payment, 1);
  const [problem] = checkCredit(credit);
  if (problem) return problem.field;
  if (ACH_ID.test(credit.name)) return "account_name";
  return schedule.lead_days === 0 && payment.amount > SAME_DAY_AMOUNT_MAX ? "amount" : null;
}

/** Companies are paid by CCD entries, all others by PPD. */
export function entryClassOf({ beneficiary }: Pick<Payment, "beneficiary">) {
  const type = textOf(beneficiary.beneficiary_type);
  return (type === "business" ? "CCD" : "PPD") satisfies AchBatch["entry_class"];
}

/**
 * Our id of a payment in the 15 characters that an entry has for it. It is derived, so that it is
 * the same in every rendering, and long enough that no payer uses it by accident.
 */
export function shortId(end_to_end_id: string): string {
  const digest = createHash("sha256").update("ach").update(end_to_end_id).digest("hex");
  const number = BigInt(`0x${digest}`) % 36n ** BigInt(DIGITS);
  return `SR${number.toString(36).toUpperCase().padStart(DIGITS, "0")}`;
}

const DIGITS = 13;

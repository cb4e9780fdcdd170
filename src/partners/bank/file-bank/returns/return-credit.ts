import { createHash } from "node:crypto";
import { checkIdentifier } from "../../../../catalogue/bank-identifiers.ts";
import type { Transaction } from "../../../../platform/db/database.ts";
import type { BankPort, CreditReturn, Instruction } from "../../port.ts";
import type { ReportDeps } from "../apply-report.ts";
import { openLine } from "../line-details.ts";
import { findReturnRoute, submitReturn } from "../submit-payments.ts";
import { isReturnId, returnId } from "./return-id.ts";
import { findCreditLine, insertReturn, lockReturn, type ReturnState } from "./return-store.ts";

type Answer = Awaited<ReturnType<BankPort["returnCredit"]>>;

const ANSWERS: Readonly<Record<ReturnState, Answer>> = {
  sent: "pending",
  by_hand: "pending",
  booked: "booked",
  refused: "refused",
};

/**
 * Wires and ACH credits go back as returns of the bank, not as new payments: statements do not name
 * the payer of an ACH credit by an account, nor whether it is a person or a company.
 */
const BY_THE_BANK =
  "Only SEPA files send deposits back. Ask the bank to return the wire, ACH credit or transfer.";

/**
 * Sends a deposit back to the account that it came from, by the next SEPA file of the account that
 * received it. Where the bank did not say which account that is, or no file can reach it, a person
 * pays it back: it stands in the operator's list.
 */
export async function returnCredit(
  deps: ReportDeps,
  request: CreditReturn,
  now: Date,
): Promise<Answer> {
  return deps.database.transaction(async (tx) => {
    const known = await lockReturn(tx, request.key);
    if (known !== null) return ANSWERS[known];
    const problem = await sendBack(tx, deps, request, now);
    const state = problem === null ? "sent" : "by_hand";
    const end_to_end_id = problem === null ? returnId(request.key) : null;
    await insertReturn(tx, { ...request, state, end_to_end_id, problem }, now);
    return ANSWERS[state];
  });
}

/** Null: it is in a file. Else why a person has to do it. */
async function sendBack(
  tx: Transaction,
  deps: ReportDeps,
  request: CreditReturn,
  now: Date,
): Promise<string | null> {
  const { bank_account, currency } = request;
  const by = bank_account && findReturnRoute(deps.accounts, bank_account, currency);
  if (bank_account && !by) return BY_THE_BANK;
  const instruction = await instructionOf(tx, deps, request);
  if (typeof instruction === "string") return instruction;
  const is_sent = by && (await submitReturn(tx, deps, instruction, by, now));
  return is_sent ? null : "No file can carry its payer's account.";
}

/** The payment that sends a deposit back; a sentence if a person has to do it. */
async function instructionOf(
  tx: Transaction,
  { keyring, operator_id, accounts }: ReportDeps,
  { key, bank_account, bank_reference, amount, currency }: CreditReturn,
): Promise<Instruction | string> {
  const line = bank_account && (await findCreditLine(tx, bank_account, bank_reference));
  if (!line) return "It is not known which line of a statement it came with.";
  if (!line.details) return "Its payer's account was deleted after the legal period.";
  const account_key = await keyring.openAccount(tx, operator_id);
  const { debtor, end_to_end_id } = openLine(operator_id, account_key, {
    ...line,
    details: line.details,
  });
  const iban = checkIdentifier("iban", debtor.account ?? "");
  if (!("value" in iban) || debtor.name === null) {
    return "The bank did not say from which account it came.";
  }
  // Banks leave the parties of a payment that comes back as they were.
  const is_own = accounts.some(
    ({ debtor_account: own }) => "iban" in own && own.iban === iban.value,
  );
  if (is_own || isReturnId(end_to_end_id ?? "")) {
    return "It was sent back before and came back: ask its payer for another account.";
  }
  return {
    account_id: operator_id,
    end_to_end_id: returnId(key),
    ...{ amount, currency, rail: "local" },
    beneficiary: { account_name: debtor.name, iban: iban.value },
    // The payer can recognise it by a reference of the bank, not by a name.
    reference: `Return of your payment ${shortReference(bank_reference)}`,
  };
}

function shortReference(bank_reference: string): string {
  return createHash("sha256").update(bank_reference).digest("hex").slice(0, 12);
}

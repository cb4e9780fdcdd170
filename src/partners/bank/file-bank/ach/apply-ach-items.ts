import type { Transaction } from "../../../../platform/db/database.ts";
import { sealedJson } from "../../../../platform/encryption/sealed-column.ts";
import type { CorrectedData } from "../../nacha/corrections.ts";
import type { AchItem } from "../../nacha/read-ach.ts";
import type { BankAnswer } from "../../port.ts";
import { achReturnName, answerTo, type KnownPayment, NOT_AT_BANK } from "../match-entry.ts";
import type { FileBankAccount } from "../model.ts";
import { insertUnmatchedStatuses, listPaymentsById, type StatusRow } from "../report-store.ts";
import { insertAnswers } from "../store.ts";
import type { FileBankDeps } from "../submit-payments.ts";
import { type Correction, insertCorrections } from "./ach-store.ts";

/** What a payee's bank says is right, as far as it can be read, and in its own words. */
export type CorrectionDetails = { corrected: CorrectedData | null; text: string };

export const CORRECTION_DETAILS = sealedJson<CorrectionDetails>("bank_corrections", "details");

/** Also those that are newer than our table. */
const RETURN_CODE = /^R\d\d$/;
/** Banks' disputes about returns: they say nothing final about a payment. */
const DISPUTES = /^R(6[1-9]|7[0-7])$/;

type Outcome =
  | { answer: BankAnswer }
  | { correction: Correction }
  | { problem: string }
  | "nothing new";

/**
 * Applies what NACHA files say about our entries. A return or rejection answers its payment; a
 * notification of change is kept as a suggestion; everything else is for a person.
 */
export async function applyAchItems(
  tx: Transaction,
  { keyring, index_key, accounts }: Pick<FileBankDeps, "keyring" | "index_key" | "accounts">,
  { digest, items }: { digest: Buffer; items: readonly AchItem[] },
  now: Date,
): Promise<void> {
  if (items.length === 0) return;
  const ids = items.flatMap((item) => [traceOf(item), item.id]);
  const payments = await listPaymentsById(tx, [...new Set(ids)], []);
  const keys = await keyring.openAccounts(tx, payments);
  const answers: BankAnswer[] = [];
  const corrections: Correction[] = [];
  const unmatched: StatusRow[] = [];
  for (const item of items) {
    const found = findPayment(accounts, payments, item);
    const outcome = typeof found === "string" ? { problem: found } : decide(keys, item, found);
    if (outcome === "nothing new") continue;
    if ("answer" in outcome) answers.push(outcome.answer);
    else if ("correction" in outcome) corrections.push(outcome.correction);
    else unmatched.push(rowOf(item, outcome.problem));
  }
  await insertAnswers(tx, index_key, answers);
  await insertCorrections(tx, digest, corrections, now);
  await insertUnmatchedStatuses(tx, digest, unmatched);
}

/**
 * The payment that an item names by its trace and amount, else by our id and the amount: some banks
 * number traces anew. A sentence if there is none. A notification of change has no amount.
 */
function findPayment(
  accounts: readonly FileBankAccount[],
  payments: readonly KnownPayment[],
  item: AchItem,
): KnownPayment | string {
  const isOfAmount = ({ amount }: KnownPayment) =>
    item.kind === "correction" || amount === item.amount;
  // The last one: traces are used again after ten million payments.
  const by_trace = payments.findLast(
    (one) => one.trace_number === traceOf(item) && isOfAmount(one),
  );
  const by_id = payments.findLast((one) => one.short_id === item.id && isOfAmount(one));
  if (by_trace && by_id && by_trace !== by_id) {
    return "Its trace and its id belong to two payments.";
  }
  // Companies with the same bank can have the same traces.
  if (by_trace && !by_id && isOfOtherCompany(accounts, item, by_trace)) {
    return "It has a trace of ours, but is another company's.";
  }
  return by_trace ?? by_id ?? "No payment of ours has its trace or id, and its amount.";
}

function isOfOtherCompany(
  accounts: readonly FileBankAccount[],
  { company_id }: AchItem,
  { bank_account }: KnownPayment,
): boolean {
  const routes = accounts.find(({ name }) => name === bank_account)?.routes ?? [];
  const route = routes.find(({ scheme }) => scheme === "ach");
  if (company_id === "" || route?.scheme !== "ach") return false;
  return company_id !== route.origination.company_id;
}

function traceOf(item: AchItem): string {
  return "original_trace_number" in item ? item.original_trace_number : item.trace_number;
}

function decide(keys: ReadonlyMap<string, Buffer>, item: AchItem, payment: KnownPayment): Outcome {
  const { account_id, end_to_end_id } = payment;
  if (!payment.is_at_bank) return { problem: NOT_AT_BANK };
  switch (item.kind) {
    case "returned": {
      if (item.is_of_debit) return { problem: "A debit came back, and payouts are credits." };
      if (item.code === "") return { problem: "A return that does not say why." };
      if (!RETURN_CODE.test(item.code)) {
        return { problem: "A return whose reason is no code of ACH: its addendum may be wrong." };
      }
      if (DISPUTES.test(item.code)) return { problem: "The banks dispute a return." };
      const reasons = [{ code: item.code, text: null }];
      const bank_reference = achReturnName(payment);
      return { answer: { ...answerTo(payment, "returned"), bank_reference, reasons } };
    }
    case "rejected": {
      const reasons = [{ code: item.code, text: null }];
      const bank_reference = `rejected-${end_to_end_id}`;
      return { answer: { ...answerTo(payment, "rejected"), bank_reference, reasons } };
    }
    case "correction": {
      const { code, corrected, text } = item;
      const record = { account_id, id: `${end_to_end_id} ${code}` };
      const details = CORRECTION_DETAILS.seal(keys.get(account_id)!, record, { corrected, text });
      return { correction: { account_id, end_to_end_id, code, details } };
    }
    case "other":
      // A copy of our own file, as some banks send back.
      return "nothing new";
  }
}

function rowOf(item: AchItem, problem: string): StatusRow {
  const code = item.kind === "other" ? null : item.code || null;
  return {
    level: "payment",
    status: item.kind,
    ...{ message_id: null, batch_id: null, end_to_end_id: item.id || null },
    amount: item.amount,
    trace_number: traceOf(item),
    reasons: code === null ? [] : [{ code, text: null }],
    problem,
  };
}

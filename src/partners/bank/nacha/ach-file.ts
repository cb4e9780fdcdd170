import { checkIdentifier } from "../../../catalogue/bank-identifiers.ts";
import type { Problem } from "../../../platform/errors.ts";
import { Problems } from "../../../platform/problems.ts";
import { isReadable, toBankText } from "../iso20022/bank-text.ts";

/** The bank that receives the file, and who sends it. */
export type AchFile = {
  /** Routing number of the bank that takes the file, and its name. */
  destination: string;
  destination_name: string;
  /** Ten characters that the bank assigned, and the sender's name. */
  origin: string;
  origin_name: string;
  /** YYYY-MM-DD and HH:MM of the bank's clock. */
  created_on: string;
  created_at: string;
  /** A letter or digit that tells the files of a day apart. */
  modifier: string;
};

/** Credits of one kind on one day. PPD pays persons, CCD companies. */
export type AchBatch = {
  entry_class: "PPD" | "CCD";
  company_name: string;
  /** Ten characters that the bank assigned. */
  company_id: string;
  /** What payees read, such as PAYOUT; ten characters. */
  description: string;
  /** YYYY-MM-DD: the banking day on which payees have the money. */
  effective_date: string;
  /** The first eight digits of the originating bank's routing number. */
  originating_bank: string;
  number: number;
  /** The account that is debited in the file itself, where the bank demands balanced files. */
  offset: AchOffset | null;
};

type AchAccount = { routing_number: string; account_number: string; account_type: AccountType };
type AchOffset = AchAccount & { name: string; trace_sequence: number };
type AccountType = "checking" | "savings";

/** One credit in US dollars. */
export type AchCredit = AchAccount & {
  /** Our id of the payment, which comes back in returns; 15 characters. */
  id: string;
  /** Cents. */
  amount: bigint;
  name: string;
  /** The message to the payee; 80 characters. */
  text: string | null;
  /** Ascending within a file, and used once: returns name it. */
  trace_sequence: number;
};

export const CREDIT_CODES: Readonly<Record<AccountType, string>> = {
  checking: "22",
  savings: "32",
};
export const DEBIT_CODES: Readonly<Record<AccountType, string>> = { checking: "27", savings: "37" };

/** 99 999 999.99 */
export const ENTRY_AMOUNT_MAX = 9_999_999_999n;
const ACCOUNT_NUMBER = /^[A-Za-z0-9-]{1,17}$/;
const PAYMENT_ID = /^[A-Za-z0-9-]{1,15}$/;

/** Everything that would make the bank or the payee's bank refuse this credit. */
export function checkCredit(credit: AchCredit): readonly Problem[] {
  const problems = new Problems();
  const routing = checkIdentifier("aba", credit.routing_number);
  if ("reason" in routing) problems.invalid("routing_number", routing.reason);
  else if (routing.value !== credit.routing_number) {
    problems.invalid("routing_number", "Send 9 digits without spaces.");
  }
  if (!ACCOUNT_NUMBER.test(credit.account_number)) {
    problems.invalid("account_number", "Send up to 17 letters, digits and hyphens.");
  }
  if (credit.amount <= 0n || credit.amount > ENTRY_AMOUNT_MAX) {
    problems.invalid("amount", "Send an amount above zero of at most 99999999.99.");
  }
  if (!PAYMENT_ID.test(credit.id)) {
    problems.invalid("id", "Send up to 15 letters, digits and hyphens.");
  }
  if (!isReadable(toBankText(credit.name))) {
    problems.invalid("account_name", "Send a name that can be written in Latin letters.");
  }
  return problems.list;
}

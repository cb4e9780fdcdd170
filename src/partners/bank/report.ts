/**
 * What banks report, whatever the format of their file. Amounts are minor units and never negative;
 * dates are YYYY-MM-DD of the bank's own calendar. Absent ids are null: `NOTPROVIDED` is no id.
 */
export type ReportItem = PaymentStatus | AccountEntry | AccountBalance | Statement;

/** Why a payment was rejected or returned; the code is ISO's, NACHA's or the bank's own. */
export type BankReason = { code: string | null; text: string | null };

/** The ids of our payment, as far as the bank repeats them. */
export type PaymentIds = {
  /** Of the file. */
  message_id: string | null;
  /** Of the batch within the file. */
  batch_id: string | null;
  instruction_id: string | null;
  end_to_end_id: string | null;
  uetr: string | null;
};

/**
 * The bank's opinion on a payment, a batch or a whole file before any booking. One on a file or
 * batch covers every payment in it. Not a booking: money moves by entries only.
 */
export type PaymentStatus = PaymentIds & {
  kind: "status";
  level: "file" | "batch" | "payment";
  outcome: "accepted" | "pending" | "rejected" | "partial" | "unknown";
  /** Whether no other status can follow; a return still can. */
  is_final: boolean;
  /** The bank's word, such as ACSP. */
  status: string | null;
  report_id: string | null;
  amount: bigint | null;
  currency: string | null;
  payee_account: string | null;
  reasons: readonly BankReason[];
};

/**
 * - `booked`: money left our account
 * - `returned`: money that had left came back
 * - `incoming`: money arrived
 * - `taken_back`: money that had arrived left again
 * - `charge`: the bank's fee within another entry
 */
type EntryKind = "booked" | "returned" | "incoming" | "taken_back" | "charge";

type ReportedParty = { name: string | null; account: string | null };

/** A part of a line of our account: a line without details has one part. */
export type AccountEntry = PaymentIds & {
  kind: EntryKind;
  report: "camt.052" | "camt.053" | "camt.054";
  account: string;
  statement_id: string | null;
  /** The same for the same line in every file; its parts are numbered. */
  entry_key: string;
  part: number;
  parts: number;
  /** Only booked lines moved money; others may vanish. */
  state: "booked" | "pending" | "information" | "unknown";
  amount: bigint;
  currency: string;
  booked_on: string | null;
  valued_on: string | null;
  bank_reference: string | null;
  /** The bank's name of the line, at its first part; where it has none, the name of each part. */
  line_reference: string | null;
  transaction_id: string | null;
  /** ISO's domain, family and sub-family, or the bank's own code. */
  bank_code: string | null;
  /** All codes of the line and of this part: ISO's, and the bank's own beside them. */
  codes: readonly string[];
  /** How many payments a line without details stands for. */
  batch_count: number | null;
  debtor: ReportedParty;
  creditor: ReportedParty;
  text: string;
  reasons: readonly BankReason[];
  /** What a person has to look at before this part can be used. */
  problem: string | null;
};

export type AccountBalance = {
  kind: "balance";
  account: string;
  statement_id: string | null;
  type: "opening" | "closing" | "interim" | "available" | "other";
  /** The bank's word, such as CLBD. */
  bank_type: string | null;
  amount: bigint;
  is_debit: boolean;
  currency: string;
  date: string | null;
};

/** The end of a statement or notification. */
export type Statement = {
  kind: "statement";
  report: AccountEntry["report"];
  account: string;
  statement_id: string | null;
  sequence: string | null;
  page: string | null;
  is_last_page: boolean | null;
  is_copy: boolean;
  entries: number;
  /** Opening balance plus booked lines is the closing balance; null if that cannot be told. */
  adds_up: boolean | null;
};

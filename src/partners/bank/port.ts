import type { DepositRail, Rail } from "../../catalogue/rails.ts";
import type { BankReason } from "./report.ts";

/** A payment order, identified to us and the bank by its end-to-end id. */
export type Instruction = {
  account_id: string;
  end_to_end_id: string;
  /** Minor units. */
  amount: bigint;
  currency: string;
  rail: Rail;
  beneficiary: Readonly<Record<string, unknown>>;
  /** Message on the payment; null if the rail has none. */
  reference: string | null;
  /** When the record that it pays was created; no bank can have paid it on an earlier day. */
  recorded_at?: Date;
};

/**
 * A final answer of the bank. `bank_reference` is the bank's own id of it: an answer that is sent
 * twice has the same one.
 */
export type BankAnswer = {
  account_id: string;
  end_to_end_id: string;
  bank_reference: string;
  /**
   * Our account in which the money moved. Null if none did: a rejection, or an answer that a bank
   * sent before accounts were recorded.
   */
  bank_account: string | null;
  /** Our account that the payment was ordered from; null if it never was. */
  paid_from: string | null;
  kind: "booked" | "returned" | "rejected";
  /** The amount booked or returned, in minor units. */
  amount: bigint;
  currency: string;
  trace_number: string | null;
  uetr: string | null;
  /** Why it was returned or rejected, as far as the bank says. */
  reasons: readonly BankReason[];
};

/** The bank details a payer sends money to. Fields that a scheme does not have are absent. */
export type BankCoordinates = {
  bank_account_number: string | null;
  bank_routing_number: string | null;
  bank_iban: string | null;
  bank_swift_bic: string | null;
  bank_name: string;
  bank_address: string;
  bank_beneficiary_name: string;
};

/** A credit to one of our accounts: a line of the bank's statement. */
export type BankCredit = {
  bank_account: string;
  /** The bank's own id of the line. */
  bank_reference: string;
  /** Minor units. */
  amount: bigint;
  currency: string;
  /** The payer's text. */
  text: string;
  payer_name: string;
  booked_at: Date;
};

export type CreditReturn = {
  key: string;
  /** Null: the account that the answer with this reference is about. */
  bank_account: string | null;
  bank_reference: string;
  amount: bigint;
  currency: string;
};

/** What we need from banks. Nothing here moves money on our side: only final answers do. */
export type BankPort = {
  /**
   * Sends instructions. One that the bank already knows, by its id, is not paid again; if it has
   * another amount, currency or payee now, it is refused (OtherContentError).
   */
  submit(instructions: readonly Instruction[]): Promise<void>;
  /** Final answers since the cursor, oldest first. */
  listAnswers(
    cursor: string | null,
    limit: number,
  ): Promise<{ answers: BankAnswer[]; cursor: string | null }>;
  /** The name of our account that pays this; null if none does. */
  payingAccount(payout: { currency: string; rail: Rail }): string | null;
  /** Our bank details for this currency and rail; null if we have no account for it. */
  coordinatesFor(currency: string, rail: DepositRail): BankCoordinates | null;
  /** Credits received since the cursor, in the bank's order. */
  listCredits(
    cursor: string | null,
    limit: number,
  ): Promise<{ credits: BankCredit[]; cursor: string | null }>;
  /**
   * Returns money to its sender, once per key however often it is called, and returns the status.
   * Only `booked` and `refused` are final.
   */
  returnCredit(request: CreditReturn): Promise<"pending" | "booked" | "refused">;
};

import type { DepositRail, Rail } from "../../catalogue/rails.ts";

/** An order to pay, known to us and the bank by its end-to-end id. */
export type Instruction = {
  account_id: string;
  end_to_end_id: string;
  /** Minor units. */
  amount: bigint;
  currency: string;
  rail: Rail;
  beneficiary: Readonly<Record<string, unknown>>;
  /** Message on the payment; null where the route carries none. */
  reference: string | null;
};

/**
 * A final answer of the bank. `bank_reference` is the bank's own id of it: the same answer told
 * twice carries the same one.
 */
export type BankAnswer = {
  account_id: string;
  end_to_end_id: string;
  bank_reference: string;
  kind: "booked" | "returned" | "rejected";
  /** What was booked or came back, in minor units. */
  amount: bigint;
  currency: string;
  trace_number: string | null;
  uetr: string | null;
};

/** What a payer is told: where to send money to us. Absent where a scheme has no such thing. */
export type BankCoordinates = {
  bank_account_number: string | null;
  bank_routing_number: string | null;
  bank_iban: string | null;
  bank_swift_bic: string | null;
  bank_name: string;
  bank_address: string;
  bank_beneficiary_name: string;
};

/** Money that came in: a line of the bank's statement of one of our accounts. */
export type BankCredit = {
  bank_account: string;
  /** The bank's own id of the line. */
  bank_reference: string;
  /** Minor units. */
  amount: bigint;
  currency: string;
  /** What the payer wrote. */
  text: string;
  payer_name: string;
  booked_at: Date;
};

export type CreditReturn = {
  key: string;
  bank_account: string;
  bank_reference: string;
  amount: bigint;
  currency: string;
};

/** What we ask of banks. Nothing here moves money on our side: only final answers do. */
export type BankPort = {
  /** Hands instructions over. One that the bank knows already, by its id, is not paid again. */
  submit(instructions: readonly Instruction[]): Promise<void>;
  /** Final answers since the cursor, oldest first. */
  listAnswers(
    cursor: string | null,
    limit: number,
  ): Promise<{ answers: BankAnswer[]; cursor: string | null }>;
  /** Where to pay us in this currency over this rail; null where we have no account for it. */
  coordinatesFor(currency: string, rail: DepositRail): BankCoordinates | null;
  /** Lines of money that came in since the cursor, in the order in which the bank tells them. */
  listCredits(
    cursor: string | null,
    limit: number,
  ): Promise<{ credits: BankCredit[]; cursor: string | null }>;
  /**
   * Sends money back to whoever sent it, once per key however often it is called, and says how far
   * it is. Only `booked` and `refused` are final.
   */
  returnCredit(request: CreditReturn): Promise<"pending" | "booked" | "refused">;
};

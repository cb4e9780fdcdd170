import type { Rail } from "../../catalogue/rails.ts";

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
  /** What the sandbox's bank is asked to do with it; a real bank never sees it. */
  sandbox_outcome: string | null;
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

/** What we ask of banks. Nothing here moves money on our side: only final answers do. */
export type BankPort = {
  /** Hands instructions over. One that the bank knows already, by its id, is not paid again. */
  submit(instructions: readonly Instruction[]): Promise<void>;
  /** Final answers since the cursor, oldest first. */
  listAnswers(
    cursor: string | null,
    limit: number,
  ): Promise<{ answers: BankAnswer[]; cursor: string | null }>;
};

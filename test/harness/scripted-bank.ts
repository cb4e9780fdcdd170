import type {
  BankAnswer,
  BankCredit,
  BankPort,
  CreditReturn,
  Instruction,
} from "../../src/partners/bank/port.ts";
import { sandboxBankAccount, sandboxCoordinates } from "../../src/partners/bank/sandbox.ts";

/**
 * How the bank handles an instruction: pay and answer, accept it without an answer, or fail; when
 * it fails, it has the instruction (`lost_answer`) or does not (`unreachable`).
 */
export type Manner = "pays" | "is_silent" | "lost_answer" | "unreachable";

/** A bank for tests, behind the same port as any other. */
export type ScriptedBank = {
  port: BankPort;
  /** Every instruction that reached it, including repeated ones. */
  handed_over: Instruction[];
  /** The accepted instructions, by end-to-end id: each once. */
  known: Map<string, Instruction>;
  manner: Manner;
  /** Called before an instruction is processed, to simulate a delay. */
  onSubmit: (instructions: readonly Instruction[]) => Promise<void>;
  /** Sends an answer about a payment, known or not. */
  say(end_to_end_id: string, kind: BankAnswer["kind"], more?: Partial<BankAnswer>): BankAnswer;
  /** Sends the same answer again. */
  repeat(answer: BankAnswer): void;
  /** Reports a received credit. */
  receive(credit: BankCredit): void;
  /** The requested returns, by key: each once. */
  returns: Map<string, CreditReturn>;
  /** The answer to requests to return money. */
  return_answer: Awaited<ReturnType<BankPort["returnCredit"]>>;
};

export function createScriptedBank(): ScriptedBank {
  const answers: BankAnswer[] = [];
  const credits: BankCredit[] = [];
  let references = 0;
  const bank: ScriptedBank = {
    handed_over: [],
    known: new Map(),
    manner: "pays",
    onSubmit: async () => {},
    say: (end_to_end_id, kind, more = {}) => {
      const instruction = bank.known.get(end_to_end_id);
      references += 1;
      const bank_account = sandboxBankAccount(instruction?.currency ?? "eur");
      const answer: BankAnswer = {
        account_id: instruction?.account_id ?? "",
        end_to_end_id,
        bank_reference: `ref-${references}`,
        bank_account: kind === "rejected" ? null : bank_account,
        paid_from: bank_account,
        kind,
        amount: instruction?.amount ?? 0n,
        currency: instruction?.currency ?? "eur",
        trace_number: null,
        uetr: null,
        reasons: [],
        ...more,
      };
      answers.push(answer);
      return answer;
    },
    repeat: (answer) => void answers.push(answer),
    receive: (credit) => void credits.push(credit),
    returns: new Map(),
    return_answer: "booked",
    port: {
      submit: async (instructions) => {
        await bank.onSubmit(instructions);
        if (bank.manner === "unreachable") throw new Error("the bank cannot be reached");
        for (const instruction of instructions) take(instruction);
        if (bank.manner === "lost_answer") throw new Error("the bank did not answer in time");
      },
      listAnswers: async (cursor, limit) => {
        const from = Number(cursor ?? 0);
        const read = answers.slice(from, from + limit);
        return { answers: read, cursor: String(from + read.length) };
      },
      payingAccount: ({ currency }) => sandboxBankAccount(currency),
      coordinatesFor: sandboxCoordinates,
      listCredits: async (cursor, limit) => {
        const from = Number(cursor ?? 0);
        const read = credits.slice(from, from + limit);
        return { credits: read, cursor: String(from + read.length) };
      },
      returnCredit: async (request) => {
        bank.returns.set(request.key, request);
        return bank.return_answer;
      },
    },
  };

  function take(instruction: Instruction): void {
    const { end_to_end_id } = instruction;
    bank.handed_over.push(instruction);
    if (bank.known.has(end_to_end_id)) return;
    bank.known.set(end_to_end_id, instruction);
    if (bank.manner !== "is_silent") bank.say(end_to_end_id, "booked");
  }

  return bank;
}

import type { Session } from "../../platform/db/database.ts";
import type { BankAnswer, BankPort, Instruction } from "./port.ts";
import { traceNumber, uetrOf } from "./proofs.ts";

export const SANDBOX_OUTCOMES = ["fiat_sent", "bounced", "failed", "stuck"] as const;
export type SandboxOutcome = (typeof SANDBOX_OUTCOMES)[number];

/** What the bank of the sandbox answers, in order, for each outcome that can be asked for. */
const SCRIPTS: Record<SandboxOutcome, readonly BankAnswer["kind"][]> = {
  fiat_sent: ["booked"],
  bounced: ["booked", "returned"],
  failed: ["rejected"],
  stuck: [],
};

/** A bank that we play ourselves: it pays everything at once unless asked for something else. */
export function createSandboxBank(session: Session): BankPort {
  return {
    submit: async (instructions) => {
      for (const instruction of instructions) await submitOne(session, instruction);
    },
    listAnswers: async (cursor, limit) => {
      const rows = await session.query<BankAnswer & { number: bigint; rail: string }>(
        `select number, account_id, end_to_end_id, bank_reference, kind, amount, currency
         from sandbox_bank_answers where number > $1 order by number limit $2`,
        [cursor ?? "0", limit],
      );
      const last = rows.at(-1);
      const answers = rows.map(({ number: _, ...answer }) => ({
        ...answer,
        trace_number: answer.currency === "usd" ? traceNumber(answer.end_to_end_id) : null,
        uetr: uetrOf(answer.end_to_end_id),
      }));
      return { answers, cursor: last ? String(last.number) : cursor };
    },
  };
}

async function submitOne(session: Session, instruction: Instruction): Promise<void> {
  const { end_to_end_id, account_id, amount, currency } = instruction;
  const outcome = SANDBOX_OUTCOMES.find((known) => known === instruction.sandbox_outcome);
  const kinds = SCRIPTS[outcome ?? "fiat_sent"];
  // One statement: the bank that has the instruction also has its answers, or neither.
  await session.query(
    `with received as (
       insert into sandbox_bank_payouts (end_to_end_id, account_id, amount, currency, outcome)
       values ($1, $2, $3, $4, $5) on conflict do nothing returning end_to_end_id)
     insert into sandbox_bank_answers
       (end_to_end_id, account_id, bank_reference, kind, amount, currency)
     select $1, $2, $1 || '-' || kind, kind, $3, $4
     from received, unnest($6::text[]) with ordinality as script (kind, place) order by place`,
    [end_to_end_id, account_id, amount, currency, outcome ?? "fiat_sent", kinds],
  );
}

/** Lets the sandbox's bank say something it was not asked for, e.g. return a payment weeks later. */
export async function insertSandboxAnswer(
  session: Session,
  answer: Pick<BankAnswer, "end_to_end_id" | "account_id" | "bank_reference" | "kind" | "amount" | "currency">,
): Promise<void> {
  await session.query(
    `insert into sandbox_bank_answers
       (end_to_end_id, account_id, bank_reference, kind, amount, currency)
     values ($1, $2, $3, $4, $5, $6) on conflict do nothing`,
    [
      answer.end_to_end_id,
      answer.account_id,
      answer.bank_reference,
      answer.kind,
      answer.amount,
      answer.currency,
    ],
  );
}

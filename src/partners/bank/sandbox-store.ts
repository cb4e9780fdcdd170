import type { Session } from "../../platform/db/database.ts";
import type { BankAnswer, Instruction } from "./port.ts";

type Answer = Omit<BankAnswer, "trace_number" | "uetr">;

/** One statement: the bank that has the instruction also has its answers, or neither. */
export async function insertSandboxPayout(
  session: Session,
  { end_to_end_id, account_id, amount, currency }: Instruction,
  outcome: string,
  kinds: readonly BankAnswer["kind"][],
): Promise<void> {
  await session.query(
    `with received as (
       insert into sandbox_bank_payouts (end_to_end_id, account_id, amount, currency, outcome)
       values ($1, $2, $3, $4, $5) on conflict do nothing returning end_to_end_id)
     insert into sandbox_bank_answers
       (end_to_end_id, account_id, bank_reference, kind, amount, currency)
     select $1, $2, $1 || '-' || kind, kind, $3, $4
     from received, unnest($6::text[]) with ordinality as script (kind, place) order by place`,
    [end_to_end_id, account_id, amount, currency, outcome, kinds],
  );
}

export function listSandboxAnswers(
  session: Session,
  cursor: string | null,
  limit: number,
): Promise<(Answer & { number: bigint })[]> {
  return session.query(
    `select number, account_id, end_to_end_id, bank_reference, kind, amount, currency
     from sandbox_bank_answers where number > $1 order by number limit $2`,
    [cursor ?? "0", limit],
  );
}

/** Lets the sandbox's bank say something unasked, e.g. return a payment weeks later. */
export async function insertSandboxAnswer(session: Session, answer: Answer): Promise<void> {
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

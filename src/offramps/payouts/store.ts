import type { BankAnswer } from "../../partners/bank/port.ts";
import type { Session, Transaction } from "../../platform/db/database.ts";
import { newId } from "../../platform/ids.ts";
import type { Offramp } from "../model.ts";
import type { Payout } from "./model.ts";

export function insertPayouts(tx: Transaction, payouts: readonly Payout[]): void {
  tx.write(
    `insert into payouts (account_id, offramp_id, attempt, payment_detail_id, end_to_end_id, status,
       created_at, updated_at)
     select *, created_at from unnest($1::uuid[], $2::uuid[], $3::int[], $4::uuid[], $5::text[],
       $6::text[], $7::timestamptz[])
       as t (account_id, offramp_id, attempt, payment_detail_id, end_to_end_id, status,
         created_at)`,
    [
      payouts.map((payout) => payout.account_id),
      payouts.map((payout) => payout.offramp_id),
      payouts.map((payout) => payout.attempt),
      payouts.map((payout) => payout.payment_detail_id),
      payouts.map((payout) => payout.end_to_end_id),
      payouts.map((payout) => payout.status),
      payouts.map((payout) => payout.created_at),
    ],
  );
}

/** Locks the payouts with these end-to-end ids; unknown ones are absent. */
export function lockPayouts(
  tx: Session,
  account_id: string,
  end_to_end_ids: readonly string[],
): Promise<Payout[]> {
  return tx.query<Payout>(
    `select * from payouts where account_id = $1 and end_to_end_id = any($2::text[])
     order by account_id, offramp_id, attempt for no key update`,
    [account_id, end_to_end_ids],
  );
}

/** All attempts of these offramps, first to last. */
export function listPayouts(
  session: Session,
  keys: readonly { account_id: string; id: string }[],
): Promise<Payout[]> {
  return session.query<Payout>(
    `select * from payouts where account_id = any($1::uuid[]) and offramp_id = any($2::uuid[])
     order by account_id, offramp_id, attempt`,
    [keys.map((key) => key.account_id), keys.map((key) => key.id)],
  );
}

/** Locks the current attempt of each offramp. */
export function lockCurrentPayouts(tx: Session, offramps: readonly Offramp[]): Promise<Payout[]> {
  return tx.query<Payout>(
    `select payouts.* from payouts
     join (select distinct * from unnest($1::uuid[], $2::uuid[], $3::int[]))
       as wanted (account_id, offramp_id, attempt)
       using (account_id, offramp_id, attempt)
     order by account_id, offramp_id, attempt for no key update of payouts`,
    [
      offramps.map((offramp) => offramp.account_id),
      offramps.map((offramp) => offramp.id),
      offramps.map((offramp) => offramp.attempt),
    ],
  );
}

/** Writes the state of locked payouts. */
export function updatePayouts(tx: Transaction, payouts: readonly Payout[]): void {
  if (payouts.length === 0) return;
  tx.write(
    `update payouts set status = t.status, returned_amount = t.returned_amount,
       updated_at = t.updated_at
     from unnest($1::uuid[], $2::uuid[], $3::int[], $4::text[], $5::bigint[], $6::timestamptz[])
       as t (account_id, offramp_id, attempt, status, returned_amount, updated_at)
     where payouts.account_id = t.account_id and payouts.offramp_id = t.offramp_id
       and payouts.attempt = t.attempt`,
    [
      payouts.map((payout) => payout.account_id),
      payouts.map((payout) => payout.offramp_id),
      payouts.map((payout) => payout.attempt),
      payouts.map((payout) => payout.status),
      payouts.map((payout) => payout.returned_amount),
      payouts.map((payout) => payout.updated_at),
    ],
  );
}

/** Payouts created before this time that the bank has not answered and that are not flagged yet. */
export function listUnanswered(
  tx: Session,
  before: Date,
  limit: number,
): Promise<{ account_id: string; offramp_id: string; attempt: number }[]> {
  return tx.query(
    `select account_id, offramp_id, attempt from payouts
     where status in ('submitting', 'sent') and flagged_at is null and created_at < $1
     order by created_at limit $2`,
    [before, limit],
  );
}

export function updateFlagged(
  tx: Transaction,
  payouts: readonly { account_id: string; offramp_id: string; attempt: number }[],
  now: Date,
): void {
  tx.write(
    `update payouts set flagged_at = $4
     from unnest($1::uuid[], $2::uuid[], $3::int[]) as t (account_id, offramp_id, attempt)
     where payouts.account_id = t.account_id and payouts.offramp_id = t.offramp_id
       and payouts.attempt = t.attempt`,
    [
      payouts.map((payout) => payout.account_id),
      payouts.map((payout) => payout.offramp_id),
      payouts.map((payout) => payout.attempt),
      now,
    ],
  );
}

/** Which of these answers were applied before. */
export async function findBankAnswers(
  tx: Session,
  account_id: string,
  bank_references: readonly string[],
): Promise<Set<string>> {
  const rows = await tx.query<{ bank_reference: string }>(
    `select bank_reference from bank_answers
     where account_id = $1 and bank_reference = any($2::text[])`,
    [account_id, bank_references],
  );
  return new Set(rows.map((row) => row.bank_reference));
}

/** `conflict`: the bank reports another amount or currency than was requested; no money moves. */
export type AnswerOutcome =
  | "applied"
  | "suspense"
  | "no_such_payment"
  | "out_of_order"
  | "conflict";

export function insertBankAnswers(
  tx: Transaction,
  answers: readonly { answer: BankAnswer; outcome: AnswerOutcome }[],
  now: Date,
): void {
  tx.write(
    `insert into bank_answers (account_id, bank_reference, end_to_end_id, kind, amount, currency,
       outcome, id, created_at)
     select *, $9 from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::bigint[],
       $6::text[], $7::text[], $8::uuid[])`,
    [
      answers.map(({ answer }) => answer.account_id),
      answers.map(({ answer }) => answer.bank_reference),
      answers.map(({ answer }) => answer.end_to_end_id),
      answers.map(({ answer }) => answer.kind),
      answers.map(({ answer }) => answer.amount),
      answers.map(({ answer }) => answer.currency),
      answers.map(({ outcome }) => outcome),
      answers.map(() => newId(now)),
      now,
    ],
  );
}

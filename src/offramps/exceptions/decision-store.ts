import type { Session, Transaction } from "../../platform/db/database.ts";
import { deleteRow, findRow, type RecordKey } from "../../platform/db/rows.ts";
import { vouchedTable } from "../../platform/sealing/vouched-rows.ts";
import { insertVouched } from "../../platform/sealing/write-vouched.ts";

/** What the operator decided and is not closed yet; its account is the operator's. */
export type DecisionRow = RecordKey & {
  exception_account_id: string;
  /** JSON of the command that applies it. */
  command: string;
  created_at: Date;
};

/** What became of a decision, by its id, in the account of the exception. */
type OutcomeRow = RecordKey & {
  /** JSON of a `Result`. */
  result: string;
  created_at: Date;
};

/** Whoever can only write SQL must not decide. */
export const EXCEPTION_DECISIONS = vouchedTable(
  "exception_decisions",
  ["account_id", "id"],
  ["exception_account_id", "command", "created_at"],
);

export const EXCEPTION_OUTCOMES = vouchedTable(
  "exception_outcomes",
  ["account_id", "id"],
  ["result", "created_at"],
);

export function insertDecision(tx: Transaction, decision: DecisionRow): void {
  insertVouched(tx, EXCEPTION_DECISIONS, decision);
}

export async function findDecision(
  session: Session,
  key: RecordKey,
): Promise<DecisionRow | undefined> {
  const { account_id, id } = key;
  const row = await findRow<DecisionRow>(session, "exception_decisions", { account_id, id });
  return row && EXCEPTION_DECISIONS.assertVouched(session, [row])[0];
}

export function deleteDecision(tx: Transaction, { account_id, id }: RecordKey): void {
  deleteRow(tx, "exception_decisions", { account_id, id });
}

export function insertOutcome(tx: Transaction, outcome: OutcomeRow): void {
  insertVouched(tx, EXCEPTION_OUTCOMES, outcome);
}

export async function findOutcome(
  session: Session,
  { account_id, id }: RecordKey,
): Promise<OutcomeRow | undefined> {
  const row = await findRow<OutcomeRow>(session, "exception_outcomes", { account_id, id });
  return row && EXCEPTION_OUTCOMES.assertVouched(session, [row])[0];
}

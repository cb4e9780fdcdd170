import type { Session, Transaction } from "../../../../platform/db/database.ts";
import type { CreditReturn } from "../../port.ts";

export type ReturnState = "sent" | "by_hand" | "booked" | "refused";

type NewReturn = CreditReturn & {
  state: ReturnState;
  end_to_end_id: string | null;
  problem: string | null;
};

/** The state of a return; a caller with the same key waits until it is recorded. */
export async function lockReturn(tx: Transaction, key: string): Promise<ReturnState | null> {
  await tx.query("select pg_advisory_xact_lock(hashtextextended('bank return ' || $1, 0))", [key]);
  const [row] = await tx.query<{ state: ReturnState }>(
    "select state from bank_returns where key = $1",
    [key],
  );
  return row?.state ?? null;
}

export async function insertReturn(tx: Transaction, row: NewReturn, now: Date): Promise<void> {
  await tx.query(
    `insert into bank_returns (key, bank_account, bank_reference, amount, currency, state,
       end_to_end_id, problem, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      ...[row.key, row.bank_account, row.bank_reference, row.amount, row.currency, row.state],
      ...[row.end_to_end_id, row.problem, now],
    ],
  );
}

/** The first final answer of the bank decides. */
export async function updateReturned(
  tx: Transaction,
  end_to_end_id: string,
  state: "booked" | "refused",
): Promise<void> {
  await tx.query("update bank_returns set state = $2 where end_to_end_id = $1 and state = 'sent'", [
    end_to_end_id,
    state,
  ]);
}

/** A person has paid it back. */
export async function updatePaidByHand(tx: Transaction, number: bigint): Promise<boolean> {
  const rows = await tx.query(
    `update bank_returns set state = 'booked' where number = $1 and state = 'by_hand'
     returning number`,
    [number],
  );
  return rows.length > 0;
}

/** Whether an unmatched line names the return of a deposit that the bank has not booked. */
export async function existsUnbookedReturn(session: Session, number: bigint): Promise<boolean> {
  const rows = await session.query(
    `select from bank_lines l join bank_returns r on r.end_to_end_id = any(l.named_ids)
     where l.number = $1 and r.state <> 'booked' limit 1`,
    [number],
  );
  return rows.length > 0;
}

type HandReturn = Pick<NewReturn, "bank_account" | "bank_reference" | "amount"> &
  Pick<NewReturn, "currency"> & { number: bigint; problem: string; created_at: Date };

export function listHandReturns(session: Session, limit: number): Promise<HandReturn[]> {
  return session.query(
    `select number, bank_account, bank_reference, amount, currency, problem, created_at
     from bank_returns where state = 'by_hand' order by number limit $1`,
    [limit],
  );
}

/** A deposit that a person has to send back, locked; null if it is not open. */
export async function lockHandReturn(
  session: Session,
  number: bigint,
): Promise<Pick<HandReturn, "bank_account" | "amount" | "currency"> | null> {
  const [row] = await session.query<Pick<HandReturn, "bank_account" | "amount" | "currency">>(
    `select bank_account, amount, currency from bank_returns
     where number = $1 and state = 'by_hand' for update`,
    [number],
  );
  return row ?? null;
}

/** The deposits that these payments send back. */
export function listReturnedDeposits(
  tx: Transaction,
  end_to_end_ids: readonly string[],
): Promise<{ end_to_end_id: string; bank_account: string; bank_reference: string }[]> {
  return tx.query(
    `select end_to_end_id, bank_account, bank_reference from bank_returns
     where end_to_end_id = any($1)`,
    [end_to_end_ids],
  );
}

type CreditLine = { entry_key: string; part: number; details: Buffer | null };

/** A line that somebody paid in. */
export async function findCreditLine(
  tx: Transaction,
  bank_account: string,
  bank_reference: string,
): Promise<CreditLine | null> {
  // Our name of a line ends with its part.
  const match = /^(.+)-(\d{1,9})$/.exec(bank_reference);
  if (!match) return null;
  const [row] = await tx.query<CreditLine>(
    `select entry_key, part, details from bank_lines
     where bank_account = $1 and entry_key = $2 and part = $3 and state = 'credit'`,
    [bank_account, match[1], Number(match[2])],
  );
  return row ?? null;
}

import type { Session, Transaction } from "../../platform/db/database.ts";
import type { WaitingLine } from "./model.ts";

const LINE = `number, bank_account, entry_key, part, kind, amount, currency,
  booked_on::text as booked_on, problem`;

/** Null if there is none, or it is in the books. What was settled is not in them. Locked. */
export async function lockWaitingLine(
  session: Session,
  number: string,
): Promise<WaitingLine | null> {
  const [row] = await session.query<WaitingLine>(
    `select ${LINE} from bank_lines where number = $1 and state in ('unmatched', 'settled')
     for update`,
    [number],
  );
  return row ?? null;
}

export function updateLineToTreasury(tx: Transaction, number: bigint): void {
  tx.write("update bank_lines set state = 'treasury' where number = $1", [number]);
}

import type { Session } from "../../../platform/db/database.ts";
import type { NumberedTransfer, TransferFinding } from "./watch-store.ts";

export type FoundTransfer = NumberedTransfer & { finding: TransferFinding };

/** Transfers to our addresses that are not credited, newest first. */
export function listFindings(session: Session, limit: number): Promise<FoundTransfer[]> {
  return session.query(
    `select * from evm_transfers where finding is not null order by number desc limit $1`,
    [limit],
  );
}

/** Counted up to a limit. */
export async function countFindings(session: Session, limit: number): Promise<number> {
  const [row] = await session.query<{ count: number }>(
    `select count(*)::int as count
     from (select from evm_transfers where finding is not null limit $1) as found`,
    [limit],
  );
  return row!.count;
}

import type { Session } from "../platform/db/database.ts";
import type { RecordKey } from "../platform/db/rows.ts";

/** The account of a user that the operator names by id. */
export async function findAccountOfUser(session: Session, id: string): Promise<string | undefined> {
  const [found] = await session.query<{ account_id: string }>(
    "select account_id from users where id = $1",
    [id],
  );
  return found?.account_id;
}

export async function lockFrozen(
  tx: Session,
  { account_id, id }: RecordKey,
): Promise<{ account_id: string; frozen_at: Date | null } | undefined> {
  const [row] = await tx.query<{ account_id: string; frozen_at: Date | null }>(
    `select account_id, frozen_at from users where account_id = $1 and id = $2
       and erased_at is null for no key update`,
    [account_id, id],
  );
  return row;
}

import type { Session } from "../platform/db/database.ts";

/** Locks a user of any account, for the operator. */
export async function lockUserAnywhere(
  tx: Session,
  id: string,
): Promise<{ account_id: string; frozen_at: Date | null } | undefined> {
  const [found] = await tx.query<{ account_id: string }>(
    "select account_id from users where id = $1",
    [id],
  );
  if (!found) return undefined;
  const [row] = await tx.query<{ account_id: string; frozen_at: Date | null }>(
    `select account_id, frozen_at from users where account_id = $1 and id = $2
       and erased_at is null for no key update`,
    [found.account_id, id],
  );
  return row;
}

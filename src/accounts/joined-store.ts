import type { Session, Transaction } from "../platform/db/database.ts";

/** At the first session of the account. */
export function updateMemberJoined(
  tx: Transaction,
  { account_id, person_id }: { account_id: string; person_id: string },
  joined_at: Date,
): void {
  tx.write(
    `update members set joined_at = $3
     where account_id = $1 and person_id = $2 and joined_at is null`,
    [account_id, person_id, joined_at],
  );
}

/** Whether the person has joined another account, too; an invitation does not count. */
export async function existsJoinedElsewhere(
  session: Session,
  { account_id, person_id }: { account_id: string; person_id: string },
): Promise<boolean> {
  const rows = await session.query(
    `select 1 from members
     where person_id = $1 and account_id <> $2 and joined_at is not null limit 1`,
    [person_id, account_id],
  );
  return rows.length > 0;
}

/** Whether the account has so many members. */
export async function existsMemberAt(
  session: Session,
  account_id: string,
  count: number,
): Promise<boolean> {
  const rows = await session.query(
    "select from members where account_id = $1 order by person_id offset $2 limit 1",
    [account_id, count - 1],
  );
  return rows.length > 0;
}

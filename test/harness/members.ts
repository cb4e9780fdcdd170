import { type MemberRow, updateMemberRole } from "../../src/accounts/store.ts";
import type { Database } from "../../src/platform/db/database.ts";

/** Changes a person's memberships as the service itself would write them. */
export function changeMember(
  database: Database,
  person_id: string,
  changes: Partial<Pick<MemberRow, "role" | "votes_from">>,
): Promise<void> {
  return database.transaction(async (tx) => {
    const rows = await tx.query<MemberRow>("select * from members where person_id = $1", [
      person_id,
    ]);
    for (const member of rows) updateMemberRole(tx, { ...member, ...changes });
  });
}

import { recordAudit } from "../../src/accounts/audit.ts";
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
    for (const member of rows) {
      updateMemberRole(tx, { ...member, ...changes });
      const { account_id } = member;
      const { role } = changes;
      if (!role) continue;
      // After all that the log has of them, whatever clock the test has.
      const [last] = await tx.query<{ at: Date }>(
        "select max(at) as at from audit_entries where account_id = $1",
        [account_id],
      );
      const now = new Date(last!.at.getTime() + 1);
      const act = { actor: "command line", action: "member.set_role", reason: "a test" } as const;
      const record = `person:${person_id}`;
      recordAudit(tx, { account_id, ...act, record, detail: { role } }, now);
    }
  });
}

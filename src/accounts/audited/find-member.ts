import type { Session } from "../../platform/db/database.ts";
import { findRow } from "../../platform/db/rows.ts";
import { warnOfPutBack } from "../../platform/sealing/put-back.ts";
import { isAuditAuthentic } from "../audit.ts";
import { type AuditRow, listLastAuditRows } from "../audit-store.ts";
import { MEMBERS, type MemberRow } from "../store.ts";

const MEMBER_ACTS = ["member.create", "member.set_role", "member.remove"];

/**
 * Absent if somebody changed the row, or put it back to what it was before the member was removed
 * or got another role, as the audit log says: it gives no rights.
 */
export async function findMember(
  session: Session,
  account_id: string,
  person_id: string,
): Promise<MemberRow | undefined> {
  const acts = [{ account_id, record: `person:${person_id}` }];
  // A change may be committed between the two reads, so a difference is looked at again.
  for (const is_alarm of [false, true]) {
    const [row, [last]] = await Promise.all([
      findRow<MemberRow>(session, "members", { account_id, person_id }),
      listLastAuditRows(session, acts, MEMBER_ACTS),
    ]);
    if (!row || MEMBERS.vouchedOnly(session, [row]).length === 0) return undefined;
    if (last && isAuditAuthentic(session, last) && saidRole(last) === row.role) return row;
    if (is_alarm) warnOfPutBack(session, { table: "members", key: [account_id, person_id] });
  }
  return undefined;
}

/** Null after a removal. */
function saidRole({ action, detail }: AuditRow): unknown {
  if (action === "member.remove") return null;
  return (JSON.parse(detail) as { role?: unknown }).role;
}

import type { Session } from "../../platform/db/database.ts";
import { isAuditAuthentic } from "../audit.ts";
import { listLastAuditRows } from "../audit-store.ts";

/** What the audit log calls all payouts of the installation. */
export const PAYOUTS_RECORD = "installation:payouts";

/**
 * Whether payouts are on hold, as the audit log of the operator says: also where somebody deleted
 * the hold, or says that it was released. An entry that was not written here releases nothing.
 */
export async function isSaidHeld(session: Session, operator_id: string): Promise<boolean> {
  const records = [{ account_id: operator_id, record: PAYOUTS_RECORD }];
  const [last] = await listLastAuditRows(session, records, ["payouts.hold", "payouts.release"]);
  return (
    last !== undefined && !(last.action === "payouts.release" && isAuditAuthentic(session, last))
  );
}

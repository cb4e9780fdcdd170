import { listLastAuditRows } from "../../accounts/audit-store.ts";
import type { Session } from "../../platform/db/database.ts";
import type { UserKey } from "../../users/store.ts";
import type { Decision } from "./decisions.ts";

/** The decision that each of these takes back. */
const LIFTS: Partial<Record<Decision, Decision>> = {
  unsuspend: "suspend",
  grant_usd_swift: "withdraw_usd_swift",
  grant_eur_swift: "withdraw_eur_swift",
};

type Deciding = { account_id: string; is_operator: boolean };

/** In the audit entry of what the operator's reviewer decided about another account's user. */
export function markOperator(
  { account_id, is_operator }: Deciding,
  key: UserKey,
): Record<string, string> {
  return is_operator && account_id !== key.account_id ? { by: "operator" } : {};
}

/**
 * Those of the decisions that this reviewer may take. What the operator stopped, an account that
 * reviews its own users does not let go again.
 */
export async function withoutOperators(
  session: Session,
  { is_operator }: Deciding,
  { account_id, user_id }: UserKey,
  decisions: readonly Decision[],
): Promise<Decision[]> {
  if (is_operator || !decisions.some((decision) => LIFTS[decision])) return [...decisions];
  const isOperators = async (decision: Decision) => {
    const stopped_by = LIFTS[decision];
    if (!stopped_by) return false;
    const records = [{ account_id, record: `user:${user_id}` }];
    const [stop] = await listLastAuditRows(session, records, [`kyc.${stopped_by}`]);
    return stop !== undefined && JSON.parse(stop.detail).by === "operator";
  };
  const are_operators = await Promise.all(decisions.map(isOperators));
  return decisions.filter((_decision, at) => !are_operators[at]);
}

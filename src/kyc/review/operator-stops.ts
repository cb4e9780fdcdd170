import { listAuditByRecord } from "../../accounts/audit-store.ts";
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
  const acts = await listAuditByRecord(session, account_id, `user:${user_id}`);
  const isOperators = (decision: Decision) => {
    const stop = acts.findLast(({ action }) => action === `kyc.${LIFTS[decision]}`);
    return stop !== undefined && JSON.parse(stop.detail).by === "operator";
  };
  return decisions.filter((decision) => !isOperators(decision));
}

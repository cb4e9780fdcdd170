import type { ChangeType, Invoice } from "./model.ts";
import { changeProblems, otherRole, ownRole } from "./model.ts";

/** The only actions of a party without an account, on the invoice's page. */
const PAGE_ACTIONS = ["accept", "declareSentPayment", "reject"] as const satisfies ChangeType[];
export type PageAction = (typeof PAGE_ACTIONS)[number];

/** The actions that the page offers now; none to a party that has an account. */
export function offeredActions(
  invoice: Pick<Invoice, "format" | "status" | "shared_with">,
): PageAction[] {
  if (invoice.shared_with !== null) return [];
  const role = otherRole(ownRole(invoice.format));
  return PAGE_ACTIONS.filter((type) => changeProblems(invoice, type, role).length === 0);
}

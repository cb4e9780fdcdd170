import type { ChangeType, Invoice } from "./model.ts";
import { changeProblems, otherRole, ownRole } from "./model.ts";

/** What a party without an account may do on the invoice's page, and no more. */
const PAGE_ACTIONS = ["accept", "declareSentPayment", "reject"] as const satisfies ChangeType[];
export type PageAction = (typeof PAGE_ACTIONS)[number];

/** What the page offers now; nothing to a party that has an account: it acts there. */
export function offeredActions(
  invoice: Pick<Invoice, "format" | "status" | "shared_with">,
): PageAction[] {
  if (invoice.shared_with !== null) return [];
  const role = otherRole(ownRole(invoice.format));
  return PAGE_ACTIONS.filter((type) => changeProblems(invoice, type, role).length === 0);
}

import { type Payable, paymentProblem } from "../invoices/payments.ts";
import type { AccountMap } from "../platform/account-map.ts";
import type { Problem } from "../platform/errors.ts";
import type { CheckedItem } from "./check-items.ts";

/** Contract §10: what an item must be like to pay the invoice that it names. */
export function invoiceProblems(
  invoices: AccountMap<Payable>,
  account_id: string,
  items: readonly CheckedItem[],
): Problem[] {
  const named = new Set<string>();
  return items.flatMap((item, index) => {
    const { invoice_id, destination_currency: currency, destination_amount: amount } = item;
    if (invoice_id === null) return [];
    const payable = invoices.get(account_id, invoice_id);
    // Of two items of one request for the same invoice, the second comes too late.
    const is_twice = named.has(invoice_id);
    named.add(invoice_id);
    const taken = payable && is_twice ? { ...payable, offramp_id: invoice_id } : payable;
    const problem = paymentProblem(taken, { currency, amount });
    if (!problem) return [];
    const [code, message] = problem;
    return [{ field: `offramps[${index}].invoice_id`, code, message }];
  });
}

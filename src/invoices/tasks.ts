import { SHARE_INVOICES_TASK } from "../accounts/set-billing-email.ts";
import type { TaskHandler } from "../platform/tasks/run-set.ts";
import { shareInvoices } from "./counterparty/share-invoices.ts";
import { syncCounterparty } from "./counterparty/sync-counterparty.ts";
import {
  createOccurrences,
  type OccurrenceDeps,
  TEMPLATES_PER_SET_MAX,
} from "./create-occurrences.ts";
import { applyPayments } from "./payments/apply-payments.ts";
import { type ClaimDeps, checkClaims, createClaimReader } from "./payments/check-claims.ts";
import {
  CHECK_CLAIM_TASK,
  CREATE_OCCURRENCES_TASK,
  INVOICE_PAYMENT_TASK,
  SYNC_COUNTERPARTY_TASK,
} from "./task-kinds.ts";

/** The background work of invoices, each kind as sets of due tasks. */
export function invoiceTasks(deps: ClaimDeps & OccurrenceDeps): TaskHandler[] {
  const read = createClaimReader(deps);
  return [
    { kind: SYNC_COUNTERPARTY_TASK, set_max: 100, handle: (set) => syncCounterparty(deps, set) },
    { kind: INVOICE_PAYMENT_TASK, set_max: 100, handle: (set) => applyPayments(deps, set) },
    { kind: CHECK_CLAIM_TASK, set_max: 20, handle: (set) => checkClaims(deps, set, read) },
    {
      kind: CREATE_OCCURRENCES_TASK,
      set_max: TEMPLATES_PER_SET_MAX,
      // Two sets at once could create invoices out of order.
      sets_at_once: 1,
      handle: (set) => createOccurrences(deps, set),
    },
    { kind: SHARE_INVOICES_TASK, set_max: 5, handle: (set) => shareInvoices(deps, set) },
  ];
}

import { findVisibleView } from "../invoices/counterparty/find-visible.ts";
import type { SyncDeps } from "../invoices/counterparty/sync-counterparty.ts";
import { INVOICE_STATUSES } from "../invoices/model.ts";
import { InvoiceRecord } from "../invoices/schemas.ts";
import type { Clock } from "../platform/clock.ts";
import { notFound, Refusal } from "../platform/errors.ts";
import type { AddRoute } from "../platform/http/route.ts";
import { Problems } from "../platform/problems.ts";
import { forceInvoiceStatus } from "./force-invoice-status.ts";
import { noPath, readStatus } from "./read-status.ts";
import { InvoiceStatusBody } from "./schemas.ts";

/** Simulates the parties of an invoice. */
export function addSandboxInvoiceRoute(
  addRoute: AddRoute,
  deps: SyncDeps & { clock: Clock; wake: () => void },
): void {
  addRoute({
    method: "PATCH",
    path: "/sandbox/invoices/:invoice_id",
    operation: "setSandboxInvoice",
    stores_nothing: true,
    summary: "Set the status of an invoice",
    description:
      "Moves the invoice through every state up to the requested one. Every step is recorded " +
      "and sent as an event.",
    tag: "Sandbox",
    body: InvoiceStatusBody,
    body_example: { invoice: { status: "paid" } },
    answer: InvoiceRecord,
    errors: ["invalid_transition", "limit_exceeded"],
    handle: async ({ caller, params, body, problems }) => {
      const found = new Problems(problems);
      const status = readStatus("invoice", INVOICE_STATUSES, body.invoice?.status, found);
      const view = await findVisibleView(deps, caller.account_id, params.invoice_id);
      if (!view) throw Refusal.of([...found.list, notFound("invoice_id")]);
      if (!status) throw Refusal.of(found.list);
      const key = { account_id: view.owner_account_id, id: view.id };
      const forced = await forceInvoiceStatus(deps, key, status, deps.clock.now());
      if (!forced) throw Refusal.of([noPath("invoice.status")]);
      deps.wake();
      return deps.renderer.invoice(forced, view.role);
    },
  });
}

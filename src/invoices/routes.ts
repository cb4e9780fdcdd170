import { Readable } from "node:stream";
import { setTimeout } from "node:timers/promises";
import type { TokenPort } from "../accounts/authenticate.ts";
import type { ChainPort } from "../partners/chain/port.ts";
import { findPaymentDetails } from "../payment-details/store.ts";
import { createFairTurns } from "../platform/commands/fair-turns.ts";
import type { CommandRequest } from "../platform/commands/model.ts";
import { keyedHash } from "../platform/encryption/cipher.ts";
import { assertFound, notFound, type Problem, Refusal } from "../platform/errors.ts";
import { PAGE_BYTES_MAX } from "../platform/http/list.ts";
import type { AddRoute, Caller } from "../platform/http/route.ts";
import type { ModuleCore } from "../platform/module.ts";
import { changeInvoices } from "./change-invoices.ts";
import { checkChange } from "./check-change.ts";
import { checkInvoice } from "./check-invoice.ts";
import { checkList } from "./check-list.ts";
import { detailIds } from "./check-parties.ts";
import { changeAsParty } from "./counterparty/change-as-party.ts";
import { findVisible, findVisibleView, openViews } from "./counterparty/find-visible.ts";
import type { SyncDeps } from "./counterparty/sync-counterparty.ts";
import { type InvoiceView, listViews } from "./counterparty/view-store.ts";
import { createInvoices } from "./create-invoices.ts";
import { REQUEST_ID } from "./links.ts";
import type { ChangeInput } from "./model.ts";
import { notNow } from "./model.ts";
import { loadPdf } from "./pdf/load-pdf.ts";
import type { PdfRenderer } from "./pdf/renderer.ts";
import { actedBy } from "./record-acts.ts";
import {
  ChangeInvoiceBody,
  CreateInvoiceBody,
  InvoiceListAnswer,
  InvoiceListQuery,
  InvoiceRecord,
} from "./schemas.ts";

export type InvoiceDeps = SyncDeps &
  Pick<ModuleCore, "clock" | "executor" | "wake"> & {
    tokens: TokenPort;
    chain: Pick<ChainPort, "chains">;
    pdf_renderer: PdfRenderer;
  };

const TAG = "Invoices";
const FIRST_OPENED = 10;
const EXAMPLE = {
  invoiceNumber: "2026-0117",
  invoiceItems: [
    {
      name: "Consulting, November",
      currency: "USD",
      quantity: 2,
      unitPrice: "9999",
      tax: { type: "percentage" as const, amount: "20" },
    },
  ],
  buyerInfo: { email: "accounts@buyer.example", businessName: "Buyer Sample Ltd" },
  paymentTerms: { dueDate: "2026-12-15" },
  paymentOptions: [
    {
      type: "bank-account" as const,
      value: {
        currencies: ["USD"],
        paymentInformation: {
          accountName: "Seller Sample Inc",
          accountNumber: "000123456789",
          routingNumber: "021000021",
        },
      },
    },
  ],
  convert: true,
};

export function addInvoiceRoutes(addRoute: AddRoute, deps: InvoiceDeps): void {
  addCreate(addRoute, deps);
  addList(addRoute, deps);
  addShow(addRoute, deps);
  addChanges(addRoute, deps);
}

function addCreate(addRoute: AddRoute, deps: InvoiceDeps): void {
  const submit = deps.executor.register(createInvoices(deps));
  // Finding the dates of a rule can take 200 ms: one after the other, so that others are served.
  const ruleTurns = createFairTurns(2);
  addRoute({
    method: "POST",
    path: "/invoices",
    operation: "createInvoice",
    summary: "Create an invoice or a salary",
    description:
      "Creates a draft, or a payable invoice with `convert: true`. With `meta.format` " +
      "`svc_salary` your account is the buyer and the seller is the employee. With a " +
      "`recurringRule` it is a template that creates payable invoices on its dates.",
    tag: TAG,
    body: CreateInvoiceBody,
    body_example: EXAMPLE,
    answer: InvoiceRecord,
    errors: ["value_too_long", "record_not_unique", "record_not_found"],
    scope: "invoices:write",
    handle: async ({ caller, body, problems, command }) => {
      const check = () => checkInvoice(body, problems, deps.clock.now());
      const { checked, problems: found } =
        body.recurringRule === undefined
          ? check()
          : await ruleTurns(caller.account_id, () => withPause(check));
      const app_id = caller.app_id ?? null;
      return submit(command({ checked, app_id, problems: [...problems, ...found] }));
    },
  });
}

/** Waits as long as the work took: others have at least half of the processor. */
async function withPause<Result>(work: () => Result): Promise<Result> {
  const begun_ms = performance.now();
  const result = work();
  await setTimeout(performance.now() - begun_ms);
  return result;
}

function addList(addRoute: AddRoute, deps: InvoiceDeps): void {
  const { database, renderer, index_key, clock } = deps;
  addRoute({
    method: "GET",
    path: "/invoices",
    operation: "listInvoices",
    summary: "List invoices",
    description:
      "Invoices that the account created, and those that other accounts sent to its billing " +
      "email. A page of very large invoices ends before `take`, with `has_more`: continue with " +
      "`starting_after`, or with `skip` increased by the number that came.",
    tag: TAG,
    query: InvoiceListQuery,
    answer: InvoiceListAnswer,
    errors: [],
    scope: "invoices:read",
    handle: async ({ caller, query, problems }) => {
      const { account_id } = caller;
      const read = checkList(query, index_key, account_id, clock.now());
      const named = new Set(problems.map((problem) => problem.field));
      const found = [...problems, ...read.problems.filter(({ field }) => !named.has(field))];
      if (found.length > 0) throw Refusal.of(found);
      const views = await listViews(database, account_id, read.filter, read.page);
      const { limit } = read.page;
      const { texts, is_whole } = await renderViews(deps, views.slice(0, limit), mayAct(caller));
      return renderer.list(texts, !is_whole || views.length > limit);
    },
  });
}

/** Renders what fits into an answer, at least one: an answer is made in memory. */
async function renderViews(
  deps: InvoiceDeps,
  views: readonly InvoiceView[],
  may_act: boolean,
): Promise<{ texts: string[]; is_whole: boolean }> {
  const texts: string[] = [];
  let bytes = 0;
  let next = FIRST_OPENED;
  for (let at = 0; at < views.length; ) {
    const opened = await openViews(deps, views.slice(at, at + next));
    at += next;
    for (const { entry, role } of opened) {
      const text = deps.renderer.invoice(entry, role, may_act);
      bytes += Buffer.byteLength(text);
      if (texts.length > 0 && bytes > PAGE_BYTES_MAX) return { texts, is_whole: false };
      texts.push(text);
    }
    // As many as fit if they are like those before.
    next = Math.max(1, Math.floor(((PAGE_BYTES_MAX - bytes) * texts.length) / (bytes + 1)));
  }
  return { texts, is_whole: true };
}

function addShow(addRoute: AddRoute, deps: InvoiceDeps): void {
  addRoute({
    method: "GET",
    path: "/invoices/:invoice_id",
    operation: "showInvoice",
    summary: "Show an invoice",
    description: "Takes the `id`, or any `requestId` that the invoice ever had.",
    tag: TAG,
    answer: InvoiceRecord,
    errors: [],
    scope: "invoices:read",
    id_form: REQUEST_ID,
    handle: async ({ caller, params, problems }) => {
      const found = await findVisible(deps, caller.account_id, params.invoice_id);
      assertFound(found, "invoice_id", problems);
      return deps.renderer.invoice(found.entry, found.role, mayAct(caller));
    },
  });

  addRoute({
    method: "GET",
    path: "/invoices/:invoice_id/pdf",
    operation: "downloadInvoice",
    summary: "Download an invoice as PDF",
    description: "The PDF shows the invoice in its present state.",
    tag: TAG,
    answer: InvoiceRecord,
    file_types: ["application/pdf"],
    errors: ["unavailable"],
    scope: "invoices:read",
    id_form: REQUEST_ID,
    handle: async ({ caller, params, problems, watchCaller }) => {
      const found = await findVisible(deps, caller.account_id, params.invoice_id);
      assertFound(found, "invoice_id", problems);
      const { invoice } = found.entry;
      const printed = await loadPdf(deps, invoice);
      const bytes = await deps.pdf_renderer.print(printed, caller.account_id, watchCaller());
      const file = Readable.from([bytes]);
      return { file, media_type: "application/pdf", file_name: `invoice-${invoice.id}.pdf` };
    },
  });
}

function addChanges(addRoute: AddRoute, deps: InvoiceDeps): void {
  const submit = deps.executor.register(changeInvoices(deps));
  addRoute({
    method: "POST",
    path: "/invoices/:invoice_id",
    operation: "convertInvoice",
    summary: "Make a draft payable",
    description: "Assigns the `requestId` and sends the event `create`.",
    tag: TAG,
    answer: InvoiceRecord,
    errors: ["invalid_transition"],
    scope: "invoices:write",
    handle: async ({ caller, params, problems, command }) => {
      const invoice_id = params.invoice_id;
      const view = await findVisibleView(deps, caller.account_id, invoice_id);
      if (view && view.owner_account_id !== caller.account_id) {
        throw Refusal.of([
          ...problems,
          notNow("create", "Only the account that created the invoice can do this."),
        ]);
      }
      const by = actedBy(caller);
      return submit(command({ invoice_id, name: "create", input: null, by, problems }));
    },
  });

  addRoute({
    method: "POST",
    path: "/invoices/:invoice_id/changes",
    operation: "changeInvoice",
    summary: "Change an invoice",
    description:
      "Buyers accept, reject (with a note) and declare a payment sent; sellers declare it " +
      "received, mark a paid invoice unpaid and correct the payment options; the creator of the " +
      "invoice cancels it. A payment on chain is declared with `input.txHash` and `input.chain`.",
    tag: TAG,
    body: ChangeInvoiceBody,
    body_example: { type: "cancel" as const, input: { note: "Sent by mistake." } },
    answer: InvoiceRecord,
    errors: ["invalid_transition", "value_too_long", "record_not_found", "limit_exceeded"],
    scope: "invoices:write",
    handle: async ({ caller, params, body, problems, command }) => {
      const { name, input, problems: found } = checkChange(body, problems, deps.chain.chains);
      const unknown = await unknownDetails(deps, caller.account_id, input);
      const all = [...problems, ...found, ...unknown];
      const invoice_id = params.invoice_id;
      const view = await findVisibleView(deps, caller.account_id, invoice_id);
      if (!view || view.owner_account_id === caller.account_id) {
        return submit(command({ invoice_id, name, input, by: actedBy(caller), problems: all }));
      }
      if (all.length > 0 || name === null) throw Refusal.of(all);
      const request = command(null);
      return deps.executor.keepAnswer(request, async () => {
        const key = { account_id: view.owner_account_id, id: view.id };
        const change_key = changeKey(deps.index_key, request);
        const by_party = { ...request, by: actedBy(caller) };
        const act = { name, input, role: view.role, caller: by_party, change_key };
        const entry = await changeAsParty(deps, key, act, deps.clock.now());
        deps.wake();
        return deps.renderer.invoice(entry, view.role);
      });
    },
  });
}

/** Payment details that the new payment options refer to and the caller does not have. */
async function unknownDetails(
  { database }: InvoiceDeps,
  account_id: string,
  input: ChangeInput | null,
): Promise<Problem[]> {
  const named = detailIds(input?.paymentOptions ?? [], "input.");
  if (named.length === 0) return [];
  const rows = await findPaymentDetails(
    database,
    named.map(({ id }) => ({ account_id, id })),
  );
  const known = new Set(rows.map((row) => row.id));
  return named.filter(({ id }) => !known.has(id)).map(({ field }) => notFound(field));
}

/**
 * Whether the caller may receive links that allow actions: a key, token or member who may change
 * invoices. A member who sends the link to the other party gives no proof for it.
 */
function mayAct({ scopes, refuse }: Caller): boolean {
  if (scopes) return scopes.includes("invoices:write");
  const refusal = refuse?.({ operation: "changeInvoice", ip: null }) ?? null;
  return refusal === null || refusal.code === "confirmation_required";
}

/** The same for a request and its repetitions; null without an Idempotency-Key. */
function changeKey(index_key: Buffer, request: CommandRequest<null>): Buffer | null {
  if (!request.idempotency) return null;
  const { index, request_hash } = request.idempotency;
  return keyedHash(index_key, "invoice change", request.account_id, index, request_hash);
}

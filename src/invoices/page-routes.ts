import type { FastifyInstance, FastifyRequest } from "fastify";
import {
  addPageScope,
  type PageDeps,
  publicFormCsrf,
  readField,
  sendPage,
} from "../accounts/page-scope.ts";
import { SECOND_MS } from "../platform/durations.ts";
import { Refusal } from "../platform/errors.ts";
import { createRestingTurns } from "../platform/http/account-turns.ts";
import { callerNetwork } from "../platform/http/caller-network.ts";
import type { Html } from "../platform/http/html.ts";
import { FILE_POLICY } from "../platform/http/security-headers.ts";
import { findLink } from "./change-store.ts";
import { checkChange } from "./check-change.ts";
import { changeAsParty } from "./counterparty/change-as-party.ts";
import { createLinkLimits } from "./link-limits.ts";
import { hashLinkToken } from "./links.ts";
import { isIssued, otherRole, ownRole } from "./model.ts";
import { offeredActions } from "./page-actions.ts";
import { invoicePage } from "./pages.ts";
import { loadPdf, type PrintedInvoice } from "./pdf/load-pdf.ts";
import type { InvoiceDeps } from "./routes.ts";
import { findInvoices, type InvoiceKey, openInvoices } from "./store.ts";

const NOT_OFFERED = "This action is not available, or no longer. Choose one of the actions below.";
const PATH = "/invoices/view/:token";
const WAIT_MAX_MS = 30 * SECOND_MS;
/** The URL contains a secret: it must not be sent to any site that the page links to. */
const SECRET_HEADERS = { "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex" };

declare module "fastify" {
  interface FastifyRequest {
    /** The invoice that a form's link belongs to. */
    linked_invoice: InvoiceKey | null;
  }
}

/**
 * The page behind `invoiceLinks.view`, for a party without an account. GET changes nothing.
 *
 * To open a large invoice and build its page takes the thread that answers everybody: invoices of
 * one account take turns, however many people follow its links.
 */
export function addInvoicePages(app: FastifyInstance, deps: InvoiceDeps & PageDeps): void {
  const takeAttempt = createLinkLimits();
  const inTurn = createRestingTurns(WAIT_MAX_MS);
  const findLinked = async (request: FastifyRequest, is_file = false): Promise<InvoiceKey> => {
    const token = tokenOf(request);
    takeAttempt(callerNetwork(request.ip), token, is_file);
    const key = await findLink(deps.database, hashLinkToken(deps.index_key, token));
    if (!key) throw new Refusal("route_not_found");
    return key;
  };
  addPageScope(app, deps, (scope) => {
    scope.decorateRequest("linked_invoice", null);

    // Mail clients send HEAD before they open a link.
    scope.get(PATH, { exposeHeadRoute: true }, async (request, reply) => {
      const key = await findLinked(request);
      const csrf = publicFormCsrf(deps, request, reply);
      const build = async () => pageOf(deps, request, await openLinked(deps, key), csrf, null);
      const page = await inTurn(key.account_id, build, () => reply.raw.closed);
      return sendPage(reply.headers(SECRET_HEADERS), page);
    });

    scope.get(`${PATH}/pdf`, async (request, reply) => {
      const key = await findLinked(request, true);
      const open = () => openLinked(deps, key);
      const printed = await inTurn(key.account_id, open, () => reply.raw.closed);
      const file = await deps.pdf_renderer.print(printed, key.account_id);
      return reply
        .headers({ ...SECRET_HEADERS, "Content-Security-Policy": FILE_POLICY })
        .type("application/pdf")
        .header("Content-Disposition", `attachment; filename="invoice-${key.id}.pdf"`)
        .send(file);
    });

    const public_form = {
      config: { is_public_form: true },
      // Before the form is read: only a valid link may submit one.
      onRequest: async (request: FastifyRequest) => {
        request.linked_invoice = await findLinked(request);
      },
    };
    scope.post(PATH, public_form, async (request, reply) => {
      const key = request.linked_invoice!;
      const csrf = publicFormCsrf(deps, request, reply);
      const submit = async () => {
        const refusal = await act(deps, request, await openLinked(deps, key));
        if (!refusal) return null;
        const page = pageOf(deps, request, await openLinked(deps, key), csrf, refusal);
        return { page, status: refusal.status };
      };
      const refused = await inTurn(key.account_id, submit, () => reply.raw.closed);
      reply.headers(SECRET_HEADERS);
      if (refused) return sendPage(reply, refused.page, refused.status);
      return reply.redirect(pathOf(request), 303);
    });
  });
}

async function openLinked(deps: InvoiceDeps, key: InvoiceKey): Promise<PrintedInvoice> {
  const rows = await findInvoices(deps.database, [key]);
  const [entry] = await openInvoices(deps.database, deps.keyring, rows);
  if (!entry || !isIssued(entry.invoice.status) || entry.invoice.request_id === null) {
    throw new Refusal("route_not_found");
  }
  return loadPdf(deps, entry.invoice);
}

async function act(
  deps: InvoiceDeps,
  request: FastifyRequest,
  { invoice }: PrintedInvoice,
): Promise<Refusal | null> {
  const type = readField(request, "type");
  const name = offeredActions(invoice).find((offered) => offered === type);
  if (!name) return new Refusal("invalid_transition", NOT_OFFERED);
  const note = readField(request, "note");
  const { input, problems } = checkChange({ type, ...(note ? { input: { note } } : {}) }, []);
  if (problems.length > 0) return Refusal.of(problems);
  const role = otherRole(ownRole(invoice.format));
  const party = { name, input, role, caller: null, change_key: null };
  try {
    await changeAsParty(deps, invoice, party, deps.clock.now());
    deps.wake();
    return null;
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

function pageOf(
  { mode }: PageDeps,
  request: FastifyRequest,
  printed: PrintedInvoice,
  csrf: string,
  refusal: Refusal | null,
): Html {
  const problem = refusal && (refusal.problems[0]?.message ?? refusal.message);
  return invoicePage({ ...printed, mode, csrf, path: pathOf(request), problem });
}

function pathOf(request: FastifyRequest): string {
  return `/invoices/view/${tokenOf(request)}`;
}

function tokenOf(request: FastifyRequest): string {
  return (request.params as { token: string }).token;
}

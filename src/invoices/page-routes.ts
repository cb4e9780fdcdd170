import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { addPageScope, type PageDeps, readField, sendPage } from "../accounts/page-scope.ts";
import { formCsrfOf, isToken, makeToken } from "../accounts/sign-in/sessions.ts";
import { Refusal } from "../platform/errors.ts";
import { callerNetwork } from "../platform/http/caller-network.ts";
import { FILE_POLICY } from "../platform/http/security-headers.ts";
import { readCookie, setCookie } from "../platform/pages/cookies.ts";
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
import { findInvoices, openInvoices } from "./store.ts";

const NOT_OFFERED = "This action is not available, or no longer. Choose one of the actions below.";
const PATH = "/invoices/view/:token";
/** The URL contains a secret: it must not be sent to any site that the page links to. */
const SECRET_HEADERS = { "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex" };

/** The page behind `invoiceLinks.view`, for a party without an account. GET changes nothing. */
export function addInvoicePages(app: FastifyInstance, deps: InvoiceDeps & PageDeps): void {
  const takeAttempt = createLinkLimits();
  const findLinked = (request: FastifyRequest, is_file = false) => {
    const { token } = request.params as { token: string };
    takeAttempt(callerNetwork(request.ip), token, is_file);
    return findByToken(deps, token);
  };
  addPageScope(app, deps, (scope) => {
    // Mail clients send HEAD before they open a link.
    scope.get(PATH, { exposeHeadRoute: true }, async (request, reply) => {
      const printed = await findLinked(request);
      return show(deps, request, reply, printed, null);
    });

    scope.get(`${PATH}/pdf`, async (request, reply) => {
      const printed = await findLinked(request, true);
      const file = await deps.pdf_renderer.print(printed, printed.invoice.account_id);
      return reply
        .headers({ ...SECRET_HEADERS, "Content-Security-Policy": FILE_POLICY })
        .type("application/pdf")
        .header("Content-Disposition", `attachment; filename="invoice-${printed.invoice.id}.pdf"`)
        .send(file);
    });

    const public_form = {
      config: { is_public_form: true },
      // Before the form is read: only a valid link may submit one.
      onRequest: async (request: FastifyRequest) => void (await findLinked(request)),
    };
    scope.post(PATH, public_form, async (request, reply) => {
      const { token } = request.params as { token: string };
      const printed = await findByToken(deps, token);
      const refusal = await act(deps, request, printed);
      if (refusal) {
        const again = await findByToken(deps, token);
        return show(deps, request, reply, again, refusal);
      }
      return reply.headers(SECRET_HEADERS).redirect(pathOf(request), 303);
    });
  });
}

async function findByToken(deps: InvoiceDeps, token: string): Promise<PrintedInvoice> {
  const key = await findLink(deps.database, hashLinkToken(deps.index_key, token));
  const rows = await findInvoices(deps.database, key ? [key] : []);
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

function show(
  deps: InvoiceDeps & PageDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  printed: PrintedInvoice,
  refusal: Refusal | null,
): FastifyReply {
  const public_url = deps.public_url();
  const known = readCookie(request, public_url, "form");
  // An existing token is kept, so that forms in other tabs stay valid.
  const form_token = isToken(known) ? known : makeToken();
  if (form_token !== known) setCookie(reply, public_url, "form", form_token);
  reply.headers(SECRET_HEADERS);
  const shown = invoicePage({
    ...printed,
    mode: deps.mode,
    csrf: formCsrfOf(deps.index_key, form_token),
    path: pathOf(request),
    problem: refusal && (refusal.problems[0]?.message ?? refusal.message),
  });
  return sendPage(reply, shown, refusal?.status ?? 200);
}

function pathOf(request: FastifyRequest): string {
  const { token } = request.params as { token: string };
  return `/invoices/view/${token}`;
}

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { HOME } from "../accounts/page-paths.ts";
import { addPageScope, type PageDeps, requireSession, sendPage } from "../accounts/page-scope.ts";
import { passkeySite } from "../accounts/passkeys/model.ts";
import { may, PERMISSIONS, type PermissionName, ROLE_NAMES } from "../accounts/roles.ts";
import type { MemberSession } from "../accounts/sign-in/sessions.ts";
import { listMemberships } from "../accounts/store.ts";
import { html } from "../platform/http/html.ts";
import { addStaticFiles, readStaticFiles } from "../platform/http/static-files.ts";
import { page } from "../platform/pages/layout.ts";

const BUILT_PAGE = join(import.meta.dirname, "../../dashboard/dist/app");
const ASSETS = "/assets/dashboard";
const MEMBERSHIPS_MAX = 100;
/** Where the built document takes the session. */
const PLACE = '>"session"</script>';

/** Each is a page of dashboard/src/app/pages, with everything below it. */
const SECTIONS = [
  ...["overview", "payouts", "quotes", "deposits", "people", "bank-accounts", "invoices"],
  ...["ledger", "approvals", "documents", "settings"],
];

/** The dashboard's document, the same for all its pages: its script shows what the URL names. */
export function addDashboardShell(app: FastifyInstance, deps: PageDeps): void {
  const built = readStaticFiles(BUILT_PAGE);
  const shell = built?.get("index.html")?.bytes.toString("utf8");
  addStaticFiles(app, ASSETS, built);
  addPageScope(app, deps, (scope) => {
    const signed_in = { onRequest: requireSession() };
    const send = async (request: FastifyRequest, reply: FastifyReply) =>
      shell === undefined
        ? sendPage(reply, notBuilt(deps, request.member!), 503)
        : sendShell(reply, shell, await describeSession(deps, request.member!));
    for (const home of [HOME, `${HOME}/`]) scope.get(home, signed_in, send);
    for (const section of SECTIONS) {
      scope.get(`/dashboard/${section}`, signed_in, send);
      scope.get(`/dashboard/${section}/*`, signed_in, send);
    }
  });
}

function sendShell(reply: FastifyReply, shell: string, session: unknown): FastifyReply {
  const nonce = randomBytes(16).toString("base64");
  return reply
    .header("Content-Security-Policy", policyWith(nonce))
    .type("text/html; charset=utf-8")
    .send(shell.replace("{nonce}", nonce).replace(PLACE, () => `>${inScript(session)}</script>`));
}

/** Style elements are added by the components, with the nonce; scripts only from files. */
function policyWith(nonce: string): string {
  return (
    `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; ` +
    "img-src 'self' blob: data:; frame-src blob:; connect-src 'self'; form-action 'self'; " +
    "frame-ancestors 'none'; base-uri 'none'"
  );
}

/** JSON that cannot end the element that it stands in. */
function inScript(value: unknown): string {
  return JSON.stringify(value).replaceAll("<", "\\u003c");
}

/** What the page knows of who is signed in; no secret but the CSRF token. */
async function describeSession(
  { database, mode, clock, public_url }: PageDeps,
  member: MemberSession,
) {
  const { email, person_id, role, account_id, account_name, is_operator, csrf } = member;
  const memberships = await listMemberships(database, person_id, MEMBERSHIPS_MAX);
  const names = Object.keys(PERMISSIONS) as PermissionName[];
  return {
    mode,
    csrf,
    now: clock.now(),
    email,
    person_id,
    role,
    role_name: ROLE_NAMES[role],
    has_factor: member.has_factor,
    has_passkey: member.has_passkey && passkeySite(public_url()) !== null,
    account: { id: account_id, name: account_name, is_operator },
    accounts: memberships.map((one) => ({ id: one.account_id, name: one.account_name })),
    permissions: names.filter((name) => may(role, name)),
  };
}

function notBuilt({ mode }: PageDeps, session: MemberSession) {
  const body = html`<section class="card"><h1>The dashboard is not built</h1>
<p>Run <code>npm run build</code> in the folder of Sliproad, then restart it. The API works without
it.</p></section>`;
  return page({ title: "Not built", mode, session, body });
}

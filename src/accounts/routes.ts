import type { FastifyInstance } from "fastify";
import { Refusal } from "../platform/errors.ts";
import { STYLESHEET, STYLESHEET_HASH, STYLESHEET_PATH } from "../platform/pages/layout.ts";
import { HOME } from "./page-paths.ts";
import { addPageScope, type PageDeps, readField, requireSession } from "./page-scope.ts";
import { addPasskeyPages, addPasskeyScript } from "./passkeys/routes.ts";
import { addSecurityPages } from "./security/routes.ts";
import { createSignInLimits } from "./sign-in/attempt-limits.ts";
import { addPasswordPages } from "./sign-in/password-routes.ts";
import { addSignInPages } from "./sign-in/routes.ts";
import { switchAccount } from "./sign-in/switch-account.ts";

/** Sign-in, sign-out and security; other modules add their pages with `addPageScope`. */
export function addAccountPages(app: FastifyInstance, deps: PageDeps): void {
  addStylesheet(app);
  addPasskeyScript(app);
  const sign_in_deps = { ...deps, limits: createSignInLimits(deps) };
  addPageScope(app, deps, (scope) => {
    addSignInPages(scope, sign_in_deps);
    addPasswordPages(scope, deps);
    addPasskeyPages(scope, sign_in_deps);
    addSecurityPages(scope, sign_in_deps);
    addAccountSwitch(scope, deps);
    scope.get("/", (_request, reply) => reply.redirect(HOME, 303));
    // Unknown paths: a page for browsers, the usual JSON error for programs.
    scope.get("/*", () => {
      throw new Refusal("route_not_found");
    });
  });
}

function addStylesheet(app: FastifyInstance): void {
  app.get(STYLESHEET_PATH, (request, reply) => {
    const is_this_version = request.url.endsWith(`?${STYLESHEET_HASH}`);
    return reply
      .header("Cache-Control", is_this_version ? "public, max-age=31536000, immutable" : "no-cache")
      .header("X-Content-Type-Options", "nosniff")
      .type("text/css; charset=utf-8")
      .send(STYLESHEET);
  });
}

function addAccountSwitch(scope: FastifyInstance, deps: PageDeps): void {
  const signed_in = { onRequest: requireSession() };
  scope.post(`${HOME}/account`, signed_in, async (request, reply) => {
    await switchAccount(deps, request.member!, readField(request, "account_id"));
    return reply.redirect(HOME, 303);
  });
}

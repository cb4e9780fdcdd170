import type { EventEmitter } from "node:events";
import type { IncomingMessage } from "node:http";
import type { Configuration, KoaContextWithOIDC, Provider, Session } from "oidc-provider";
import type { PageDeps } from "../../accounts/page-scope.ts";
import { openEmail } from "../../accounts/person-email.ts";
import { isSameToken, type MemberSession, sessionMs } from "../../accounts/sign-in/sessions.ts";
import { findPersonById } from "../../accounts/store.ts";
import { DatabaseUnavailableError } from "../../platform/db/outages.ts";
import { Refusal } from "../../platform/errors.ts";
import { isReaderGone, logFailure } from "../../platform/http/log-failure.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { makeCredential } from "../../platform/named-credentials.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import { hashClientSecret } from "../model.ts";
import { createArtifactsAdapter } from "./artifacts-adapter.ts";
import { findRememberedGrantId } from "./artifacts-store.ts";
import { APP_ACCOUNT } from "./client-metadata.ts";
import { showOauthError } from "./error-page.ts";
import { loadLibrary } from "./load-library.ts";
import {
  ACCESS_TOKEN_SECONDS,
  ALL_SCOPES,
  AUDIENCE_RULE,
  accountOfGrant,
  CODE_SECONDS,
  GRANT_SECONDS,
  ID_TOKEN_SECONDS,
  INTERACTION_SECONDS,
  isAudience,
  REFRESH_TOKEN_SECONDS,
  readScopes,
} from "./model.ts";
import { cookieKey } from "./sealed-artifacts.ts";
import { openSigningKeys } from "./signing-keys.ts";

export type OauthDeps = PageDeps & Pick<ModuleCore, "log">;

/** The signed-in member of each request passed to the library. */
export type MembersByRequest = WeakMap<IncomingMessage, MemberSession>;

export const ROUTES = {
  authorization: "/authorize",
  token: "/oauth/token",
  revocation: "/oauth/revoke",
  introspection: "/oauth/introspect",
  userinfo: "/userinfo",
  jwks: "/.well-known/jwks.json",
} as const;

export const CONSENT_PATH = "/consent";

export async function createProvider(
  deps: OauthDeps,
  members: MembersByRequest,
): Promise<Provider> {
  const library = await loadLibrary();
  const { errors } = library;
  const { database, index_key, clock } = deps;
  const adapter = createArtifactsAdapter({
    ...deps,
    alreadyUsed: () => new errors.InvalidGrant("authorization code already consumed"),
  });
  const keys = await openSigningKeys(database, index_key, realTime(clock));
  const issuer = deps.public_url();
  const provider = new library.Provider(issuer, {
    ...settingsOf(deps),
    adapter,
    jwks: { keys },
    extraParams: { audience: (ctx, value) => checkRequest(errors, ctx, value) },
  });
  // Our handler sets these headers to the public URL; the caller's own are removed.
  provider.proxy = true;
  provider.Client.prototype.compareClientSecret = function (secret) {
    const hash = hashClientSecret(index_key, this.clientId, secret).toString("base64url");
    return isSameToken(hash, this.clientSecret);
  };
  nameAccounts(provider, index_key);
  followSignIn(provider, members);
  // The library would print it on the console.
  const emitter: EventEmitter = provider;
  emitter.on("error", (error: Error) => {
    if (isReaderGone(error)) deps.log.info({ reason: error.message }, "oauth answer not read");
    else deps.log.error({ err: error }, "oauth answer failed");
  });
  // An unavailable database is no fault of this code, nor is a caller of whom too many requests
  // wait for it: retrying helps.
  provider.on("server_error", (ctx, error) => {
    const is_refused = error instanceof Refusal && error.status < 500;
    if (!is_refused) logFailure(deps, error, "oauth failed");
    if (!(error instanceof DatabaseUnavailableError || error instanceof Refusal)) return;
    ctx.status = 503;
    ctx.set("Retry-After", "2");
    ctx.body = { error: "temporarily_unavailable", error_description: "try again" };
  });
  return provider;
}

function settingsOf(deps: OauthDeps): Configuration {
  const { database, index_key, clock } = deps;
  const is_https = deps.public_url().startsWith("https:");
  const cookie = { httpOnly: true, sameSite: "lax", signed: true, secure: is_https } as const;
  const name = (kind: string) => `${is_https ? "__Secure-" : ""}sliproad_oauth_${kind}`;
  return {
    routes: ROUTES,
    scopes: ALL_SCOPES,
    claims: { openid: ["sub"], email: ["email"], profile: [] },
    responseTypes: ["code"],
    subjectTypes: ["public"],
    extraClientMetadata: { properties: [APP_ACCOUNT] },
    clientAuthMethods: ["client_secret_basic", "client_secret_post"],
    clientDefaults: { id_token_signed_response_alg: "RS256" },
    enabledJWA: { idTokenSigningAlgValues: ["RS256"] },
    pkce: { required: () => true },
    rotateRefreshToken: true,
    // A sign-out ends the sign-in session only; grants are revoked explicitly.
    expiresWithSession: async () => false,
    clientBasedCORS: () => false,
    conformIdTokenClaims: false,
    ttl: {
      AccessToken: ACCESS_TOKEN_SECONDS,
      ClientCredentials: ACCESS_TOKEN_SECONDS,
      AuthorizationCode: CODE_SECONDS,
      RefreshToken: REFRESH_TOKEN_SECONDS,
      IdToken: ID_TOKEN_SECONDS,
      Interaction: INTERACTION_SECONDS,
      Grant: GRANT_SECONDS,
      Session: sessionMs(deps.config) / 1000,
    },
    cookies: {
      keys: [cookieKey(index_key)],
      names: {
        session: name("session"),
        interaction: name("interaction"),
        resume: name("resume"),
      },
      long: cookie,
      short: cookie,
    },
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      // Not supported: the API itself would have to check what these add to a token.
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      // This API is the only resource.
      resourceIndicators: { enabled: false },
      clientCredentials: { enabled: true },
      introspection: { enabled: true, allowedPolicy: isOwnToken },
      revocation: { enabled: true, allowedPolicy: isOwnToken },
    },
    interactions: { url: (_ctx, { uid }) => `${deps.public_url()}${CONSENT_PATH}/${uid}` },
    renderError: (ctx, out) => showOauthError(deps.mode, ctx, out),
    findAccount: async (_ctx, person_id) => {
      const person = await findPersonById(database, person_id);
      if (!person) return undefined;
      const email = () => openEmail(index_key, person.id, person.email);
      return { accountId: person.id, claims: async () => ({ sub: person.id, email: email() }) };
    },
    loadExistingGrant: async (ctx) => {
      const { result, session, client, params, provider } = ctx.oidc;
      const given_id = result?.consent?.grantId;
      if (given_id !== undefined) return provider.Grant.find(given_id);
      const [app_id, person_id] = [client!.clientId, session!.accountId!];
      const consent = { app_id, person_id, redirect_uri: String(params!.redirect_uri) };
      const last_id = session!.grantIdFor(app_id);
      const id = await findRememberedGrantId(database, consent, last_id, realTime(clock));
      return id === undefined ? undefined : provider.Grant.find(id);
    },
  };
}

/** Access tokens name the account of the consent, or of the application. */
function nameAccounts(provider: Provider, index_key: Buffer): void {
  nameBy(provider.AccessToken, index_key, ({ grantId }) => accountOfGrant(grantId!)!);
  nameBy(provider.ClientCredentials, index_key, ({ client }) => String(client![APP_ACCOUNT]));
}

function nameBy<Token>(
  { prototype }: { prototype: Token },
  index_key: Buffer,
  accountOf: (token: Token) => string,
): void {
  // Not among the library's types.
  const model = prototype as { generateTokenId(this: Token): string };
  const { generateTokenId } = model;
  model.generateTokenId = function () {
    // The library notes the format of the token with it.
    generateTokenId.call(this);
    return makeCredential(index_key, accountOf(this));
  };
}

/** An application may introspect and revoke its own tokens only. */
function isOwnToken(
  _ctx: KoaContextWithOIDC,
  client: { clientId: string },
  token: { clientId?: string | undefined },
): boolean {
  return token.clientId === client.clientId;
}

type Errors = typeof import("oidc-provider").errors;

/** The last check of an authorization request, after the library's own checks. */
function checkRequest(
  errors: Errors,
  { oidc, query }: KoaContextWithOIDC,
  audience: string | undefined,
): void {
  if (!isAudience(audience)) throw new errors.InvalidTarget(AUDIENCE_RULE);
  const { asked, unknown } = readScopes(typeof query.scope === "string" ? query.scope : "");
  if (asked.length === 0) throw new errors.InvalidScope("ask for at least one scope", "");
  if (unknown.length > 0) {
    throw new errors.InvalidScope("requested scope is not known", unknown.join(" "));
  }
  // The library drops this scope unless the consent page is shown again. The consent is already
  // recorded, so it is kept.
  if (asked.includes("offline_access")) oidc.params!.scope = [...new Set(asked)].join(" ");
}

/** Of so many applications a browser remembers which consent it used last. */
const REMEMBERED_MAX = 100;

/** The session is read and written at every request, and grows with each application. */
export function forgetFirst(session: { authorizations?: object }): void {
  const known = Object.entries(session.authorizations ?? {});
  if (known.length <= REMEMBERED_MAX) return;
  session.authorizations = Object.fromEntries(known.slice(-REMEMBERED_MAX));
}

/**
 * Keeps the library's session equal to ours: the person signed in on the pages is signed in here. A
 * leftover session of another person in the browser is not used.
 */
function followSignIn(provider: Provider, members: MembersByRequest): void {
  const { Session } = provider;
  const getStored = Session.get.bind(Session);
  Session.get = async (ctx) => {
    const member = members.get(ctx.req);
    const stored = await getStored(ctx);
    const login_ts = member && Math.floor(member.signed_in_at.getTime() / 1000);
    const is_theirs = stored.accountId === member?.person_id;
    forgetFirst(stored);
    if (is_theirs && stored.loginTs === login_ts) return stored;
    // A person who signs in again keeps their session; another person gets a new one.
    const session: Session & { touched?: boolean } = is_theirs ? stored : new Session();
    if (member) {
      session.loginAccount({ accountId: member.person_id, loginTs: login_ts });
      session.touched = true;
    }
    const { oidc } = ctx as unknown as KoaContextWithOIDC;
    oidc.entity("Session", session);
    return session;
  };
}

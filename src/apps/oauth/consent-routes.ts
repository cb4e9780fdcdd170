import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Provider } from "oidc-provider";
import {
  readField,
  requireConfirmed,
  requireSession,
  sendPage,
} from "../../accounts/page-scope.ts";
import { findAccountById, listMemberships } from "../../accounts/store.ts";
import type { App } from "../model.ts";
import { findAppByClientId } from "../store.ts";
import { consentPage, continuePage, expiredPage } from "./consent-pages.ts";
import { createGrant, lacksFactor } from "./create-grant.ts";
import { answerInteraction, findInteraction, type Interaction } from "./interaction.ts";
import { mayGrant } from "./model.ts";
import { CONSENT_PATH, type OauthDeps, ROUTES } from "./provider.ts";

const MEMBERSHIPS_MAX = 100;
const EXPIRED_STATUS = 410;

type Waiting = { provider: Provider; interaction: Interaction; app: App };

/** The pages where a person signs in for an application and grants it access to an account. */
export function addConsentPages(
  scope: FastifyInstance,
  deps: OauthDeps,
  openProvider: () => Promise<Provider>,
): void {
  const options = { onRequest: requireSession() };
  const path = `${CONSENT_PATH}/:uid`;
  // Whoever found a browser open must not give an application access that outlives the session.
  const confirmed = requireConfirmed(deps);

  scope.get(path, options, async (request, reply) => {
    const waiting = await findWaiting(deps, openProvider, request, reply);
    if (!waiting) return sendPage(reply, expiredPage(deps.mode), EXPIRED_STATUS);
    const { provider, interaction } = waiting;
    const member = request.member!;
    if (interaction.person_id !== undefined && interaction.person_id !== member.person_id) {
      return goOn(deps, reply, restartUrl(deps, interaction));
    }
    if (interaction.asks_for === "consent") {
      await confirmed(request, reply);
      return reply.sent ? reply : showConsent(deps, request, reply, waiting);
    }
    const signed_in_s = Math.floor(member.signed_in_at.getTime() / 1000);
    if (interaction.wants_new_sign_in && signed_in_s < interaction.began_s) {
      const next = encodeURIComponent(`${CONSENT_PATH}/${interaction.uid}`);
      return reply.redirect(`/sign-in?again=1&next=${next}`, 303);
    }
    const login = { accountId: member.person_id, ts: signed_in_s };
    return goOn(deps, reply, await answerInteraction(provider, request, reply, { login }));
  });

  scope.post(path, options, async (request, reply) => {
    const waiting = await findWaiting(deps, openProvider, request, reply);
    const member = request.member!;
    if (!waiting || waiting.interaction.person_id !== member.person_id) {
      return sendPage(reply, expiredPage(deps.mode), EXPIRED_STATUS);
    }
    const { provider, interaction, app } = waiting;
    if (readField(request, "decision") !== "allow") {
      const denied = { error: "access_denied", error_description: "the person denied the request" };
      return goOn(deps, reply, await answerInteraction(provider, request, reply, denied));
    }
    await confirmed(request, reply);
    if (reply.sent) return reply;
    const grantId = await createGrant(deps, provider, {
      app,
      person_id: member.person_id,
      has_factor: member.has_factor,
      account_id: readField(request, "account_id"),
      scopes: interaction.scopes,
      redirect_uri: interaction.params.redirect_uri!,
    });
    const consent = { consent: { grantId } };
    return goOn(deps, reply, await answerInteraction(provider, request, reply, consent));
  });
}

async function findWaiting(
  deps: OauthDeps,
  openProvider: () => Promise<Provider>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Waiting | null> {
  const provider = await openProvider();
  const interaction = await findInteraction(provider, request, reply);
  const app = interaction && (await findAppByClientId(deps.database, interaction.app_id));
  return app ? { provider, interaction, app } : null;
}

async function showConsent(
  deps: OauthDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  { interaction, app }: Waiting,
): Promise<FastifyReply> {
  const { database, mode } = deps;
  const session = request.member!;
  const { uid, scopes, params } = interaction;
  const [owner, memberships] = await Promise.all([
    findAccountById(database, app.account_id),
    listMemberships(database, session.person_id, MEMBERSHIPS_MAX),
  ]);
  const shown = consentPage({
    mode,
    session,
    path: `${CONSENT_PATH}/${uid}`,
    app: { name: app.name, owner: owner!.name },
    scopes,
    memberships: memberships.filter(
      ({ role }) => mayGrant(role, scopes) && !lacksFactor(deps.config, session, role),
    ),
    redirect_host: hostOf(params.redirect_uri!),
  });
  return sendPage(reply, shown);
}

/** For a native application the scheme is all that can be shown. */
function hostOf(redirect_uri: string): string {
  const { host, protocol } = new URL(redirect_uri);
  return host || protocol;
}

/** Repeats the authorization request for the person who has just signed in. */
function restartUrl(deps: OauthDeps, { params }: Interaction): string {
  const { prompt, ...others } = params;
  const prompts = (prompt ?? "").split(" ").filter((name) => name !== "" && name !== "login");
  const query = new URLSearchParams(others);
  if (prompts.length > 0) query.set("prompt", prompts.join(" "));
  return `${deps.public_url()}${ROUTES.authorization}?${query}`;
}

function goOn(deps: OauthDeps, reply: FastifyReply, url: string): FastifyReply {
  reply.header("Refresh", `0;url=${url}`);
  return sendPage(reply, continuePage(deps.mode, url));
}

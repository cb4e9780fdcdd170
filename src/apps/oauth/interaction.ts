import type { FastifyReply, FastifyRequest } from "fastify";
import type { InteractionResults, Provider } from "oidc-provider";
import { isScope, type Scope } from "./model.ts";

/** An authorization request that waits for a person's decision. */
export type Interaction = {
  uid: string;
  asks_for: "sign-in" | "consent";
  app_id: string;
  scopes: Scope[];
  /** The person who was signed in when it started. */
  person_id: string | undefined;
  /** True when the application requires a new sign-in. */
  wants_new_sign_in: boolean;
  /** Real time, in whole seconds. */
  began_s: number;
  params: Record<string, string>;
};

/** Null when it expired, was answered already, or belongs to another browser. */
export async function findInteraction(
  provider: Provider,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Interaction | null> {
  const details = await provider
    .interactionDetails(request.raw, reply.raw)
    .catch((error: { error?: string }) => {
      if (error.error === "invalid_request") return null;
      throw error;
    });
  if (!details || details.uid !== (request.params as { uid: string }).uid) return null;
  const params = details.params as Record<string, string>;
  return {
    uid: details.uid,
    asks_for: details.prompt.name === "login" ? "sign-in" : "consent",
    app_id: params.client_id!,
    scopes: (params.scope ?? "").split(" ").filter(isScope),
    person_id: details.session?.accountId,
    wants_new_sign_in: details.prompt.reasons.some((reason) => reason !== "no_session"),
    began_s: details.iat,
    params,
  };
}

/** Stores the person's answer; returns the URL where the request continues. */
export function answerInteraction(
  provider: Provider,
  request: FastifyRequest,
  reply: FastifyReply,
  result: InteractionResults,
): Promise<string> {
  return provider.interactionResult(request.raw, reply.raw, result);
}

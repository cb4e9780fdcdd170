import type { Static } from "typebox";
import { compileRender } from "../platform/http/render.ts";
import type { Revealed } from "./change-app.ts";
import { type Endpoint, missingSetup } from "./model.ts";
import { AppAnswer, AppListAnswer, type AppRecord, AppSecretAnswer } from "./schemas.ts";
import { standardForm } from "./webhook-secrets.ts";

const writeApp = compileRender(AppAnswer);
const writeAppSecret = compileRender(AppSecretAnswer);
const writeApps = compileRender(AppListAnswer);

/** An application after its creation or a change, with the secrets that this generated. */
export type AppOutcome = { endpoint: Endpoint; header_names: string[]; revealed: Revealed };

export function renderOutcome(outcome: AppOutcome): string {
  return writeAppSecret(toDocument(outcome));
}

/** A webhook secret also in the form of Standard Webhooks libraries. */
export function toDocument({ endpoint, header_names, revealed }: AppOutcome) {
  const { webhook_secret } = revealed;
  const standard = webhook_secret && { webhook_secret_standard: standardForm(webhook_secret) };
  return { app: toAppRecord(endpoint, header_names), ...revealed, ...standard };
}

export function renderApp(endpoint: Endpoint, header_names: string[]): string {
  return writeApp({ app: toAppRecord(endpoint, header_names) });
}

export function renderApps(
  endpoints: readonly Endpoint[],
  headerNames: (endpoint: Endpoint) => string[],
  has_more: boolean,
): string {
  const apps = endpoints.map((one) => toAppRecord(one, headerNames(one)));
  return writeApps({ apps, has_more });
}

/** Applies a rotation whose time has come, which is stored only with the next change. */
export function asOf(endpoint: Endpoint, now: Date): Endpoint {
  const switch_at = endpoint.webhook_secret_switch_at;
  return switch_at && switch_at <= now ? { ...endpoint, webhook_secret_switch_at: null } : endpoint;
}

export function toAppRecord(endpoint: Endpoint, header_names: string[]): Static<typeof AppRecord> {
  const missing = missingSetup(endpoint);
  const state = missing ? "incomplete" : endpoint.webhook_state;
  return {
    id: endpoint.id,
    client_id: endpoint.id,
    client_secret_last_four: endpoint.client_secret_last_four,
    name: endpoint.name,
    flow: endpoint.flow,
    redirect_uris: endpoint.redirect_uris,
    used_at: endpoint.used_at?.toISOString() ?? null,
    webhook: {
      url: endpoint.webhook_url,
      state: endpoint.webhooks_enabled_at === null ? "not_enabled" : state,
      reason: missing ?? endpoint.webhook_state_reason,
      has_secret: endpoint.webhook_secret !== null,
      secret_switch_at: endpoint.webhook_secret_switch_at?.toISOString() ?? null,
      headers: header_names,
      events: endpoint.events,
      is_ordered: endpoint.is_ordered,
      failing_since: endpoint.failing_since?.toISOString() ?? null,
      circuit_until: endpoint.circuit_until?.toISOString() ?? null,
    },
    created_at: endpoint.created_at.toISOString(),
    updated_at: endpoint.updated_at.toISOString(),
  };
}

import { type App, type Endpoint, missingSetup } from "../apps/model.ts";
import type { EventRow } from "../events/store.ts";
import type { Problem } from "../platform/errors.ts";

/** An account's consent to an application. */
export type AudienceConsent = { account_id: string; app_id: string };

/** Why events cannot be sent to an application again; for a paused one they are kept. */
export function resendProblem(endpoint: Endpoint): Problem | null {
  const is_disabled = endpoint.webhook_state === "disabled";
  const message =
    missingSetup(endpoint) ?? (is_disabled ? "The endpoint is disabled; resume it first." : null);
  return message === null ? null : { field: "app_id", code: "invalid_transition", message };
}

/**
 * Decides which applications are notified of an event. Invoice events, by the interface's rules:
 *
 * 1. an application not yet used: every invoice of its own account;
 * 2. one that reads users' data (authorization code): every invoice of the accounts whose members
 *    authorised it;
 * 3. one that sends invoices (client credentials): the invoices it created.
 *
 * Ramp events are sent to the account's applications that subscribed to them. Events from before
 * an application was created are not sent to it.
 */
export function isNotified(
  app: App,
  event: Pick<
    EventRow,
    | "account_id"
    | "name"
    | "change_id"
    | "role"
    | "app_id"
    | "counterpart_account_id"
    | "created_at"
  >,
  consents: readonly AudienceConsent[],
): boolean {
  if (event.created_at < app.created_at) return false;
  const is_own = app.account_id === event.account_id;
  if (event.change_id === null) {
    return is_own && (app.events as readonly string[]).includes(event.name);
  }
  if (app.used_at === null) return is_own;
  if (app.flow === "client_credentials") return is_own && event.app_id === app.id;
  const consented = (account_id: string | null) =>
    consents.some((one) => one.account_id === account_id && one.app_id === app.id);
  if (!consented(event.account_id)) return false;
  // Authorised on both sides of the invoice: notified once, as the seller.
  return event.role === "seller" || !consented(event.counterpart_account_id);
}

import { APP_FLOWS, type AppFlow, RAMP_EVENTS, type RampEvent } from "../app-model.ts";
import type { Mode } from "../model.ts";

/** What the form for a new application holds, as it was sent. */
export type AppForm = {
  name: string;
  flow: string;
  redirect_uris: string;
  webhook_url: string;
  webhook_secret: string;
  events: readonly string[];
};

export type CheckedApp = {
  name: string;
  flow: AppFlow;
  redirect_uris: string[];
  webhook_url: string | null;
  webhook_secret: string | null;
  events: RampEvent[];
};

export const EMPTY_FORM: AppForm = {
  name: "",
  flow: "authorization_code",
  redirect_uris: "",
  webhook_url: "",
  webhook_secret: "",
  events: [],
};

const NAME_LENGTH_MAX = 100;
const URL_LENGTH_MAX = 2048;
const REDIRECT_URIS_MAX = 10;
const SECRET = /^[\x21-\x7e]{16,255}$/;
const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])$/;

/** All problems at once, each a sentence that names its field. */
export function checkNewApp(
  form: AppForm,
  mode: Mode,
): { app: CheckedApp } | { problems: string[] } {
  const problems: string[] = [];
  const name = form.name.trim();
  if (name === "" || name.length > NAME_LENGTH_MAX || /\p{Cc}/u.test(name)) {
    problems.push(`Name: give 1 to ${NAME_LENGTH_MAX} characters.`);
  }
  const flow = APP_FLOWS.find((known) => known === form.flow);
  if (!flow) problems.push("Flow: choose one of the two.");
  const redirect_uris = form.redirect_uris.split(/\s+/).filter(Boolean);
  if (flow === "authorization_code") problems.push(...checkRedirects(redirect_uris));
  const webhook_url = form.webhook_url.trim() || null;
  if (webhook_url !== null && !isWebAddress(webhook_url, mode === "sandbox")) {
    problems.push(`Webhook URL: give an ${mode === "sandbox" ? "http or " : ""}https address.`);
  }
  const webhook_secret = form.webhook_secret.trim() || null;
  if (webhook_secret !== null && !SECRET.test(webhook_secret)) {
    problems.push("Webhook secret: give 16 to 255 characters without spaces, or leave it empty.");
  }
  const events = RAMP_EVENTS.filter((known) => form.events.includes(known));
  if (problems.length > 0 || !flow) return { problems };
  const kept_uris = flow === "authorization_code" ? redirect_uris : [];
  return { app: { name, flow, redirect_uris: kept_uris, webhook_url, webhook_secret, events } };
}

function checkRedirects(uris: readonly string[]): string[] {
  if (uris.length === 0) return ["Redirect addresses: give at least one."];
  if (uris.length > REDIRECT_URIS_MAX) {
    return [`Redirect addresses: give at most ${REDIRECT_URIS_MAX}.`];
  }
  return uris
    .filter((uri) => uri.includes("#") || !isWebAddress(uri, isLoopback(uri)))
    .map((uri) => `Redirect addresses: ${uri} must be https, or http on localhost; no fragment.`);
}

function isLoopback(text: string): boolean {
  return LOOPBACK.test(URL.parse(text)?.hostname ?? "");
}

function isWebAddress(text: string, allow_http: boolean): boolean {
  const url = URL.parse(text);
  if (!url || text.length > URL_LENGTH_MAX || url.username || url.password) return false;
  return url.protocol === "https:" || (allow_http && url.protocol === "http:");
}

import type { Static } from "typebox";
import {
  CONTROLS,
  hasControlCharacters,
  INVISIBLE,
  isVisible,
  textOf,
  whyUrlChanges,
} from "../catalogue/text.ts";
import { RAMP_EVENTS, type RampEvent } from "../events/model.ts";
import type { Mode } from "../platform/config/config.ts";
import type { ErrorCode, Problem } from "../platform/errors.ts";
import type { Sound } from "../platform/http/sound.ts";
import { Problems, quoted } from "../platform/problems.ts";
import { APP_FLOWS, type AppFlow, REDIRECTS_MAX } from "./model.ts";
import { findBadRedirect } from "./redirect-uris.ts";
import type { CreateAppBody } from "./schemas.ts";
import { isWebhookSecret, SECRET_MESSAGE } from "./webhook-secrets.ts";

/** The fields of an application that a caller may send; a change may leave out the name. */
type AppInput = Sound<Omit<Static<typeof CreateAppBody>["app"], "name">> & { name?: string | null };

export type CheckedApp = {
  name?: string;
  flow?: AppFlow;
  redirect_uris?: string[];
  webhook_url?: string | null;
  webhook_secret?: string | null;
  webhook_headers?: Record<string, string>;
  events?: RampEvent[];
  is_ordered?: boolean;
};

export type AppRules = {
  mode: Mode;
  /** Why the guarded HTTP client would refuse this URL; null when it would not. */
  refuseUrl: (url: string) => string | null;
};

const NAME_MAX = 100;
const URL_MAX = 2048;
const HEADERS_MAX = 20;
const HEADER_VALUE_MAX = 1_000;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
const HEADER_VALUE = /^[\x20-\x7e]*$/;
/** Headers that the sender sets, or that control the connection. */
const HEADERS_DENIED = [
  /^(accept-encoding|connection|content-.*|cookie|expect|host|keep-alive|proxy-.*)$/i,
  /^(te|trailer|transfer-encoding|upgrade|user-agent|via|x-forwarded-.*)$/i,
  /^(x-)?webhook-.*$/i,
  /^(__proto__|date|forwarded|set-cookie|x-real-ip)$/i,
];

/** All problems of the input, each naming its field. */
export function checkApp(
  input: AppInput,
  rules: AppRules,
  prefix: string,
  already: readonly Problem[] = [],
): { fields: CheckedApp; problems: readonly Problem[] } {
  const problems = new Problems(already);
  const report = (name: string, message: string, code: ErrorCode = "record_invalid") =>
    problems.report(`${prefix}${name}`, code, message);
  const fields: CheckedApp = {};
  if (input.name != null) {
    fields.name = input.name.trim();
    if (fields.name === "") report("name", "Send a name.", "parameter_missing");
    else if (!isVisible(fields.name)) report("name", INVISIBLE);
    else if (hasControlCharacters(fields.name)) report("name", CONTROLS);
    else if (fields.name.length > NAME_MAX) {
      report("name", `Send at most ${NAME_MAX} characters.`, "value_too_long");
    }
  }
  if (input.flow != null) {
    const flow = APP_FLOWS.find((known) => known === input.flow);
    if (flow) fields.flow = flow;
    else report("flow", `Send one of ${APP_FLOWS.join(", ")}.`);
  }
  const uris = input.redirect_uris;
  if (uris?.every((uri) => uri !== undefined)) {
    fields.redirect_uris = [...uris];
    if (uris.length > REDIRECTS_MAX) {
      report("redirect_uris", `Send at most ${REDIRECTS_MAX} URLs.`);
    } else {
      const bad = findBadRedirect(uris, rules.mode);
      if (bad) report(`redirect_uris[${bad.index}]`, bad.message);
    }
  }
  if (input.webhook_url !== undefined) {
    fields.webhook_url = input.webhook_url;
    const why = input.webhook_url === null ? null : refuseWebhookUrl(input.webhook_url, rules);
    if (why) report("webhook_url", why);
  }
  if (input.webhook_secret != null) {
    fields.webhook_secret = input.webhook_secret;
    if (!isWebhookSecret(input.webhook_secret)) report("webhook_secret", SECRET_MESSAGE);
  }
  if (input.webhook_headers !== undefined) {
    fields.webhook_headers = checkHeaders(input.webhook_headers ?? {}, report);
  }
  if (input.events?.every((name) => name !== undefined)) {
    fields.events = [...new Set(input.events)].flatMap((name) => {
      const event = RAMP_EVENTS.find((known) => known === name);
      if (!event) report("events", `${show(name)} is not one of ${RAMP_EVENTS.join(", ")}.`);
      return event ?? [];
    });
  }
  if (input.is_ordered != null) fields.is_ordered = input.is_ordered;
  return { fields, problems: problems.list };
}

function refuseWebhookUrl(text: string, { mode, refuseUrl }: AppRules): string | null {
  const allow_http = mode === "sandbox";
  const why = whyUrlChanges(text);
  if (why) return why;
  // Parsing removes it silently too: the stored URL would differ from the called one.
  if (text.includes("#"))
    return "Remove the # and everything after it; it is never sent to a server.";
  const url = URL.parse(text);
  const is_allowed = url?.protocol === "https:" || (allow_http && url?.protocol === "http:");
  if (!is_allowed || text.length > URL_MAX) {
    const schemes = allow_http ? "http or https" : "https";
    return `Send an ${schemes} URL of at most ${URL_MAX} characters.`;
  }
  return refuseUrl(text);
}

function checkHeaders(
  headers: Readonly<Record<string, unknown>>,
  report: (name: string, message: string) => void,
): Record<string, string> {
  const entries = Object.entries(headers);
  if (entries.length > HEADERS_MAX) {
    report("webhook_headers", `Send at most ${HEADERS_MAX} headers.`);
    return {};
  }
  const seen = new Set<string>();
  for (const [name, value] of entries) {
    const field = `webhook_headers.${name}`;
    if (!HEADER_NAME.test(name)) report(field, `${show(name)} is not a valid header name.`);
    else if (isDenied(name)) report(field, `Sliproad sets ${name} itself: remove it.`);
    else if (seen.has(folded(name))) report(field, `${name} is listed twice: remove one.`);
    else if (!isHeaderValue(value)) {
      const limit = `of at most ${HEADER_VALUE_MAX} printable ASCII characters`;
      report(field, `Send a string ${limit} for ${name}.`);
    }
    seen.add(folded(name));
  }
  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), textOf(value)]));
}

function isHeaderValue(value: unknown): boolean {
  return typeof value === "string" && value.length <= HEADER_VALUE_MAX && HEADER_VALUE.test(value);
}

function isDenied(name: string): boolean {
  return HEADERS_DENIED.some((denied) => denied.test(name) || denied.test(folded(name)));
}

/** Many servers read `_` as `-`: two such names would arrive as one. */
function folded(name: string): string {
  return name.toLowerCase().replaceAll("_", "-");
}

function show(name: string): string {
  return JSON.stringify(quoted(name.slice(0, 40)));
}

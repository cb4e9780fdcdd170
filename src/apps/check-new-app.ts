import { type AppRules, type CheckedApp, checkApp } from "./check-app.ts";
import type { AppFlow } from "./model.ts";

/** The form for a new application, as submitted. */
export type AppForm = {
  name: string;
  flow: string;
  redirect_uris: string;
  webhook_url: string;
  webhook_secret: string;
  events: readonly string[];
};

export const EMPTY_FORM: AppForm = {
  name: "",
  flow: "authorization_code" satisfies AppFlow,
  redirect_uris: "",
  webhook_url: "",
  webhook_secret: "",
  events: [],
};

const LABELS: Record<string, string> = {
  name: "Name",
  flow: "Flow",
  redirect_uris: "Redirect URLs",
  webhook_url: "Webhook URL",
  webhook_secret: "Webhook secret",
  events: "Events",
};

/** Applies the rules of the API; each problem names the field as the form labels it. */
export function checkNewApp(
  form: AppForm,
  rules: AppRules,
): { app: Required<Omit<CheckedApp, "webhook_headers" | "is_ordered">> } | { problems: string[] } {
  const is_for_people = form.flow !== "client_credentials";
  const redirect_uris = is_for_people ? form.redirect_uris.split(/\s+/).filter(Boolean) : [];
  const webhook_url = form.webhook_url.trim() || null;
  const webhook_secret = form.webhook_secret.trim() || null;
  const { name, flow } = form;
  const input = {
    name,
    flow,
    redirect_uris,
    webhook_url,
    webhook_secret,
    events: [...form.events],
  };
  const { fields, problems } = checkApp(input, rules, "");
  const sentences = problems.map(({ field, message }) => {
    const [, label = field, at] = /^(\w+)(?:\[(\d+)\])?$/.exec(field) ?? [];
    const value = at === undefined ? "" : ` (${redirect_uris[Number(at)]})`;
    return `${LABELS[label] ?? label}${value}: ${message}`;
  });
  if (is_for_people && redirect_uris.length === 0) {
    sentences.push(`${LABELS.redirect_uris}: Add at least one.`);
  }
  if (sentences.length > 0) return { problems: sentences };
  const { name: checked_name, flow: checked_flow, events } = fields;
  return {
    app: {
      name: checked_name!,
      flow: checked_flow!,
      redirect_uris,
      webhook_url,
      webhook_secret,
      events: events!,
    },
  };
}

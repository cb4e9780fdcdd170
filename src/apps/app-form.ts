import { type AppRules, type CheckedApp, checkApp } from "./check-app.ts";

const LABELS = {
  name: "Name",
  flow: "Flow",
  redirect_uris: "Redirect URLs",
  webhook_url: "Webhook URL",
  webhook_secret: "Webhook secret",
};

/** The form for a new application, as submitted. */
export type AppForm = Record<keyof typeof LABELS, string> & { events: readonly string[] };

/** Applies the rules of the API; each problem names the field as the form labels it. */
export function checkAppForm(
  form: AppForm,
  rules: AppRules,
): { fields: CheckedApp; problems: string[] } {
  const is_for_people = form.flow !== "client_credentials";
  const redirect_uris = is_for_people ? form.redirect_uris.split(/\s+/).filter(Boolean) : [];
  const webhook_url = form.webhook_url.trim() || null;
  const webhook_secret = form.webhook_secret.trim() || null;
  const input = { ...form, redirect_uris, webhook_url, webhook_secret };
  const { fields, problems } = checkApp(input, rules, "");
  const labels: Record<string, string> = { ...LABELS, events: "Events" };
  const sentences = problems.map(({ field, message }) => {
    const [, name = field, at] = /^(\w+)(?:\[(\d+)\])?$/.exec(field) ?? [];
    const value = at === undefined ? "" : ` (${redirect_uris[Number(at)]})`;
    return `${labels[name] ?? name}${value}: ${message}`;
  });
  if (is_for_people && redirect_uris.length === 0) {
    sentences.push(`${LABELS.redirect_uris}: Add at least one.`);
  }
  return { fields, problems: sentences };
}

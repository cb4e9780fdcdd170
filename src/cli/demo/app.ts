import type { App, Sliproad } from "../../../sdk/src/index.ts";
import { type DemoReceiver, isDemoReceiver } from "./receiver.ts";

/** What the demo's application is called, by which the next one finds it. */
const APP_NAME = "sliproad demo";
/** Another address is not a demo's, whatever its application is called. */
const RECEIVER_URL = /^http:\/\/127\.0\.0\.1:\d+\/hook$/;

/**
 * One that an earlier demo has left. One with an address belongs to a demo that runs now, or was
 * killed: of those one is used again and the others go.
 */
async function findIdleApp(sliproad: Sliproad): Promise<string | null> {
  let idle: string | null = null;
  for await (const { id, name, webhook } of sliproad.apps.list()) {
    if (name !== APP_NAME) continue;
    const is_left = RECEIVER_URL.test(webhook.url ?? "") && !(await isDemoReceiver(webhook.url!));
    if (idle !== null && is_left) await sliproad.apps.delete(id);
    else if (webhook.url === null || is_left) idle ??= id;
  }
  return idle;
}

/**
 * The secret is known before the address is: what an interrupted demo has left to be sent comes as
 * soon as there is one.
 */
export async function openApp(
  sliproad: Sliproad,
  { url, expectSecret }: Pick<DemoReceiver, "url" | "expectSecret">,
): Promise<App> {
  const idle = await findIdleApp(sliproad);
  const id = idle ?? (await sliproad.apps.create({ name: APP_NAME })).app.id;
  const { webhook_secret } = await sliproad.apps.rotateWebhookSecret(id, { grace_hours: 0 });
  expectSecret(webhook_secret!);
  const settings = { webhook_url: url, events: ["offramp_update" as const] };
  const { app } = await sliproad.apps.update(id, settings);
  return idle === null ? app : sliproad.apps.resume(id);
}

/** The next demo uses it again; until then nothing is sent to an address that nobody answers. */
export function quietApp(sliproad: Sliproad, app_id: string): Promise<unknown> {
  return sliproad.apps.update(app_id, { webhook_url: null, events: [] }, { retries_max: 0 });
}

/** When it is interrupted, which may be before the id of the application was answered. */
export async function quietAppsAt(sliproad: Sliproad, url: string): Promise<void> {
  for await (const app of sliproad.apps.list()) {
    if (app.webhook.url === url) await quietApp(sliproad, app.id);
  }
}

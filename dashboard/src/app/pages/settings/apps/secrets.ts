import type { AppWithSecrets } from "@sliproad/sdk";
import type { Secret } from "../../../parts/secret-dialog.tsx";

/** The secrets that an answer shows this one time, beside the id that belongs to them. */
export function secretsOf(made: AppWithSecrets): Secret[] {
  const { app, client_secret, webhook_secret, webhook_secret_standard } = made;
  const isSame = webhook_secret === webhook_secret_standard;
  return [
    ...(client_secret ? [{ name: "Client ID", value: app.client_id }] : []),
    ...(client_secret ? [{ name: "Client secret", value: client_secret }] : []),
    ...(webhook_secret ? [{ name: "Webhook secret", value: webhook_secret }] : []),
    ...(webhook_secret_standard && !isSame
      ? [{ name: "Webhook secret for Standard Webhooks", value: webhook_secret_standard }]
      : []),
  ];
}

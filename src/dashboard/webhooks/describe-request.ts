import { createHmac } from "node:crypto";
import { type Endpoint, headerNamesOf, openForApp } from "../../apps/model.ts";
import { USER_AGENT } from "../../webhooks/delivery/request.ts";
import { readSecret } from "../../webhooks/delivery/sign.ts";
import type { Delivery } from "../../webhooks/delivery/store.ts";

type ShownRequest = {
  method: "POST";
  url: string | null;
  headers: { name: string; value: string | null; note: string | null }[];
  /** Null once its retention has ended, or its person was erased. */
  body: string | null;
};

const EACH_TIME = "New with each attempt.";
const CURRENT_SECRET = "As the current secret makes it.";

/** The request of a delivery as the endpoint receives it, without what only its owner knows. */
export function describeRequest(
  endpoint: Endpoint,
  account_key: Buffer,
  delivery: Delivery,
  body: string | null,
): ShownRequest {
  const custom = headerNamesOf(account_key, endpoint);
  return {
    method: "POST",
    url: endpoint.webhook_url,
    headers: [
      { name: "content-type", value: "application/json", note: null },
      { name: "user-agent", value: USER_AGENT, note: null },
      signatureOf(endpoint, account_key, body),
      { name: "webhook-id", value: delivery.event_id, note: null },
      { name: "webhook-timestamp", value: null, note: EACH_TIME },
      { name: "webhook-signature", value: null, note: EACH_TIME },
      { name: "x-webhook-sequence", value: String(delivery.sequence), note: null },
      { name: "traceparent", value: null, note: EACH_TIME },
      ...custom.map((name) => ({ name, value: null, note: "Set by you, not shown." })),
    ],
    body,
  };
}

/** Of the text alone, so that a receiver's own digest can be compared with it. */
function signatureOf(endpoint: Endpoint, account_key: Buffer, body: string | null) {
  const name = "x-webhook-signature";
  if (endpoint.webhook_secret === null || body === null) return { name, value: null, note: null };
  const text = openForApp(account_key, endpoint, "webhook_secret", endpoint.webhook_secret);
  const value = createHmac("sha256", readSecret(text).own_key).update(body).digest("hex");
  return { name, value, note: CURRENT_SECRET };
}

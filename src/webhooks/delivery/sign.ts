import { createHmac, createSecretKey, type KeyObject } from "node:crypto";
import type { App } from "../../apps/model.ts";
import { standardBytes } from "../../apps/webhook-secrets.ts";

/** The current secrets: the interface's header uses the first, Standard Webhooks' header all. */
type SigningSecrets = { current: SigningSecret; next: SigningSecret | null };
export type SigningSecret = { own_key: KeyObject; standard_key: KeyObject };

/** The headers that authenticate a request; the signature covers the exact bytes of the body. */
export function signatureHeaders(
  { current, next }: SigningSecrets,
  message: { id: string; timestamp_s: number; body: Buffer },
): Record<string, string> {
  const { id, timestamp_s, body } = message;
  const head = `${id}.${timestamp_s}.`;
  const standard = ({ standard_key }: SigningSecret) =>
    `v1,${createHmac("sha256", standard_key).update(head).update(body).digest("base64")}`;
  return {
    "x-webhook-signature": createHmac("sha256", current.own_key).update(body).digest("hex"),
    "webhook-id": id,
    "webhook-timestamp": String(timestamp_s),
    "webhook-signature": next ? `${standard(current)} ${standard(next)}` : standard(current),
  };
}

/**
 * A secret as both schemes need it. The interface uses the text itself as the key; Standard
 * Webhooks uses the decoded base64 after `whsec_`. A secret in any other format is its own bytes in
 * both.
 */
export function readSecret(text: string): SigningSecret {
  return {
    own_key: createSecretKey(Buffer.from(text)),
    standard_key: createSecretKey(standardBytes(text)),
  };
}

/**
 * During a rotation the interface's header, which has one digest, keeps the old secret until the
 * switch, while Standard Webhooks' header contains both; afterwards only the new one signs.
 */
export function secretsAt(
  secrets: SigningSecrets & { switch_at: App["webhook_secret_switch_at"] },
  now: Date,
): SigningSecrets {
  const { current, next, switch_at } = secrets;
  if (next === null || switch_at === null) return { current, next: null };
  return switch_at <= now ? { current: next, next: null } : { current, next };
}

import { createHmac, createSecretKey, type KeyObject } from "node:crypto";
import type { App } from "../access/app-model.ts";
import { LruMap } from "../platform/lru-map.ts";

const PREFIX = "whsec_";
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** A key is made once a secret, not once a delivery. */
const secrets = new LruMap<string, SigningSecret>(1_000);

/** The secrets that sign now: the first alone in the interface's header, all in Standard's. */
export type SigningSecrets = { current: SigningSecret; next: SigningSecret | null };
export type SigningSecret = { own_key: KeyObject; standard_key: KeyObject };

/** The headers that prove where a request comes from; the body is signed as the bytes it is. */
export function signatureHeaders(
  { current, next }: SigningSecrets,
  message: { id: string; timestamp_s: number; body: Buffer },
): Record<string, string> {
  const { id, timestamp_s, body } = message;
  const head = `${id}.${timestamp_s}.`;
  const own = `v1,${hmac(current.standard_key, head, body, "base64")}`;
  return {
    "x-webhook-signature": hmac(current.own_key, "", body, "hex"),
    "webhook-id": id,
    "webhook-timestamp": String(timestamp_s),
    "webhook-signature": next ? `${own} v1,${hmac(next.standard_key, head, body, "base64")}` : own,
  };
}

/**
 * A secret as both schemes need it. The interface's key is the text itself; Standard Webhooks'
 * is what the base64 after `whsec_` stands for. A secret that somebody chose without that form is
 * its own bytes in both.
 */
export function readSecret(text: string): SigningSecret {
  const known = secrets.get(text);
  if (known) return known;
  const encoded = text.startsWith(PREFIX) ? text.slice(PREFIX.length) : "";
  const is_standard = encoded !== "" && BASE64.test(encoded);
  const own_key = createSecretKey(text, "utf8");
  const standard_key = is_standard ? createSecretKey(encoded, "base64") : own_key;
  const secret = { own_key, standard_key };
  secrets.set(text, secret);
  return secret;
}

/** What to give to a Standard Webhooks library, whatever the form of the secret. */
export function standardForm(text: string): string {
  return `${PREFIX}${readSecret(text).standard_key.export().toString("base64")}`;
}

/**
 * During a rotation the interface's header, which holds one digest, keeps the old secret until
 * the switch, while Standard's carries both; afterwards the new one signs alone.
 */
export function secretsAt(
  secrets: { current: string; next: string | null; switch_at: App["webhook_secret_switch_at"] },
  now: Date,
): SigningSecrets {
  const { current, next, switch_at } = secrets;
  if (next === null || switch_at === null) return { current: readSecret(current), next: null };
  if (switch_at <= now) return { current: readSecret(next), next: null };
  return { current: readSecret(current), next: readSecret(next) };
}

function hmac(key: KeyObject, head: string, body: Buffer, encoding: "hex" | "base64") {
  const signing = createHmac("sha256", key);
  if (head !== "") signing.update(head);
  return signing.update(body).digest(encoding);
}

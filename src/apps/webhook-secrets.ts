import { randomBytes } from "node:crypto";

const RANDOM_BYTES = 32;
const PREFIX = "whsec_";
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const SECRET = /^[\x21-\x7e]{12,200}$/;
export const SECRET_MESSAGE = "Send 12 to 200 printable characters without spaces.";

export function isWebhookSecret(text: string): boolean {
  return SECRET.test(text);
}

/** The Standard Webhooks format: the text after `whsec_` is the base64 of the key. */
export function makeWebhookSecret(): string {
  return `${PREFIX}${randomBytes(RANDOM_BYTES).toString("base64")}`;
}

/** The secret in the form that Standard Webhooks libraries accept. */
export function standardForm(text: string): string {
  return `${PREFIX}${standardBytes(text).toString("base64")}`;
}

/** The key that Standard Webhooks libraries use; a secret in any other format is its own bytes. */
export function standardBytes(text: string): Buffer {
  const encoded = text.startsWith(PREFIX) ? text.slice(PREFIX.length) : "";
  const is_standard = encoded !== "" && BASE64.test(encoded);
  return Buffer.from(is_standard ? encoded : text, is_standard ? "base64" : "utf8");
}

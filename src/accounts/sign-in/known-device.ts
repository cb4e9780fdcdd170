import { DAY_MS } from "../../platform/durations.ts";
import { keyedHash } from "../../platform/encryption/cipher.ts";
import { makeDeviceName } from "../../platform/named-credentials.ts";
import { hashEmail } from "../person-email.ts";
import { isSameToken, makeToken } from "./sessions.ts";

/**
 * A browser in which a person has signed in, or has set a password by a link, keeps a cookie. Its
 * wrong attempts are counted apart from those of everybody else, so that a stranger who guesses
 * passwords cannot lock the person out. The cookie replaces neither password nor second factor.
 */
export const KNOWN_DEVICE_MS = 90 * DAY_MS;
const FORM = /^(\d{13})\.([A-Za-z0-9_-]{43,76})\.([A-Za-z0-9_-]{43})$/;

/** With an account it names it (decision 44). */
export function makeDeviceToken(
  index_key: Buffer,
  email: string,
  account_id: string | undefined,
  now: Date,
): string {
  const random = account_id === undefined ? makeToken() : makeDeviceName(index_key, account_id);
  const text = `${now.getTime()}.${random}`;
  return `${text}.${macOf(index_key, email, text)}`;
}

/** Identifies the device; null if the cookie is not ours, is of another person, or too old. */
export function readDevice(
  index_key: Buffer,
  email: string,
  token: string | undefined,
  now: Date,
): string | null {
  const match = FORM.exec(token ?? "");
  if (!match) return null;
  const [, issued_ms, random, mac] = match;
  const text = `${issued_ms}.${random}`;
  if (!isSameToken(macOf(index_key, email, text), mac)) return null;
  return now.getTime() - Number(issued_ms) < KNOWN_DEVICE_MS ? random! : null;
}

function macOf(index_key: Buffer, email: string, text: string): string {
  return keyedHash(index_key, "known device", hashEmail(index_key, email), text).toString(
    "base64url",
  );
}

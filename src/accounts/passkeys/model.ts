import { isIP } from "node:net";
import type { Problem } from "../../platform/errors.ts";

/** Enough for all devices of a person; the limit keeps lists and requests small. */
export const PASSKEYS_MAX = 20;
export const PASSKEY_NAME_LENGTH_MAX = 60;

/** The site that the browser binds passkeys to. */
export type PasskeySite = { rp_id: string; origin: string };

/**
 * Browsers offer passkeys to domains over https, and to localhost; an IP address cannot have any.
 * Null where there are none.
 */
export function passkeySite(public_url: string): PasskeySite | null {
  const url = URL.parse(public_url);
  if (!url) return null;
  const { hostname, origin, protocol } = url;
  const is_address = isIP(hostname) !== 0 || hostname.startsWith("[");
  const is_local = hostname === "localhost" || hostname.endsWith(".localhost");
  const has_passkeys = !is_address && (protocol === "https:" || is_local);
  return has_passkeys ? { rp_id: hostname, origin } : null;
}

/**
 * The counter of an authenticator grows with each signature; many have none and always send 0. One
 * that does not grow means that two devices use the same key: one of them is a copy.
 */
export function isCountAccepted(stored: bigint, given: bigint): boolean {
  return given > stored || (given === 0n && stored === 0n);
}

export function checkPasskeyName(name: string): Problem[] {
  const length = [...name].length;
  if (length > 0 && length <= PASSKEY_NAME_LENGTH_MAX && !/\p{Cc}/u.test(name)) return [];
  const message = `Choose a name of 1 to ${PASSKEY_NAME_LENGTH_MAX} characters.`;
  return [{ field: "name", code: "record_invalid", message }];
}

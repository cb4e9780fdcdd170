import type { Mode } from "../platform/config/config.ts";

const URL_MAX = 2048;
const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])$/;
/** Schemes that a browser or the device itself acts upon. */
const SCHEMES_DENIED = new RegExp(
  "^(about|blob|data|file|filesystem|ftp|intent|jar|javascript|mailto|sms|tel|vbscript|" +
    "view-source|ws|wss):$",
);

/**
 * Programs on a person's device are called back by a scheme of their own. Where they also listen on
 * the device, the port is free (RFC 8252, 7.3); addresses of the web match character by character.
 */
export function applicationType(uris: readonly string[]): "web" | "native" {
  return uris.every((uri) => /^https?:/i.test(uri)) ? "web" : "native";
}

/**
 * The first address that cannot be called back, and why. What passes here passes the OAuth
 * library's own rules too, which depend on whether all addresses are of the web.
 */
export function findBadRedirect(
  uris: readonly string[],
  mode: Mode,
): { index: number; message: string } | null {
  const type = applicationType(uris);
  for (const [index, uri] of uris.entries()) {
    const message = faultOf(uri, type, mode);
    if (message) return { index, message };
  }
  return null;
}

function faultOf(uri: string, type: "web" | "native", mode: Mode): string | null {
  if (uri.length > URL_MAX) return `Send at most ${URL_MAX} characters.`;
  // Neither could ever match.
  if (/\s/.test(uri)) return "Remove the spaces.";
  // Browsers read it as /, others do not: they would disagree on where the host ends.
  if (uri.includes("\\")) return "Remove the \\.";
  if (uri.includes("*")) return "Send each URL in full; wildcards (*) are not supported.";
  const url = URL.parse(uri);
  // Browsers fix a missing //, the OAuth library compares by character: they would not agree.
  const lacks_slashes = /^https?:(?!\/\/)/i.test(uri);
  if (!url || lacks_slashes) {
    return "Send an absolute URL such as https://example.com/callback.";
  }
  if (uri.includes("#")) return "Remove the # and everything after it.";
  if (url.username || url.password) return "Remove the user name and password.";
  const is_loopback = LOOPBACK.test(url.hostname);
  if (url.protocol === "http:") {
    // Plain http would show codes to the network.
    if (is_loopback || (mode === "sandbox" && type === "web")) return null;
    return "Use https; http is allowed only for loopback (localhost, 127.0.0.1, [::1]).";
  }
  if (url.protocol === "https:") {
    if (type === "web" || !is_loopback) return null;
    return "With a custom scheme, use http for loopback URLs, not https.";
  }
  return SCHEMES_DENIED.test(url.protocol)
    ? "Use https, http on loopback, or a custom scheme."
    : null;
}

import type { Mode } from "../platform/config/config.ts";

const URL_MAX = 2048;
const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])$/;
/** Schemes that a browser or the device itself interprets. */
const SCHEMES_DENIED = new RegExp(
  "^(about|blob|data|file|filesystem|ftp|intent|jar|javascript|mailto|sms|tel|vbscript|" +
    "view-source|ws|wss):$",
);

/**
 * Native applications are called back through a custom scheme. If they also listen on loopback, any
 * port matches (RFC 8252, 7.3); web URLs match character by character.
 */
export function applicationType(uris: readonly string[]): "web" | "native" {
  return uris.every((uri) => /^https?:/i.test(uri)) ? "web" : "native";
}

/**
 * The first URI that cannot be used, and why. A URI accepted here also passes the OAuth library's
 * own rules, which depend on whether all URIs are web URLs.
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
  // A URI with spaces could never match.
  if (/\s/.test(uri)) return "Remove the spaces.";
  // Browsers read \ as /, other parsers do not: they would disagree on where the host ends.
  if (uri.includes("\\")) return "Remove the \\.";
  if (uri.includes("*")) return "Send each URL in full; wildcards (*) are not supported.";
  const url = URL.parse(uri);
  // Browsers add a missing //, the OAuth library compares characters: they would disagree.
  const lacks_slashes = /^https?:(?!\/\/)/i.test(uri);
  if (!url || lacks_slashes) {
    return "Send an absolute URL such as https://example.com/callback.";
  }
  if (uri.includes("#")) return "Remove the # and everything after it.";
  if (url.username || url.password) return "Remove the user name and password.";
  const is_loopback = LOOPBACK.test(url.hostname);
  if (url.protocol === "http:") {
    // Plain http would expose codes to the network.
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

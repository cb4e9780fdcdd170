const PATH_LENGTH_MAX = 500;
const NOWHERE = "http://localhost.invalid";

/**
 * A path on this site, from an untrusted URL. Parsed as a browser does, so that no spelling of
 * another site (`//evil`, `/\evil`, a hidden tab) is accepted.
 */
export function localPath(given: unknown, otherwise: string): string {
  if (typeof given !== "string" || given.length > PATH_LENGTH_MAX) return otherwise;
  if (!given.startsWith("/") || given.includes("\\")) return otherwise;
  const url = URL.parse(given, NOWHERE);
  if (!url || url.origin !== NOWHERE) return otherwise;
  const path = `${url.pathname}${url.search}`;
  // `/.//evil` is a path of this site when parsed, but names another site when serialized again.
  return path.startsWith("//") ? otherwise : path;
}

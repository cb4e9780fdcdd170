const PATH_LENGTH_MAX = 500;
const NOWHERE = "http://localhost.invalid";

/**
 * Where to go on this site, from an address that anybody may have written. Read as a browser
 * reads it, so that no spelling of another site (`//evil`, `/\evil`, a hidden tab) gets through.
 */
export function localPath(given: unknown, otherwise: string): string {
  if (typeof given !== "string" || given.length > PATH_LENGTH_MAX) return otherwise;
  if (!given.startsWith("/") || given.includes("\\")) return otherwise;
  const url = URL.parse(given, NOWHERE);
  if (!url || url.origin !== NOWHERE) return otherwise;
  const path = `${url.pathname}${url.search}`;
  // `/.//evil` is of this site when read, and names another one once it is written down again.
  return path.startsWith("//") ? otherwise : path;
}

/**
 * What a browser may do with an answer that is no page: load nothing, run nothing, show it in no
 * frame. Pages replace it by a policy of their own.
 */
const NO_CONTENT = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'";

/** For a file of somebody: a browser must not run anything in it, even if it is opened directly. */
export const FILE_POLICY = `sandbox; ${NO_CONTENT}`;

const EVERY_ANSWER = {
  "Content-Security-Policy": NO_CONTENT,
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
};

/** Browsers that connected over https use only https from then on, for a year. */
const HTTPS_ONLY = { "Strict-Transport-Security": "max-age=31536000; includeSubDomains" };

/** The headers of every answer, whatever it is. */
export function securityHeaders(public_url: string): Record<string, string> {
  return public_url.startsWith("https://") ? { ...EVERY_ANSWER, ...HTTPS_ONLY } : EVERY_ANSWER;
}

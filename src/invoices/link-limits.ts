import { isToken } from "../accounts/sign-in/sessions.ts";
import { MINUTE_MS } from "../platform/durations.ts";
import { Refusal } from "../platform/errors.ts";
import { createRateLimiter, type RateLimit } from "../platform/http/rate-limit.ts";

const WINDOW_MS = MINUTE_MS;
/** A link belongs to one party: it opens the page, submits the form, and downloads. */
const BY_LINK_MAX = 60;
const FILES_BY_LINK_MAX = 20;
const BY_ADDRESS_MAX = 300;

/**
 * Rate limits for invoice links, which need no API key. Counts stay in memory for a whole window:
 * only what may be a link is counted, and only for an address below its own limit.
 */
export function createLinkLimits() {
  const by_link = createRateLimiter(BY_LINK_MAX, WINDOW_MS)!;
  const files_by_link = createRateLimiter(FILES_BY_LINK_MAX, WINDOW_MS)!;
  const by_address = createRateLimiter(BY_ADDRESS_MAX, WINDOW_MS)!;
  return (address: string, token: string, is_file: boolean): void => {
    assertAllowed(by_address.take(address));
    if (!isToken(token)) throw new Refusal("route_not_found");
    assertAllowed((is_file ? files_by_link : by_link).take(token));
  };
}

function assertAllowed({ allowed, reset_seconds }: RateLimit): void {
  if (allowed) return;
  const message = `Too many requests. Wait ${reset_seconds} seconds, then try again.`;
  throw new Refusal("too_many_requests", message, reset_seconds);
}

import { createWorkLimit } from "../platform/work-limit.ts";

/**
 * Every lookup of a secret that the caller may have made up (a key, a token, the cookie of a
 * session, a link, a passkey) runs in here, by the caller's network. Each takes a connection of the
 * database: without a limit, the thousands that one caller can send would be in the queue before
 * the requests of everybody else.
 */
export const limitLookups = createWorkLimit({ at_once: 8, waiting_max: 1_000 });

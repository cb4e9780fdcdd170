import { createHash } from "node:crypto";
import type { CommandRequest } from "../platform/commands/executor.ts";
import { newId } from "../platform/ids.ts";

const NAME_CHARACTERS = 32;

/**
 * Names what a request creates where its caller gives no name. With an Idempotency-Key the name is
 * always the same: a request that failed half-way and is sent again creates nothing twice.
 */
export function nameOnce(request: CommandRequest<null>, now: Date): string {
  return nameRequest(request) ?? newId(now);
}

/** The name of a request with an Idempotency-Key; null without one. */
export function nameRequest({ account_id, idempotency }: CommandRequest<null>): string | null {
  if (!idempotency) return null;
  const hash = createHash("sha256").update(account_id);
  hash.update(idempotency.index).update(idempotency.request_hash);
  return hash.digest("hex").slice(0, NAME_CHARACTERS);
}

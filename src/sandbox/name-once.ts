import { createHash } from "node:crypto";
import type { CommandRequest } from "../platform/commands/executor.ts";
import { newId } from "../platform/ids.ts";

const NAME_CHARACTERS = 32;

/**
 * Names what a request creates where its caller gives no name. With an Idempotency-Key the name is
 * always the same: a request that failed half-way and is sent again creates nothing twice.
 */
export function nameOnce(request: CommandRequest<null>, now: Date): string {
  const { account_id, idempotency } = request;
  if (!idempotency) return newId(now);
  const hash = createHash("sha256").update(account_id);
  hash.update(idempotency.index).update(idempotency.request_hash);
  return hash.digest("hex").slice(0, NAME_CHARACTERS);
}

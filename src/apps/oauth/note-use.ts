import type { FastifyInstance } from "fastify";
import { LruMap } from "../../platform/lru-map.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { findAppByClientId, updateAppUsed } from "../store.ts";

const APPS_CACHED_MAX = 10_000;
/** Short, because an admin may reset it through another process. */
const CACHED_MS = 1_000;

/**
 * An application's first successful call changes which events it is notified of. It is recorded
 * before the response is sent, so that the caller can rely on it.
 */
export function addNoteUse(
  app: FastifyInstance,
  { database, clock }: Pick<ModuleCore, "database" | "clock">,
): void {
  const known = new LruMap<string, number>(APPS_CACHED_MAX);
  app.addHook("onSend", async (request, reply) => {
    const app_id = request.caller?.app_id;
    const is_success = reply.statusCode >= 200 && reply.statusCode < 300;
    if (app_id === undefined || !is_success) return;
    const asked_ms = performance.now();
    if (asked_ms - (known.get(app_id) ?? Number.NEGATIVE_INFINITY) < CACHED_MS) return;
    try {
      const used = await findAppByClientId(database, app_id);
      if (used && used.used_at === null) {
        await database.transaction(async (tx) => updateAppUsed(tx, used, clock.now()));
      }
      known.set(app_id, asked_ms);
    } catch (error) {
      // The call itself is committed; the next call records the use.
      request.log.error({ err: error }, "the use of an application was not noted");
    }
  });
}

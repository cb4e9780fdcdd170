import type { FastifyInstance } from "fastify";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { LruMap } from "../../platform/lru-map.ts";
import { findAppByClientId, updateAppUsed } from "../store.ts";

const APPS_CACHED_MAX = 10_000;
/** An admin may reset it, through another process too. */
const CACHED_MS = 1_000;

/**
 * The first call of an application that succeeds decides what it is told from then on: noted
 * before the answer leaves, so that whoever has the answer can rely on it.
 */
export function addNoteUse(
  app: FastifyInstance,
  { database, clock }: { database: Database; clock: Clock },
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
      // What the call did stands; the next call notes it.
      request.log.error({ err: error }, "the use of an application was not noted");
    }
  });
}

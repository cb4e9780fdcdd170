import { recordAudit } from "../accounts/audit.ts";
import { actorOf } from "../accounts/model.ts";
import { listEndpoints } from "../apps/store.ts";
import { notFound, Refusal } from "../platform/errors.ts";
import { readTime, TIME_MESSAGE } from "../platform/http/list.ts";
import type { AddRoute } from "../platform/http/route.ts";
import { newId } from "../platform/ids.ts";
import type { ModuleCore } from "../platform/module.ts";
import { Problems } from "../platform/problems.ts";
import { enqueueTasks } from "../platform/tasks/tasks.ts";
import { resendProblem } from "./audience.ts";
import { REPLAY_TASK } from "./model.ts";
import { renderReplay } from "./render.ts";
import { ReplayAnswer, ReplayBody } from "./schemas.ts";
import { countWaitingReplays, insertReplay } from "./store.ts";

/** Sends the events of a period to an application again. */
export function addReplayRoutes(addRoute: AddRoute, deps: ModuleCore): void {
  const { database, clock, wake } = deps;
  addRoute({
    method: "POST",
    path: "/apps/:app_id/replay",
    operation: "replayApp",
    stores_nothing: true,
    summary: "Replay events",
    description:
      "Sends the events of a period to the application again, all of them or only those that " +
      "failed.",
    tag: "Applications",
    body: ReplayBody,
    body_example: { from: "2026-11-15T00:00:00Z", only_failed: true },
    answer: ReplayAnswer,
    errors: ["invalid_transition"],
    handle: async ({ caller, params, body, problems }) => {
      const { account_id } = caller;
      const now = clock.now();
      const found = new Problems(problems);
      const readField = (field: "from" | "to", fallback: Date) => {
        const given = body[field];
        const time = given == null ? fallback : readTime(given.trim());
        if (!time) {
          const is_blank = field === "from" && given?.trim() === "";
          found.report(field, is_blank ? "parameter_missing" : "record_invalid", TIME_MESSAGE);
        }
        return time ?? fallback;
      };
      const since = readField("from", now);
      const until = readField("to", now);
      if (since > until && found.isSound("to")) found.invalid("from", FROM_MESSAGE);
      const [endpoint] = await listEndpoints(database, [{ account_id, id: params.app_id }]);
      if (!endpoint) throw Refusal.of([...found.list, notFound("app_id")]);
      const refused = resendProblem(endpoint);
      if (refused) found.add([refused]);
      found.throwIfAny();
      const waiting = await countWaitingReplays(database, account_id, WAITING_MAX);
      if (waiting === WAITING_MAX) {
        throw new Refusal("too_many_requests", TOO_MANY, RETRY_AFTER_SECONDS);
      }
      const app_id = endpoint.id;
      const only_failed = body.only_failed ?? false;
      const range = { since, until, only_failed, deliveries: null, created_at: now };
      const replay = { account_id, id: newId(now), app_id, ...range };
      await database.transaction(async (tx) => {
        insertReplay(tx, replay);
        enqueueTasks(tx, REPLAY_TASK, [replay], now);
        const actor = actorOf(caller);
        const reason = "through the API";
        const record = `app:${app_id}`;
        recordAudit(tx, { account_id, actor, action: "app.replay", record, reason }, now);
      });
      wake();
      return renderReplay(replay);
    },
  });
}

/** Each may send all events again: thousands of them would keep the worker busy for weeks. */
const WAITING_MAX = 100;
const RETRY_AFTER_SECONDS = 60;
const TOO_MANY =
  `The account has ${WAITING_MAX} replays that wait; ` +
  "request another one when they have ended.";
const FROM_MESSAGE = "Send a time before `to` (default: now).";

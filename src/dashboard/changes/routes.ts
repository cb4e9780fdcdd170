import type { OutgoingHttpHeaders } from "node:http";
import type { FastifyInstance } from "fastify";
import { listActiveMembers, sessionOf } from "../../accounts/member-callers/authenticate-member.ts";
import type { SessionState } from "../../accounts/member-callers/store.ts";
import { SECOND_MS } from "../../platform/durations.ts";
import { Refusal } from "../../platform/errors.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import { openEventStream } from "./event-stream.ts";
import { nameChange } from "./name-changes.ts";
import type { ChangeWatch, Told } from "./watch-changes.ts";

type ChangeDeps = Pick<ModuleCore, "database" | "clock"> & { changes: ChangeWatch };

const STREAMS_MAX = 50;
const RETRY_AFTER_SECONDS = 10;
/** A comment keeps the connection open, and shows that the session still lasts. */
const COMMENT_EVERY_MS = 15 * SECOND_MS;

/**
 * `GET /dashboard/api/changes`: tells an open page which records changed, as server-sent events.
 * Only ids, of what the member's role may read: the page reads what it shows through the API. A
 * member whose role changes is told nothing after the next comment.
 */
export function addChangeStream(server: FastifyInstance, deps: ChangeDeps) {
  const open = new Map<string, Set<() => void>>();
  const config = { is_api: true, members_only: true, operation: "watchChanges" };
  server.get("/dashboard/api/changes", { config, schema: { hide: true } }, (request, reply) => {
    const { account_id, credential_id } = request.caller!;
    const streams = open.get(account_id) ?? new Set();
    if (streams.size >= STREAMS_MAX) {
      const message = "Too many pages of this account are open.";
      throw new Refusal("too_many_requests", message, RETRY_AFTER_SECONDS);
    }
    const { raw } = reply;
    reply.header("Content-Type", "text/event-stream").header("X-Accel-Buffering", "no").hijack();
    // The page was closed while its session was read: `close` will not be emitted again.
    if (raw.closed) return;
    raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders);
    const { tell, end } = openEventStream(raw);
    tell(": open\n\n");
    const member = sessionOf(credential_id);
    const stopWatching = deps.changes.watch(account_id, (change) => {
      const text = linesOf(change, member);
      if (text !== "") tell(text);
    });
    const comment = async () => {
      const active = await listActiveMembers(deps.database, [credential_id], realTime(deps.clock));
      if (active.length === 0) end();
      else tell(":\n\n");
    };
    const timer = setInterval(() => void comment().catch(end), COMMENT_EVERY_MS);
    open.set(account_id, streams.add(end));
    raw.once("close", () => {
      clearInterval(timer);
      stopWatching();
      streams.delete(end);
      if (streams.size === 0) open.delete(account_id);
    });
  });
  return {
    /** Open streams would block the server's close. */
    end: () => {
      for (const streams of open.values()) for (const end of streams) end();
    },
  };
}

function linesOf(change: Told, member: SessionState): string {
  if (change === null) return "event: refresh\ndata: {}\n\n";
  const { record_id } = change;
  const names = nameChange(change, member);
  return names.map((name) => `data: ${JSON.stringify({ name, record_id })}\n\n`).join("");
}

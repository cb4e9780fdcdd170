import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Database } from "../db/database.ts";
import { SECOND_MS } from "../durations.ts";
import type { Problem } from "../errors.ts";
import type { Caller } from "../http/route-spec.ts";
import { isId } from "../ids.ts";
import { Shares } from "../shares.ts";
import { insertRequests, type LoggedRequest } from "./store.ts";

const WRITE_EVERY_MS = SECOND_MS;
/** Between two writes. What is more is left out: the log must not slow down what it logs. */
const WAITING_MAX = 5_000;
/** Of one account: whoever sends more than its limit must not push out the requests of others. */
const PER_ACCOUNT_MAX = 1_000;
const PROBLEMS_MAX = 5;

/**
 * Keeps requests for the dashboard's log: every write of the API, and everything that was refused.
 * Successful reads are many, and nobody asks about them; what only the dashboard does is in the
 * audit log, unless it was refused. `close` writes what is left.
 */
export function addRequestLog(
  server: FastifyInstance,
  database: Database,
): { close: () => Promise<void> } {
  const { log } = server;
  let waiting: LoggedRequest[] = [];
  const shares = new Shares(WAITING_MAX, PER_ACCOUNT_MAX);
  let left_out = 0;
  let writing: Promise<void> | null = null;

  async function write(): Promise<void> {
    const requests = waiting;
    waiting = [];
    shares.clear();
    if (left_out > 0) log.warn({ requests: left_out }, "requests left out of the request log");
    left_out = 0;
    if (requests.length === 0) return;
    try {
      await writeRequests(database, requests);
    } catch (error) {
      log.warn({ err: error, requests: requests.length }, "requests not written to the log");
    }
  }
  const timer = setInterval(() => {
    if (waiting.length === 0 || writing) return;
    writing = write().finally(() => {
      writing = null;
    });
  }, WRITE_EVERY_MS).unref();

  server.addHook("onResponse", async (request, reply) => {
    const { caller } = request;
    if (!caller || !isKept(request, reply)) return;
    if (shares.take(caller.account_id)) waiting.push(describe(request, reply, caller));
    else left_out += 1;
  });
  const close = async () => {
    clearInterval(timer);
    await writing;
    await write();
  };
  return { close };
}

function isKept({ method, routeOptions: { config } }: FastifyRequest, reply: FastifyReply) {
  const is_refused = reply.statusCode >= 400;
  return config.members_only ? is_refused && method !== "GET" : is_refused || method !== "GET";
}

function describe(
  { id, method, routeOptions, params }: FastifyRequest,
  { statusCode, elapsedTime, refusal }: FastifyReply,
  caller: Caller,
): LoggedRequest {
  const { account_id, credential_id, app_id, actor } = caller;
  return {
    ...{ account_id, id, method },
    actor: actor ?? (app_id ? `app:${app_id}` : `api_key:${credential_id}`),
    path: withIds(routeOptions.url ?? "", params as Record<string, string>),
    status: statusCode,
    error_code: refusal?.code ?? null,
    problems: refusal?.problems.length ? listProblems(refusal.problems) : null,
    duration_ms: Math.round(elapsedTime),
  };
}

/** The route with the ids of records; anything else that the caller wrote there is left out. */
function withIds(route: string, params: Readonly<Record<string, string>>): string {
  return route.replaceAll(/:(\w+)/g, (name, key: string) => {
    const value = params[key] ?? "";
    return isId(value) ? value.toLowerCase() : name;
  });
}

function listProblems(problems: readonly Problem[]): string {
  return JSON.stringify(problems.slice(0, PROBLEMS_MAX).map(({ field, code }) => [field, code]));
}

/** In one transaction, or in one for each account where a transaction is of one. */
async function writeRequests(database: Database, requests: readonly LoggedRequest[]) {
  const { by_account } = database;
  const parts = Map.groupBy(requests, ({ account_id }) => (by_account ? account_id : "all"));
  for (const part of parts.values()) {
    await database.transaction(async (tx) => insertRequests(tx, part));
  }
}

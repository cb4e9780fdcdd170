import { timingSafeEqual } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Clock, DIFFERENCE_MAX_MS } from "../clock.ts";
import { runForService } from "../db/caller-context.ts";
import type { Database } from "../db/database.ts";
import { isMigrated } from "../db/migrate.ts";
import { DatabaseUnavailableError } from "../db/outages.ts";
import { Refusal } from "../errors.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { Readiness } from "../module.ts";
import { realTime } from "../tasks/real-time.ts";
import { workerHealth } from "../tasks/worker-health.ts";

type HealthDeps = {
  database: Database;
  clock: Clock;
  metrics: Metrics;
  metrics_token: string | undefined;
  /** The server listens for this machine only: no proxy forwards to it, and no money is real. */
  is_private: boolean;
  /** What modules add to /readyz. */
  readiness: readonly Readiness[];
  notices: readonly Readiness[];
};

const ANSWER_MAX_MS = 5_000;
const LOOPBACK = /^(127\.|::1$|::ffff:127\.)/;
/** Headers that a proxy adds. */
const FORWARDED = [
  ...["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"],
  ...["x-forwarded-port", "x-forwarded-server", "x-real-ip", "cf-connecting-ip"],
];

/**
 * For monitoring: whether the process answers, whether it is ready, and how its work progresses.
 */
export function addHealthRoutes(app: FastifyInstance, deps: HealthDeps): void {
  const { metrics } = deps;
  const checkReadiness = shared(() => withinLimit(readState(deps)));
  app.addHook("onResponse", async (request, reply) => {
    const { method } = request;
    const route = request.routeOptions.url ?? "(none)";
    const status = String(reply.statusCode);
    metrics.observeRequest({ method, route, status }, reply.elapsedTime / 1000);
  });

  app.get("/healthz", async () => ({ status: "ok" }));

  app.get("/readyz", async (request, reply) => {
    const { problems, notices } = await checkReadiness().catch((error: unknown) => {
      // The database's message is only logged: the caller here is not authenticated.
      request.log.error({ err: error }, "not ready");
      return { problems: [describeFailure(error)], notices: [] };
    });
    const noted = notices.length > 0 ? { notices } : {};
    if (problems.length === 0) return { status: "ready", ...noted };
    return reply.code(503).send({ status: "not_ready", problems, ...noted });
  });

  app.get("/metrics", async (request, reply) => {
    if (!mayReadMetrics(request, deps)) {
      throw new Refusal(
        "unauthorized",
        "Send the value of SLIPROAD_METRICS_TOKEN as a bearer token.",
      );
    }
    return reply.type(metrics.content_type).send(await metrics.render());
  });
}

/** Without a token only a direct request from this machine is answered. */
function mayReadMetrics(request: FastifyRequest, deps: HealthDeps): boolean {
  if (deps.metrics_token !== undefined) {
    const token = request.headers.authorization?.replace(/^Bearer /i, "");
    return isSame(token, deps.metrics_token);
  }
  // The IP address of the connection itself, not one from a header.
  const is_local = LOOPBACK.test(request.socket.remoteAddress ?? "");
  const is_direct = FORWARDED.every((name) => request.headers[name] === undefined);
  return deps.is_private && is_local && is_direct;
}

async function readState({
  database,
  clock,
  readiness,
  notices,
}: Pick<HealthDeps, "database" | "clock" | "readiness" | "notices">): Promise<{
  problems: string[];
  notices: string[];
}> {
  await clock.refresh();
  const problems: string[] = [];
  if (!(await isMigrated(database))) {
    problems.push("The database schema does not match this version; run sliproad migrate.");
  }
  if (Math.abs(clock.difference_ms()) > DIFFERENCE_MAX_MS) {
    problems.push("This machine's clock differs from the database's by more than 2 seconds.");
  }
  const time = { now: clock.now(), real_now: realTime(clock) };
  const [more, noted] = await Promise.all([
    Promise.all(readiness.map((check) => check(database, time))),
    Promise.all(notices.map((check) => check(database, time).catch(onlyNoted(database)))),
  ]);
  const { problems: of_worker } = await workerHealth(database, time);
  return {
    problems: [...problems, ...of_worker, ...more.flat()],
    notices: [...new Set(noted.flat())],
  };
}

/**
 * Notices are about all accounts. Where these are on several servers, a lost one stops its own
 * accounts; if this process were not ready, a proxy would stop the others too.
 */
function onlyNoted({ by_account }: Database): (error: unknown) => string[] {
  return (error) => {
    if (!by_account || !(error instanceof DatabaseUnavailableError)) throw error;
    return ["Some accounts cannot be served: a database server of theirs cannot be reached."];
  };
}

/** Any caller may request this, at any rate: concurrent requests share one check. */
function shared<Result>(look: () => Promise<Result>): () => Promise<Result> {
  let under_way: Promise<Result> | null = null;
  return () => {
    under_way ??= runForService(look).finally(() => {
      under_way = null;
    });
    return under_way;
  };
}

/** A database that neither answers nor refuses must not block the probe forever. */
function withinLimit<Result>(work: Promise<Result>): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  const error = new DatabaseUnavailableError(`no answer within ${ANSWER_MAX_MS} ms`);
  const timer = setTimeout(() => reject(error), ANSWER_MAX_MS);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
}

function describeFailure(error: unknown): string {
  return error instanceof DatabaseUnavailableError
    ? "The database cannot be reached."
    : "The database cannot be used; see the log for the cause.";
}

function isSame(given: string | undefined, wanted: string): boolean {
  if (given === undefined) return false;
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)];
  return a.length === b.length && timingSafeEqual(a, b);
}

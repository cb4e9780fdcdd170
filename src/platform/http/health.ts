import { timingSafeEqual } from "node:crypto";
import type { FastifyInstance } from "fastify";
import { collectDefaultMetrics, Histogram, Registry } from "prom-client";
import { type Clock, DIFFERENCE_MAX_MS } from "../clock.ts";
import { type Database, DatabaseUnavailableError } from "../db/database.ts";
import { isMigrated } from "../db/migrate.ts";
import { Refusal } from "../errors.ts";
import { realTime } from "../tasks/real-time.ts";
import { workerHealth } from "../tasks/worker-health.ts";

export type HealthDeps = { database: Database; clock: Clock; metrics_token: string | undefined };

const ANSWER_MAX_MS = 5_000;
const LOOPBACK = /^(127\.|::1$|::ffff:127\.)/;

/** For whoever watches over the process: does it answer, can it work, how fast is it. */
export function addHealthRoutes(app: FastifyInstance, deps: HealthDeps): void {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const duration = new Histogram({
    name: "sliproad_http_request_duration_seconds",
    help: "How long requests took, by route and status.",
    labelNames: ["method", "route", "status"],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers: [registry],
  });
  app.addHook("onResponse", async (request, reply) => {
    const { method } = request;
    const route = request.routeOptions.url ?? "(none)";
    const labels = { method, route, status: String(reply.statusCode) };
    duration.observe(labels, reply.elapsedTime / 1000);
  });

  app.get("/healthz", { schema: { hide: true } }, async () => ({ status: "ok" }));

  app.get("/readyz", { schema: { hide: true } }, async (request, reply) => {
    const problems = await withinLimit(readinessProblems(deps)).catch((error: unknown) => {
      // The words of the database are for the log: whoever asks here has shown no key.
      request.log.error({ err: error }, "not ready");
      return [describeFailure(error)];
    });
    if (problems.length === 0) return { status: "ready" };
    return reply.code(503).send({ status: "not_ready", problems });
  });

  app.get("/metrics", { schema: { hide: true } }, async (request, reply) => {
    const is_local = LOOPBACK.test(request.ip) && deps.metrics_token === undefined;
    const token = request.headers.authorization?.replace(/^Bearer /i, "");
    if (!is_local && !isSame(token, deps.metrics_token)) throw new Refusal("unauthorized");
    return reply.type(registry.contentType).send(await registry.metrics());
  });
}

async function readinessProblems({ database, clock }: HealthDeps): Promise<string[]> {
  await clock.refresh();
  const problems: string[] = [];
  if (!(await isMigrated(database))) {
    problems.push("The database has other migrations than this program; run sliproad migrate.");
  }
  if (Math.abs(clock.difference_ms()) > DIFFERENCE_MAX_MS) {
    problems.push("This machine's time is more than 2 seconds from the database's.");
  }
  const time = { now: clock.now(), real_now: realTime(clock) };
  return [...problems, ...(await workerHealth(database, time)).problems];
}

/** A database that neither answers nor refuses must not make the probe wait for ever. */
function withinLimit<Result>(work: Promise<Result>): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  const error = new DatabaseUnavailableError(`no answer within ${ANSWER_MAX_MS} ms`);
  const timer = setTimeout(() => reject(error), ANSWER_MAX_MS);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
}

function describeFailure(error: unknown): string {
  return error instanceof DatabaseUnavailableError
    ? "The database cannot be reached."
    : "The database cannot be used; the log says why.";
}

function isSame(given: string | undefined, wanted: string | undefined): boolean {
  if (given === undefined || wanted === undefined) return false;
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)];
  return a.length === b.length && timingSafeEqual(a, b);
}

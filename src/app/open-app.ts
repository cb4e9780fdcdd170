import type { FastifyInstance } from "fastify";
import {
  createAuthenticate,
  findActiveCredentials,
  type TokenPort,
} from "../accounts/authenticate.ts";
import { createAuthenticateMember } from "../accounts/member-callers/authenticate-member.ts";
import { findSession } from "../accounts/sign-in/sessions.ts";
import { openTokens } from "../apps/oauth/token-callers.ts";
import { type Catalogue, narrowCatalogue } from "../catalogue/catalogue.ts";
import { finishDocument } from "../docs/api/finish-document.ts";
import { openFiles } from "../partners/files/open-files.ts";
import { createExecutor } from "../platform/commands/executor.ts";
import { createReadTurns } from "../platform/http/account-turns.ts";
import { addOpenApi, addOpenApiRoute } from "../platform/http/docs.ts";
import { addHealthRoutes } from "../platform/http/health.ts";
import { type Credential, knownCredentials } from "../platform/http/known-credentials.ts";
import { type AddRoute, addRoute } from "../platform/http/route.ts";
import { createServer, type LogDestination } from "../platform/http/server.ts";
import { createMetrics } from "../platform/metrics/metrics.ts";
import type { Module, ModuleCore } from "../platform/module.ts";
import { addRequestLog } from "../platform/request-log/request-log.ts";
import { unvouched_rows, warnOfUnvouchedRows } from "../platform/sealing/vouched-rows.ts";
import { realTime } from "../platform/tasks/real-time.ts";
import { ensureRecurring } from "../platform/tasks/tasks.ts";
import type { Worker } from "../platform/tasks/worker.ts";
import { watchInstallation } from "../platform/watch-installation.ts";
import { withDeliveries } from "../webhooks/delivery/worker.ts";
import { isPrivate } from "./is-private.ts";
import type { Core } from "./open-core.ts";
import { openModules } from "./open-modules.ts";
import { openPartners, openScan, openSender, type Partners } from "./open-partners.ts";

export { type Core, openCore } from "./open-core.ts";
export { openSender, type Partners } from "./open-partners.ts";

export type RunningApp = {
  server: FastifyInstance;
  worker: Worker;
  /** For a process that serves no API: health and metrics alone. The caller closes it. */
  createHealthServer(): FastifyInstance;
  /** Ends requests in flight, then running tasks, then the database connections. */
  close(): Promise<void>;
};

/** Assembles the program. `publicUrl` is known once the server listens. */
export async function openApp(
  core: Core,
  publicUrl: () => string,
  given_partners?: Partners,
  log_destination?: LogDestination,
): Promise<RunningApp> {
  const { config, database, clock } = core;
  const partners = given_partners ?? (await openPartners(core));
  const catalogue = offeredCatalogue(core.catalogue, partners);
  const tokens = openTokens(core);
  const authenticate = createAuthenticate(core, config.mode, tokens);
  const server_options = {
    ...config,
    ...(log_destination ? { log_destination } : {}),
    public_url: publicUrl,
    known: knownCredentials(core.index_key),
    authenticate,
    lookUp: ({ kind, text }: Credential): Promise<unknown> =>
      kind === "bearer" ? authenticate(text) : findSession(core, text, realTime(clock)),
    authenticateMember: createAuthenticateMember({ ...core, public_url: publicUrl }),
  };
  const server = createServer(server_options);
  const { log } = server;
  warnOfUnvouchedRows(core.database, log);
  const request_log = config.request_log_days > 0 ? addRequestLog(server, database) : null;
  const files = { ...(await openFiles(config)), scan: openScan(config) };
  const sender = openSender(config);
  // The worker runs the modules' tasks, and the modules wake it.
  const wake = () => worker.wake();
  const module_core: ModuleCore = {
    ...core,
    mode: config.mode,
    operator_id: core.first_start.operator.id,
    executor: openExecutor(core, tokens, wake),
    wake,
    public_url: publicUrl,
    log,
  };
  const parts = { ...partners, clock, catalogue, tokens, files, sender };
  const { modules, deliveries, addAfterScreening } = await openModules(module_core, parts);
  const handlers = modules.flatMap(({ tasks = [] }) => tasks);
  const worker: Worker = withDeliveries(deliveries, { database, clock, log, handlers });
  const metrics = createMetrics({
    database,
    clock,
    log,
    sources: modules.flatMap(({ metrics = [] }) => metrics),
    counters: [unvouched_rows, ...modules.flatMap(({ counters = [] }) => counters)],
  });
  const { metrics_token } = config;
  const readiness = modules.flatMap((module) => module.readiness ?? []);
  const notices = modules.flatMap((module) => module.notices ?? []);
  const is_private = isPrivate(config);
  const health_deps = { database, clock, metrics, metrics_token, is_private, readiness, notices };
  await addOpenApi(server, finishDocument);
  addHealthRoutes(server, health_deps);
  addRoutes(server, module_core, modules, addAfterScreening);
  addOpenApiRoute(server);
  await ensureRecurringTasks(module_core, modules);
  const stopWatching = watchInstallation(core);
  const close = async () => {
    await stopWatching();
    // Closed together: requests that wait for a module's own work would block the server's close.
    await Promise.all([server.close(), ...modules.map((module) => module.close?.())]);
    await worker.stop();
    await request_log?.close();
    sender.close();
    await database.close();
  };
  const createHealthServer = () => {
    const health = createServer(server_options);
    addHealthRoutes(health, health_deps);
    return health;
  };
  return { server, worker, createHealthServer, close };
}

/** What no adapter serves is not offered. */
function offeredCatalogue(catalogue: Catalogue, { served }: Partners): Catalogue {
  return served ? narrowCatalogue(catalogue, served) : catalogue;
}

/** The API in the order of the modules; pages for people come after it. */
function addRoutes(
  server: FastifyInstance,
  { index_key, executor }: ModuleCore,
  modules: readonly Module[],
  addAfterScreening: (addRoute: AddRoute) => AddRoute,
): void {
  const { keepAnswer } = executor;
  const ways = { keepAnswer, readInTurn: createReadTurns() };
  const add = addAfterScreening((spec) => addRoute(server, index_key, spec, ways));
  for (const module of modules) module.routes?.(add, server);
  for (const module of modules) module.pages?.(server);
}

function openExecutor(
  { config, database, clock, keyring }: Core,
  tokens: TokenPort,
  afterCommit: () => void,
) {
  return createExecutor({
    database,
    clock,
    keyring,
    across_accounts: config.batch_by === "installation",
    findActiveCredentials: (tx, ...asked) => findActiveCredentials(tx, tokens, ...asked),
    afterCommit,
  });
}

async function ensureRecurringTasks(
  { database, clock, operator_id: account_id }: ModuleCore,
  modules: readonly Module[],
): Promise<void> {
  for (const kind of modules.flatMap(({ recurring = [] }) => recurring)) {
    await ensureRecurring(database, { account_id, kind, now: clock.now() });
  }
}

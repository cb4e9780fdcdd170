import { randomUUID } from "node:crypto";
import type { FastifyInstance } from "fastify";
import { createAuthenticate, findActiveCredentials } from "../../src/accounts/authenticate.ts";
import { createAuthenticateMember } from "../../src/accounts/member-callers/authenticate-member.ts";
import type { Core } from "../../src/app/open-core.ts";
import { openModules } from "../../src/app/open-modules.ts";
import { openBanks, type Partners } from "../../src/app/open-partners.ts";
import { openTokens } from "../../src/apps/oauth/token-callers.ts";
import { combineBanks } from "../../src/partners/bank/combine-banks.ts";
import { openLocalDirectory } from "../../src/partners/files/local-directory.ts";
import { ALWAYS_LEAVING } from "../../src/partners/leaving.ts";
import type { GuardedSender } from "../../src/partners/outbound-http/guarded-sender.ts";
import { createExecutor } from "../../src/platform/commands/executor.ts";
import { createReadTurns } from "../../src/platform/http/account-turns.ts";
import { addRoute } from "../../src/platform/http/route.ts";
import { createServer } from "../../src/platform/http/server.ts";
import type { Module, ModuleCore } from "../../src/platform/module.ts";
import { claimTasks } from "../../src/platform/tasks/claim-store.ts";
import { realTime } from "../../src/platform/tasks/real-time.ts";
import { runSet, type TaskHandler } from "../../src/platform/tasks/run-set.ts";
import type { TaskLog } from "../../src/platform/tasks/task-log.ts";
import { ensureRecurring } from "../../src/platform/tasks/tasks.ts";
import { deliverTask } from "../../src/webhooks/delivery/deliver-task.ts";
import { type Outside, openPartners, type Trouble } from "./partners.ts";
import type { Life, Schedule } from "./schedule.ts";

const SILENT: TaskLog = { info: () => {}, warn: () => {}, error: () => {} };
const LEASE_MS = 30_000;
const URL = "http://127.0.0.1:4550";

export type Answer = {
  status: number;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: an answer is whatever the server sent.
  body: any;
  is_replayed: boolean;
};

export type Request = {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  path: string;
  body?: unknown;
  key: string;
  idempotency_key?: string;
};

/** The API and the worker of one process, as the program assembles them. */
export type Process = {
  life: Life;
  server: FastifyInstance;
  kinds: readonly string[];
  recurring: readonly string[];
  /** Null: the process ended before it answered. */
  call(request: Request): Promise<Answer | null>;
  /** Claims one set of due tasks and runs it; false if there was none. */
  work(kind: string): Promise<boolean>;
  /** Once nothing of it is under way. */
  rest(): Promise<void>;
};

export async function openProcess(
  opened: Core,
  schedule: Schedule,
  outside: Outside,
  trouble: Trouble,
): Promise<Process> {
  const life: Life = { generation: 0, steps_left: Number.POSITIVE_INFINITY, crashes: 0 };
  const core = { ...opened, database: schedule.wrap(opened.database, life) };
  const { send, ...partners } = openPartners(schedule, life, outside, trouble);
  const sender: GuardedSender = {
    send,
    hasCapacity: () => true,
    refuse: () => null,
    close: () => {},
  };
  const { server, modules } = await assemble(core, withFileBank(core, partners), sender);
  const deliveries = deliverTask({
    ...core,
    ...{ sender, log: SILENT, random: () => 0, isStopping: () => false },
  });
  const handlers = new Map(
    [...modules.flatMap(({ tasks = [] }) => tasks), deliveries].map((one) => [one.kind, one]),
  );
  const open = new Set<Promise<unknown>>();
  const run = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const running = schedule.run(life, work);
    open.add(running);
    const end = () => open.delete(running);
    running.then(end, end);
    return running;
  };
  return {
    life,
    server,
    kinds: [...handlers.keys()],
    recurring: modules.flatMap(({ recurring = [] }) => recurring),
    call: (request) => run(() => inject(life, server, request)),
    work: (kind) => run(() => runOne(core, handlers.get(kind)!)),
    rest: async () => void (await Promise.allSettled([...open])),
  };
}

/** Where the settings name a bank of files, the real adapter pays, and the rest is in memory. */
function withFileBank(core: Core, partners: Partners): Partners {
  const { real, openBanks: openModule } = openBanks({ ...core, leaving: ALWAYS_LEAVING });
  if (!real) return partners;
  return { ...partners, bank: combineBanks(real, partners.bank), openBanks: openModule };
}

async function assemble(core: Core, partners: Partners, sender: GuardedSender) {
  const { config, database, clock, keyring, index_key } = core;
  const tokens = openTokens(core);
  const public_url = () => URL;
  const server = createServer({
    ...config,
    public_url,
    authenticate: createAuthenticate(core, config.mode, tokens),
    authenticateMember: createAuthenticateMember({ ...core, public_url }),
  });
  const wake = () => {};
  const executor = createExecutor({
    ...{ database, clock, keyring, across_accounts: true },
    findActiveCredentials: (tx, ...asked) => findActiveCredentials(tx, tokens, ...asked),
    afterCommit: wake,
  });
  const module_core: ModuleCore = {
    ...{ ...core, mode: config.mode, operator_id: core.first_start.operator.id },
    ...{ executor, wake, public_url, log: SILENT },
  };
  const files = await openLocalDirectory(config.data_dir);
  const { catalogue } = core;
  const parts = { ...partners, clock, catalogue, tokens, files, sender };
  const { modules, addAfterScreening } = await openModules(module_core, parts);
  const readInTurn = createReadTurns();
  const ways = { keepAnswer: executor.keepAnswer, readInTurn };
  const add = addAfterScreening((spec) => addRoute(server, index_key, spec, ways));
  for (const module of modules) module.routes?.(add, server);
  for (const module of modules) module.pages?.(server);
  await addRecurring(module_core, modules);
  await server.ready();
  return { server, modules };
}

async function addRecurring(core: ModuleCore, modules: readonly Module[]): Promise<void> {
  const { database, clock, operator_id: account_id } = core;
  for (const kind of modules.flatMap(({ recurring = [] }) => recurring)) {
    await ensureRecurring(database, { account_id, kind, now: clock.now() });
  }
}

async function inject(
  life: Life,
  server: FastifyInstance,
  { method, path, body, key, idempotency_key }: Request,
): Promise<Answer | null> {
  const { generation, crashes } = life;
  const answer = await server.inject({
    method,
    url: path,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(idempotency_key === undefined ? {} : { "idempotency-key": idempotency_key }),
    },
    ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
  });
  if (life.generation !== generation) return null;
  // It shared a batch with requests to the process that ended.
  if (life.crashes !== crashes && answer.statusCode === 500) return null;
  const is_json = String(answer.headers["content-type"]).includes("json");
  return {
    status: answer.statusCode,
    text: answer.body,
    body: is_json ? JSON.parse(answer.body) : null,
    is_replayed: answer.headers["idempotent-replayed"] === "true",
  };
}

/** As the worker does it: fresh tasks in sets, those that failed before one by one. */
async function runOne(
  { database, clock }: Pick<Core, "database" | "clock">,
  handler: TaskHandler,
): Promise<boolean> {
  const outage = { failed: () => {}, backoffMs: () => 0 };
  const progressed = () => {};
  const deps = { database, clock, log: SILENT, outage, lease_ms: LEASE_MS, progressed };
  for (const failed of [false, true]) {
    const time = { now: clock.now(), real_now: realTime(clock) };
    const lease = { lease_ms: LEASE_MS, lease_id: randomUUID() };
    const limit = failed ? 1 : handler.set_max;
    const claim = await claimTasks(database, {
      ...{ kind: handler.kind, failed, limit },
      ...time,
      ...lease,
    }).catch(() => null);
    if (!claim) return true;
    if (claim.tasks.length === 0) continue;
    await runSet(deps, handler, claim, () => {});
    return true;
  }
  return false;
}

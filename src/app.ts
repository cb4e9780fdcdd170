import { readFileSync } from "node:fs";
import type { FastifyInstance } from "fastify";
import { createAuthenticate, findActiveCredentials } from "./access/authenticate.ts";
import type { AppRules } from "./access/check-app.ts";
import { type FirstStart, firstStart } from "./access/first-start.ts";
import { addOauth } from "./access/oauth/routes.ts";
import { SWEEP_OAUTH_TASK, sweepOauthTask } from "./access/oauth/tasks.ts";
import { addProposalPages, addProposalRoutes } from "./access/proposal-routes.ts";
import { addAccessPages } from "./access/routes.ts";
import { type Catalogue, loadCatalogue } from "./catalogue/catalogue.ts";
import { type FeeSchedule, loadFees } from "./catalogue/fees.ts";
import { addInvoicePages } from "./invoices/page-routes.ts";
import { createInvoiceRenderer, type InvoiceRenderer } from "./invoices/render.ts";
import { addInvoiceRoutes } from "./invoices/routes.ts";
import { invoiceTasks } from "./invoices/tasks.ts";
import { addKycPages } from "./kyc/page-routes.ts";
import { addReviewPages } from "./kyc/review-routes.ts";
import { addKycRoutes } from "./kyc/routes.ts";
import { READ_IDENTITY_TASK, RETENTION_TASK } from "./kyc/task-kinds.ts";
import { kycTasks } from "./kyc/tasks.ts";
import { addDocumentRoutes } from "./offramps/document-routes.ts";
import { addQuoteRoutes } from "./offramps/quote-routes.ts";
import { createOfframpRenderer } from "./offramps/render.ts";
import { addOfframpRoutes } from "./offramps/routes.ts";
import { CHASE_PAYOUTS_TASK, READ_BANK_TASK, WATCH_CHAINS_TASK } from "./offramps/task-kinds.ts";
import { offrampTasks } from "./offramps/tasks.ts";
import { changeProposalTasks } from "./offramps/watched-changes.ts";
import { addDepositRoutes } from "./onramps/deposit-routes.ts";
import { addOnrampRoutes } from "./onramps/routes.ts";
import { READ_CREDITS_TASK } from "./onramps/task-kinds.ts";
import { onrampTasks } from "./onramps/tasks.ts";
import type { BankPort } from "./partners/bank/port.ts";
import { createSandboxBank } from "./partners/bank/sandbox.ts";
import type { ChainPort } from "./partners/chain/port.ts";
import { createSandboxChain } from "./partners/chain/sandbox.ts";
import { type FileType, judgeFile } from "./partners/files/judge-file.ts";
import { openLocalDirectory } from "./partners/files/local-directory.ts";
import type { IdentityPort } from "./partners/identity/port.ts";
import { createReviewerIdentity } from "./partners/identity/reviewers.ts";
import { isLoopbackHost } from "./partners/outbound-http/address-policy.ts";
import { createGuardedSender } from "./partners/outbound-http/guarded-sender.ts";
import { openRateSource } from "./partners/rates/open-rate-source.ts";
import { addPaymentDetailRoutes } from "./payment-details/routes.ts";
import { type Clock, openClock, type SandboxClock, systemTime } from "./platform/clock.ts";
import { createExecutor, type Executor } from "./platform/commands/executor.ts";
import { createKeepAnswer, type KeepAnswer } from "./platform/commands/keep-answers.ts";
import { TRIM_COMMANDS_TASK, trimCommandsTask } from "./platform/commands/tasks.ts";
import type { Config } from "./platform/config/config.ts";
import { type Database, openDatabase, type Session } from "./platform/db/database.ts";
import { migrate } from "./platform/db/migrate.ts";
import { openInstallation } from "./platform/encryption/installation.ts";
import { createKeyring, type Keyring } from "./platform/encryption/keyring.ts";
import { type MasterKeys, masterKeys } from "./platform/encryption/master-keys.ts";
import { addDocs, addOpenApi } from "./platform/http/docs.ts";
import { addHealthRoutes } from "./platform/http/health.ts";
import { type AddRoute, addRoute } from "./platform/http/route.ts";
import { createServer, type LogDestination } from "./platform/http/server.ts";
import { type AddUploadRoute, addUploadRoute } from "./platform/http/upload-route.ts";
import { ensureDataDir } from "./platform/instance.ts";
import { signingKey } from "./platform/sealing/seal.ts";
import { signingSeed } from "./platform/sealing/signing-seed.ts";
import { SEAL_TASK, sealTask } from "./platform/sealing/tasks.ts";
import { StartupError } from "./platform/startup-error.ts";
import type { TaskLog } from "./platform/tasks/task-log.ts";
import { ensureRecurring } from "./platform/tasks/tasks.ts";
import type { Worker } from "./platform/tasks/worker.ts";
import { addBalanceRoutes } from "./quotes/balance-routes.ts";
import { openPrices } from "./quotes/prices.ts";
import { addRateRoutes } from "./quotes/rate-routes.ts";
import { sendRefundTask } from "./quotes/refund-task.ts";
import { REFRESH_RATES_TASK, refreshRatesTask } from "./quotes/tasks.ts";
import { usdValue } from "./quotes/usd-value.ts";
import { refundProposalTask } from "./quotes/watched-refunds.ts";
import { addSandboxInvoiceRoute } from "./sandbox/invoice-routes.ts";
import { addSandboxRoutes } from "./sandbox/routes.ts";
import { addUserRoutes } from "./users/routes.ts";
import { addAppRoutes } from "./webhooks/app-routes.ts";
import { createDeliveryWorker, withDeliveries } from "./webhooks/delivery-worker.ts";
import { addEventRoutes } from "./webhooks/event-routes.ts";
import { fanOutTask } from "./webhooks/fan-out.ts";
import { TRIM_EVENTS_TASK } from "./webhooks/model.ts";
import { replayTask } from "./webhooks/replay-app.ts";
import { trimEventsTask } from "./webhooks/trim-events.ts";

/** What everything is built from: an open, migrated database with its clock and keys. */
export type Core = {
  config: Config;
  database: Database;
  clock: Clock & SandboxClock;
  masters: MasterKeys;
  keyring: Keyring;
  index_key: Buffer;
  catalogue: Catalogue;
  first_start: FirstStart;
};

const RECURRING_TASKS = [
  SEAL_TASK,
  TRIM_COMMANDS_TASK,
  SWEEP_OAUTH_TASK,
  REFRESH_RATES_TASK,
  WATCH_CHAINS_TASK,
  READ_BANK_TASK,
  CHASE_PAYOUTS_TASK,
  READ_CREDITS_TASK,
  READ_IDENTITY_TASK,
  RETENTION_TASK,
  TRIM_EVENTS_TASK,
];

export type App = {
  server: FastifyInstance;
  worker: Worker;
  /** Ends requests in flight, then running tasks, then the database connections. */
  close(): Promise<void>;
};

export async function openCore(config: Config, database_url: string): Promise<Core> {
  const database = openDatabase({
    url: database_url,
    connections_max: config.database_connections,
  });
  try {
    await migrate(database, systemTime);
    if (!config.encryption_key) await ensureDataDir(config.data_dir);
    const masters = masterKeys(config);
    const { index_key } = await openInstallation(database, masters, config.mode, systemTime());
    const clock = await openClock(database);
    const keyring = createKeyring(masters);
    // Before the first start, whose keys are shown once: what can fail has to fail before them.
    const catalogue = readCatalogue(config);
    const first_start = await firstStart(database, keyring, index_key, config, clock.now());
    return { config, database, clock, masters, keyring, index_key, catalogue, first_start };
  } catch (error) {
    await database.close();
    throw error;
  }
}

export type Partners = {
  chain: ChainPort;
  bank: BankPort;
  /** Without one, our own reviewers judge. */
  identity?: IdentityPort;
};

/** Puts the program together. `publicUrl` is known once the server listens. */
export async function createApp(
  core: Core,
  publicUrl: () => string,
  partners: Partners = openPartners(core.config, core.database),
  log_destination?: LogDestination,
): Promise<App> {
  const { config, database, clock, index_key } = core;
  const server = createServer({
    ...config,
    ...(log_destination ? { log_destination } : {}),
    public_url: publicUrl,
    authenticate: createAuthenticate(core, config.mode),
  });
  const ramp = await openRamp(core, partners, publicUrl, server.log);
  const invoice_deps = {
    ...core,
    renderer: createInvoiceRenderer({ public_url: publicUrl, mode: config.mode, index_key }),
  };
  const deliveries = createDeliveryWorker(ramp);
  const worker = withDeliveries(deliveries, {
    database,
    clock,
    log: server.log,
    handlers: listHandlers(ramp, invoice_deps, deliveries.poke),
  });
  const executor = openExecutor(core, worker.poke);
  const keepAnswer = createKeepAnswer(database, executor);
  const deps = {
    ...ramp,
    executor,
    keepAnswer,
    app_rules: { allow_http: ramp.allow_http, refuseUrl: ramp.sender.refuse },
    poke: worker.poke,
    public_url: publicUrl,
    mode: config.mode,
  };
  await addOpenApi(server);
  addRoutes(server, deps, { ...deps, ...invoice_deps });
  await addDocs(server);
  await ensureRecurringTasks(core);
  const close = async () => {
    await server.close();
    await worker.stop();
    ramp.sender.close();
    await database.close();
  };
  return { server, worker, close };
}

type Ramp = Awaited<ReturnType<typeof openRamp>>;
type InvoiceParts = Core & { renderer: InvoiceRenderer };

/** All background work, in the order of the rooms. */
function listHandlers(ramp: Ramp, invoices: InvoiceParts, pokeDeliveries: () => void) {
  const { config, database, clock, log } = ramp;
  const signing_key = signingKey(signingSeed(config));
  return [
    sealTask(database, signing_key, log),
    trimCommandsTask(database, clock),
    sweepOauthTask(database, clock),
    fanOutTask({ ...ramp, signing_key, pokeDeliveries }),
    replayTask({ database, pokeDeliveries }),
    trimEventsTask({ ...config, database }),
    ...kycTasks(ramp),
    ...invoiceTasks(invoices),
    refreshRatesTask(database, ramp.prices),
    sendRefundTask(ramp),
    refundProposalTask(ramp),
    ...offrampTasks(ramp),
    ...changeProposalTasks(ramp),
    ...onrampTasks(ramp),
  ];
}

type Deps = Ramp & {
  executor: Executor;
  keepAnswer: KeepAnswer;
  app_rules: AppRules;
  poke: () => void;
  public_url: () => string;
  mode: Config["mode"];
};

/** All routes, in the order of the rooms; pages for people come last. */
function addRoutes(
  server: FastifyInstance,
  deps: Deps,
  invoices: Omit<Deps, "renderer"> & InvoiceParts,
) {
  const { config, database, clock, index_key, files, keepAnswer } = deps;
  const add: AddRoute = (spec) => addRoute(server, index_key, spec, keepAnswer);
  const addUpload: AddUploadRoute<FileType> = (spec) =>
    addUploadRoute(server, index_key, { ...files, judge: judgeFile }, spec);

  addHealthRoutes(server, { database, clock, metrics_token: config.metrics_token });
  addProposalRoutes(add, deps);
  addAppRoutes(add, deps);
  addEventRoutes(add, deps);
  addUserRoutes(add, deps);
  addKycRoutes(add, deps);
  addPaymentDetailRoutes(add, deps);
  addInvoiceRoutes(add, invoices);
  addRateRoutes(add, deps);
  addBalanceRoutes(add, deps);
  addQuoteRoutes(add, deps);
  addOfframpRoutes(add, deps);
  addDocumentRoutes(add, addUpload, deps);
  addOnrampRoutes(add, deps);
  addDepositRoutes(add, deps);
  if (deps.mode === "sandbox") {
    addSandboxRoutes(add, deps);
    addSandboxInvoiceRoute(add, invoices);
  }
  addOauth(server, add, deps);
  addKycPages(server, deps);
  addReviewPages(server, deps);
  addInvoicePages(server, invoices);
  addProposalPages(server, deps);
  addAccessPages(server, deps);
}

function openExecutor({ config, database, clock, keyring }: Core, afterCommit: () => void) {
  return createExecutor({
    database,
    clock,
    keyring,
    across_accounts: config.batch_by === "installation",
    findActiveCredentials: (tx, ...ids) => findActiveCredentials(tx, clock, ...ids),
    afterCommit,
  });
}

async function ensureRecurringTasks({ database, clock, first_start }: Core): Promise<void> {
  const account_id = first_start.operator.id;
  for (const kind of RECURRING_TASKS) {
    await ensureRecurring(database, { account_id, kind, now: clock.now() });
  }
}

/** What quotes, offramps, onramps and their tasks work with. */
async function openRamp(core: Core, partners: Partners, publicUrl: () => string, log: TaskLog) {
  const { config, database, catalogue, clock } = core;
  const source = openRateSource(config);
  const fees = readFees(config);
  const max_age_ms = config.rates_max_age_minutes * 60_000;
  const price_deps = { database, catalogue, source, fees, max_age_ms, log };
  const prices = await openPrices(price_deps, clock.now());
  return {
    ...core,
    ...partners,
    identity: partners.identity ?? createReviewerIdentity(),
    kyc_retention_days: config.kyc_retention_days,
    prices,
    four_eyes: {
      limit_usd: config.four_eyes_usd,
      usdValue: (session: Session) => usdValue(prices, session),
      keyring: core.keyring,
    },
    renderer: createOfframpRenderer(publicUrl),
    operator_id: core.first_start.operator.id,
    kyc_enforcement: config.kyc_enforcement,
    policy: { kyc_enforcement: config.kyc_enforcement, documents: config.documents },
    quote_life_ms: config.quote_life_minutes * 60_000,
    allow_http: config.mode === "sandbox",
    is_sandbox: config.mode === "sandbox",
    files: await openLocalDirectory(config.data_dir),
    sender: openSender(config),
    bank_horizon_ms: config.bank_horizon_hours * 60 * 60 * 1000,
    log,
  };
}

/** Live mode has no partners yet: it must not start with the sandbox's. */
function openPartners(config: Config, database: Database): Partners {
  if (config.mode === "live") {
    throw new StartupError(
      "Live mode needs a bank and a chain, and this version has adapters for neither; " +
        "use SLIPROAD_MODE=sandbox.",
    );
  }
  return { chain: createSandboxChain(database), bank: createSandboxBank(database) };
}

export function openSender(config: Config) {
  const allow_loopback = config.mode === "sandbox" && isLoopbackHost(config.host);
  return createGuardedSender({ allow_list: config.outbound_allow, allow_loopback });
}

function readFees(config: Config): FeeSchedule {
  if (config.fees_file === undefined) return loadFees();
  try {
    return loadFees(readFileSync(config.fees_file, "utf8"));
  } catch (error) {
    throw new StartupError(`SLIPROAD_FEES_FILE: ${(error as Error).message}`);
  }
}

function readCatalogue(config: Config): Catalogue {
  if (config.catalogue_file === undefined) return loadCatalogue();
  try {
    return loadCatalogue(readFileSync(config.catalogue_file, "utf8"));
  } catch (error) {
    throw new StartupError(`SLIPROAD_CATALOGUE_FILE: ${(error as Error).message}`);
  }
}

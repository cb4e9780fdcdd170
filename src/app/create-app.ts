import type { FastifyInstance } from "fastify";
import {
  createAuthenticate,
  findActiveCredentials,
  type TokenPort,
} from "../accounts/authenticate.ts";
import { addAccountPages } from "../accounts/routes.ts";
import type { RecordPages } from "../approvals/page.ts";
import { addProposalPages, addProposalRoutes } from "../approvals/routes.ts";
import { existsPendingProposal } from "../approvals/store.ts";
import type { AppRules } from "../apps/check-app.ts";
import { addOauth } from "../apps/oauth/routes.ts";
import { SWEEP_OAUTH_TASK, sweepOauthTask } from "../apps/oauth/tasks.ts";
import { openTokens } from "../apps/oauth/token-callers.ts";
import { listApps } from "../apps/store.ts";
import { refundProposalTask } from "../balances/approved-refunds.ts";
import { sendRefundTask } from "../balances/refund-task.ts";
import { addBalanceRoutes } from "../balances/routes.ts";
import { finishDocument } from "../docs/api/finish-document.ts";
import { addDocPages } from "../docs/routes.ts";
import { addInvoicePages } from "../invoices/page-routes.ts";
import { createPdfPress, type PdfPress } from "../invoices/pdf/renderer.ts";
import { createInvoiceRenderer, type InvoiceRenderer } from "../invoices/render.ts";
import { addInvoiceRoutes } from "../invoices/routes.ts";
import { invoiceTasks } from "../invoices/tasks.ts";
import { addKycPages } from "../kyc/form/routes.ts";
import { reviewPath } from "../kyc/review/pages.ts";
import { DECIDE_KYC } from "../kyc/review/proposed-decision.ts";
import { addReviewPages } from "../kyc/review/routes.ts";
import { addKycRoutes } from "../kyc/routes.ts";
import { READ_IDENTITY_TASK, RETENTION_TASK } from "../kyc/task-kinds.ts";
import { kycTasks } from "../kyc/tasks.ts";
import { changeProposalTasks } from "../offramps/approved-changes.ts";
import { addDocumentPages } from "../offramps/documents/page-routes.ts";
import { documentFilePath } from "../offramps/documents/pages.ts";
import { reviewDocuments } from "../offramps/documents/review-documents.ts";
import { addDocumentRoutes } from "../offramps/documents/routes.ts";
import { addUploadedDocumentRoutes } from "../offramps/documents/uploaded-document-routes.ts";
import { offrampMetrics } from "../offramps/metrics.ts";
import { addQuoteRoutes } from "../offramps/quotes/routes.ts";
import { addOfframpRoutes } from "../offramps/routes.ts";
import { CHASE_PAYOUTS_TASK, READ_BANK_TASK, WATCH_CHAINS_TASK } from "../offramps/task-kinds.ts";
import { offrampTasks } from "../offramps/tasks.ts";
import { addDepositRoutes } from "../onramps/deposits/routes.ts";
import { depositMetrics } from "../onramps/metrics.ts";
import { addOnrampRoutes } from "../onramps/routes.ts";
import { READ_CREDITS_TASK } from "../onramps/task-kinds.ts";
import { onrampTasks } from "../onramps/tasks.ts";
import { type FileType, judgeFile } from "../partners/files/judge-file.ts";
import { addPaymentDetailRoutes } from "../payment-details/routes.ts";
import { TRIM_ATTEMPTS_TASK, trimAttemptsTask } from "../platform/attempts/tasks.ts";
import { createExecutor, type Executor } from "../platform/commands/executor.ts";
import { TRIM_COMMANDS_TASK, trimCommandsTask } from "../platform/commands/tasks.ts";
import type { Config } from "../platform/config/config.ts";
import { addOpenApi, addOpenApiRoute } from "../platform/http/docs.ts";
import { addHealthRoutes } from "../platform/http/health.ts";
import { type AddRoute, addRoute } from "../platform/http/route.ts";
import { createServer, type LogDestination } from "../platform/http/server.ts";
import { type AddUploadRoute, addUploadRoute } from "../platform/http/upload-route.ts";
import { createMetrics, type Metrics } from "../platform/metrics/metrics.ts";
import type { MetricSource } from "../platform/metrics/model.ts";
import { signingKey } from "../platform/sealing/seal.ts";
import { signingSeed } from "../platform/sealing/signing-seed.ts";
import { SEAL_TASK, sealTask } from "../platform/sealing/tasks.ts";
import { taskMetrics } from "../platform/tasks/task-metrics.ts";
import { ensureRecurring } from "../platform/tasks/tasks.ts";
import type { Worker } from "../platform/tasks/worker.ts";
import { watchInstallation } from "../platform/watch-installation.ts";
import { addFeeRoutes } from "../prices/fee-routes.ts";
import { rateMetrics } from "../prices/metrics.ts";
import { addRateRoutes } from "../prices/rate-routes.ts";
import { REFRESH_RATES_TASK, refreshRatesTask } from "../prices/tasks.ts";
import { addCryptoTransferRoute } from "../sandbox/crypto-transfer-route.ts";
import { addSandboxInvoiceRoute } from "../sandbox/invoice-routes.ts";
import { addSandboxRoutes } from "../sandbox/routes.ts";
import { addUserRoutes } from "../users/routes.ts";
import { addAppPages } from "../webhooks/app-page-routes.ts";
import { addAppRoutes } from "../webhooks/app-routes.ts";
import { createDeliveryWorker, withDeliveries } from "../webhooks/delivery-worker.ts";
import { addEventRoutes } from "../webhooks/event-routes.ts";
import { fanOutTask } from "../webhooks/fan-out.ts";
import { webhookMetrics } from "../webhooks/metrics.ts";
import { TRIM_EVENTS_TASK } from "../webhooks/model.ts";
import { replayTask } from "../webhooks/replay-app.ts";
import { trimEventsTask } from "../webhooks/trim-events.ts";
import { isPrivate } from "./is-private.ts";
import type { Core } from "./open-core.ts";
import { openPartners, openRamp, type Partners } from "./open-parts.ts";

export { type Core, openCore } from "./open-core.ts";
export { openSender, type Partners } from "./open-parts.ts";

const RECURRING_TASKS = [
  SEAL_TASK,
  TRIM_COMMANDS_TASK,
  TRIM_ATTEMPTS_TASK,
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

/** Where a proposal's record is shown, by the kind of the proposal. */
const RECORD_PAGES: RecordPages = {
  [DECIDE_KYC]: {
    label: "Review the user's identity",
    pathOf: ({ account_id, record_id }) => reviewPath({ account_id, user_id: record_id }),
  },
  [reviewDocuments.name]: {
    label: "View the document",
    pathOf: ({ record_id }) => documentFilePath(record_id),
  },
};

export type App = {
  server: FastifyInstance;
  worker: Worker;
  /** For a process that serves no API: health and metrics alone. Whoever asks for it closes it. */
  createHealthServer(): FastifyInstance;
  /** Ends requests in flight, then running tasks, then the database connections. */
  close(): Promise<void>;
};

/** Puts the program together. `publicUrl` is known once the server listens. */
export async function createApp(
  core: Core,
  publicUrl: () => string,
  partners: Partners = openPartners(core.config, core.database),
  log_destination?: LogDestination,
): Promise<App> {
  const { config, database, clock, index_key } = core;
  const tokens = openTokens(core);
  const server_options = {
    ...config,
    ...(log_destination ? { log_destination } : {}),
    public_url: publicUrl,
    authenticate: createAuthenticate(core, config.mode, tokens),
  };
  const server = createServer(server_options);
  const ramp = await openRamp(core, partners, publicUrl, server.log);
  const metrics = createMetrics({
    database,
    clock,
    sources: listMetricSources(ramp),
    log: server.log,
  });
  const invoice_deps = {
    ...core,
    tokens,
    renderer: createInvoiceRenderer({ public_url: publicUrl, mode: config.mode, index_key }),
  };
  const deliveries = createDeliveryWorker({ ...ramp, countAttempt: metrics.countAttempt });
  const worker = withDeliveries(deliveries, {
    database,
    clock,
    log: server.log,
    handlers: listHandlers(ramp, invoice_deps, deliveries.poke),
  });
  const executor = openExecutor(core, tokens, worker.poke);
  const deps = {
    ...ramp,
    executor,
    app_rules: { allow_http: ramp.allow_http, refuseUrl: ramp.sender.refuse },
    poke: worker.poke,
    public_url: publicUrl,
    mode: config.mode,
    metrics,
    metrics_token: config.metrics_token,
    is_private: isPrivate(config),
  };
  await addOpenApi(server, finishDocument);
  const press = createPdfPress();
  addRoutes(server, deps, { ...deps, ...invoice_deps, press });
  addOpenApiRoute(server);
  await ensureRecurringTasks(core);
  const stopWatching = watchInstallation(core);
  const close = async () => {
    await stopWatching();
    // Requests that wait for a PDF would hold the server up.
    await Promise.all([server.close(), press.close()]);
    await worker.stop();
    ramp.sender.close();
    await database.close();
  };
  const createHealthServer = () => {
    const health = createServer(server_options);
    addHealthRoutes(health, deps);
    return health;
  };
  return { server, worker, createHealthServer, close };
}

type Ramp = Awaited<ReturnType<typeof openRamp>>;
type InvoiceParts = Core & { renderer: InvoiceRenderer; tokens: TokenPort };

/** All background work, in the order of the rooms. */
function listHandlers(ramp: Ramp, invoices: InvoiceParts, wakeDeliveries: () => void) {
  const { config, database, clock, log } = ramp;
  const signing_key = signingKey(signingSeed(config));
  return [
    sealTask(database, signing_key, log),
    trimCommandsTask(database, clock),
    trimAttemptsTask(database, clock),
    sweepOauthTask(database, clock),
    fanOutTask({ ...ramp, signing_key, wakeDeliveries }),
    replayTask({ database, wakeDeliveries }),
    trimEventsTask({ ...config, database }),
    ...kycTasks(ramp),
    ...invoiceTasks({ ...invoices, chain: ramp.chain }),
    refreshRatesTask(database, ramp.prices),
    sendRefundTask(ramp),
    refundProposalTask(ramp),
    ...offrampTasks(ramp),
    ...changeProposalTasks(ramp),
    ...onrampTasks(ramp),
  ];
}

/** What `/metrics` tells beside the process itself, in the order of the modules. */
function listMetricSources({ operator_id }: Ramp): MetricSource[] {
  return [taskMetrics, webhookMetrics, rateMetrics, offrampMetrics, depositMetrics(operator_id)];
}

type Deps = Ramp & {
  executor: Executor;
  app_rules: AppRules;
  poke: () => void;
  public_url: () => string;
  mode: Config["mode"];
  metrics: Metrics;
  metrics_token: string | undefined;
  is_private: boolean;
};

/** All routes, in the order of the rooms; pages for people come last. */
function addRoutes(
  server: FastifyInstance,
  deps: Deps,
  invoices: Omit<Deps, "renderer"> & InvoiceParts & { press: PdfPress },
) {
  const { index_key, files, executor } = deps;
  const add: AddRoute = (spec) => addRoute(server, index_key, spec, executor.keepAnswer);
  const addUpload: AddUploadRoute<FileType> = (spec) =>
    addUploadRoute(server, index_key, { ...files, judge: judgeFile }, spec);

  addHealthRoutes(server, deps);
  addProposalRoutes(add, deps);
  addAppRoutes(add, deps);
  addEventRoutes(add, deps);
  addUserRoutes(add, deps);
  addKycRoutes(add, deps);
  addPaymentDetailRoutes(add, deps);
  addInvoiceRoutes(add, invoices);
  addRateRoutes(add, deps);
  addFeeRoutes(add, deps);
  addBalanceRoutes(add, deps);
  addQuoteRoutes(add, deps);
  addOfframpRoutes(add, deps);
  addDocumentRoutes(add, addUpload, deps);
  addUploadedDocumentRoutes(add, addUpload, deps);
  addOnrampRoutes(add, deps);
  addDepositRoutes(add, deps);
  if (deps.mode === "sandbox") {
    addSandboxRoutes(add, deps);
    addSandboxInvoiceRoute(add, invoices);
    addCryptoTransferRoute(add, deps);
  }
  addOauth(server, add, deps);
  addAppPages(server, deps);
  addKycPages(server, deps);
  addReviewPages(server, deps);
  addDocumentPages(server, deps);
  addInvoicePages(server, invoices);
  addProposalPages(server, { ...deps, record_pages: RECORD_PAGES });
  addDocPages(server, deps);
  addAccountPages(server, { ...deps, existsPendingProposal, listApps });
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
    findActiveCredentials: (tx, ...ids) => findActiveCredentials(tx, tokens, ...ids),
    afterCommit,
  });
}

async function ensureRecurringTasks({ database, clock, first_start }: Core): Promise<void> {
  const account_id = first_start.operator.id;
  for (const kind of RECURRING_TASKS) {
    await ensureRecurring(database, { account_id, kind, now: clock.now() });
  }
}

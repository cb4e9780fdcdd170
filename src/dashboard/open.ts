import type { OfframpDeps } from "../offramps/open.ts";
import type { FileStore } from "../partners/files/file-store.ts";
import type { ScreeningPort } from "../partners/screening/port.ts";
import type { Module, ModuleCore } from "../platform/module.ts";
import type { ScreenUsers } from "../users/clearance.ts";
import { verifyBooksTask } from "../verify/runs/tasks.ts";
import { addApprovalRoutes } from "./approvals/routes.ts";
import { addBankAccountListRoute } from "./bank-accounts/route.ts";
import { addBatchRoutes } from "./batches/routes.ts";
import { DELETE_BATCHES_TASK, deleteBatchesTask } from "./batches/tasks.ts";
import { addBooksRoutes } from "./books/routes.ts";
import { addChangeStream } from "./changes/routes.ts";
import { openChangeWatch } from "./changes/watch-changes.ts";
import { addCandidatesRoute } from "./deposits/candidate-routes.ts";
import { addCoinDepositRoute } from "./deposits/coin-routes.ts";
import { addOnrampRoutes } from "./deposits/onramp-routes.ts";
import { addSendRoute } from "./deposits/send-routes.ts";
import { addDocumentReviewRoutes } from "./documents/routes.ts";
import { addNamesRoute } from "./names-routes.ts";
import { addOverviewRoute } from "./overview/routes.ts";
import { addPayoutListRoute } from "./payouts/list-route.ts";
import { addPayoutRoute } from "./payouts/show-route.ts";
import { addPayoutViewRoutes } from "./payouts/view-routes.ts";
import { addQuoteRoutes } from "./quotes/routes.ts";
import { addRecordWebhooksRoute } from "./record-webhooks/routes.ts";
import { addRecordPage } from "./records/page.ts";
import { addSearchRoute } from "./search/route.ts";
import { addSettingsRoutes } from "./settings/routes.ts";
import { addDashboardShell } from "./shell.ts";
import { addWebhookRoutes } from "./webhooks/routes.ts";

type DashboardNeeds = {
  files: FileStore;
  offramps: { deps: OfframpDeps };
  screening: ScreeningPort;
  screenUsers: ScreenUsers;
};

/** The page that members see and steer everything with, and the reads that only it needs. */
export function openDashboardModule(core: ModuleCore, needs: DashboardNeeds): Module {
  const changes = openChangeWatch(core);
  let endStreams = () => {};
  return {
    routes: (addRoute, server) => {
      addNamesRoute(addRoute, core);
      addPayoutRoute(addRoute, core);
      addQuoteRoutes(addRoute, core);
      addBooksRoutes(addRoute, core);
      addRecordWebhooksRoute(addRoute, core);
      addPayoutListRoute(addRoute, core);
      addPayoutViewRoutes(addRoute, core);
      addSearchRoute(addRoute, core);
      addBankAccountListRoute(addRoute, core);
      endStreams = addChangeStream(server, { ...core, changes }).end;
      addOnrampRoutes(addRoute, core);
      addCoinDepositRoute(addRoute, core);
      addCandidatesRoute(addRoute, core);
      addSendRoute(addRoute, core);
      const is_every_checked = core.config.documents === "review";
      addOverviewRoute(addRoute, { ...core, is_every_checked });
      addDocumentReviewRoutes(addRoute, { ...needs.offramps.deps, is_every_checked });
      addWebhookRoutes(addRoute, core);
      addApprovalRoutes(addRoute, core);
      addBatchRoutes(addRoute, {
        ...needs.offramps.deps,
        screening: needs.screening,
        screenUsers: needs.screenUsers,
        kyc_enforcement: core.config.kyc_enforcement,
      });
      addSettingsRoutes(addRoute, core);
    },
    tasks: [deleteBatchesTask(core), verifyBooksTask({ ...core, files: needs.files })],
    recurring: [DELETE_BATCHES_TASK],
    pages: (server) => {
      addRecordPage(server, { ...core, retention_years: core.config.retention_years });
      addDashboardShell(server, core);
    },
    close: async () => {
      changes.close();
      endStreams();
    },
  };
}

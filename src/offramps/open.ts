import type { ApprovalRules } from "../approvals/with-approval.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import type { LimitDeps } from "../limits/load-limits.ts";
import type { BankPort } from "../partners/bank/port.ts";
import type { ChainPort } from "../partners/chain/port.ts";
import type { DocumentSource } from "../partners/documents/port.ts";
import type { FileStore } from "../partners/files/file-store.ts";
import { type FileType, judgeFile } from "../partners/files/judge-file.ts";
import type { Leaving } from "../partners/leaving.ts";
import { HOUR_MS, MINUTE_MS } from "../platform/durations.ts";
import { type AddUploadRoute, addUploadRoute } from "../platform/http/uploads/upload-route.ts";
import type { Module, ModuleCore } from "../platform/module.ts";
import type { PriceBook } from "../prices/price-book.ts";
import { changeProposalTasks } from "./approved-changes.ts";
import { addDocumentRoutes } from "./documents/routes.ts";
import { addUploadedDocumentRoutes } from "./documents/uploaded-document-routes.ts";
import { resolutionProposalTask } from "./exceptions/approved-resolutions.ts";
import { resolveExceptionTask } from "./exceptions/decide-in-steps.ts";
import { addExceptionRoutes } from "./exceptions/routes.ts";
import { offrampMetrics } from "./metrics.ts";
import { payQuoteTask } from "./quotes/approval-task.ts";
import { addPayoutsRoute } from "./quotes/payouts-routes.ts";
import { addQuoteRoutes } from "./quotes/routes.ts";
import { createOfframpRenderer } from "./render.ts";
import { addOfframpRoutes } from "./routes.ts";
import { FLAG_UNANSWERED_PAYOUTS_TASK, READ_BANK_TASK, WATCH_CHAINS_TASK } from "./task-kinds.ts";
import { offrampTasks } from "./tasks.ts";

type OfframpNeeds = {
  catalogue: Catalogue;
  chain: ChainPort;
  bank: BankPort;
  leaving: Leaving;
  files: FileStore;
  documents: DocumentSource;
  prices: PriceBook;
  approvals: ApprovalRules;
  limits: LimitDeps;
};
export type OfframpDeps = ReturnType<typeof offrampDeps>;
type OfframpsModule = Module & { deps: OfframpDeps };

/** What the use cases of offramps need, from the settings. */
function offrampDeps(core: ModuleCore, needs: OfframpNeeds) {
  const { config } = core;
  return {
    ...core,
    ...needs,
    renderer: createOfframpRenderer(core.public_url, core.clock),
    policy: config,
    deposit_tolerance: config.deposit_tolerance,
    quotes_open_max: config.quotes_open_max,
    rate_hold_ms: config.rate_hold_hours * HOUR_MS,
    reroute_ms: config.reroute_hours * HOUR_MS,
    rate_slippage_basis_points: config.rate_slippage_basis_points,
    return_cost_max_basis_points: config.return_cost_max_basis_points,
    return_cost_max_usd: BigInt(config.return_cost_max_usd) * 100n,
    deposit_in_time_percent: config.deposit_in_time_percent,
    quote_life_ms: config.quote_life_minutes * MINUTE_MS,
    canary_usd: config.canary_usd,
    bank_horizon_ms: config.bank_horizon_hours * HOUR_MS,
  };
}

export function openOfframpsModule(core: ModuleCore, needs: OfframpNeeds): OfframpsModule {
  const deps = offrampDeps(core, needs);
  const files = { ...needs.files, judge: judgeFile };
  return {
    deps,
    routes: (addRoute, server) => {
      const addUpload: AddUploadRoute<FileType> = (spec) =>
        addUploadRoute(server, core.index_key, files, spec);
      addQuoteRoutes(addRoute, deps);
      addPayoutsRoute(addRoute, deps);
      addOfframpRoutes(addRoute, deps);
      addExceptionRoutes(addRoute, deps);
      addDocumentRoutes(addRoute, addUpload, deps);
      addUploadedDocumentRoutes(addRoute, addUpload, deps);
    },
    tasks: [
      ...[...offrampTasks(deps), ...changeProposalTasks(deps)],
      ...[payQuoteTask(deps), resolutionProposalTask(deps), resolveExceptionTask(deps)],
    ],
    recurring: [WATCH_CHAINS_TASK, READ_BANK_TASK, FLAG_UNANSWERED_PAYOUTS_TASK],
    metrics: [offrampMetrics],
  };
}

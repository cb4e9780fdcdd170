import type { TokenPort } from "../accounts/authenticate.ts";
import { openAccountsModule } from "../accounts/open.ts";
import { openApprovalsModule } from "../approvals/open.ts";
import { openAppsModule } from "../apps/open.ts";
import { openBalancesModule } from "../balances/open.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import { openDashboardModule } from "../dashboard/open.ts";
import { openDocsModule } from "../docs/open.ts";
import { openInvoicesModule } from "../invoices/open.ts";
import { openKycModule } from "../kyc/open.ts";
import { openLimitsModule } from "../limits/open.ts";
import { assertReserved } from "../offramps/assert-reserved.ts";
import { openOfframpsModule } from "../offramps/open.ts";
import { openOnrampsModule } from "../onramps/open.ts";
import type { FileStore } from "../partners/files/file-store.ts";
import { holdBank, holdChain } from "../partners/hold/hold-ports.ts";
import { createReviewerIdentity } from "../partners/identity/reviewers.ts";
import { ALWAYS_LEAVING } from "../partners/leaving.ts";
import { openMail } from "../partners/mail/open-mail.ts";
import type { GuardedSender } from "../partners/outbound-http/guarded-sender.ts";
import { openPaymentDetailsModule } from "../payment-details/open.ts";
import type { Clock, SandboxClock } from "../platform/clock.ts";
import type { AddRoute } from "../platform/http/route.ts";
import type { Module, ModuleCore } from "../platform/module.ts";
import { openPlatformModule } from "../platform/open.ts";
import { openPricesModule } from "../prices/open.ts";
import { openReconcileModule } from "../reconcile/open.ts";
import { openReportsModule } from "../reports/open.ts";
import { openRetentionModule } from "../retention/open.ts";
import { openSandboxModule } from "../sandbox/open.ts";
import { openScreeningModule } from "../screening/open.ts";
import { screenBeforeDoors } from "../screening/screen-before-doors.ts";
import { openTravelModule } from "../travel/open.ts";
import { openUsersModule } from "../users/open.ts";
import { openWebhooksModule } from "../webhooks/open.ts";
import { openAskOwner } from "./ask-owner.ts";
import { openDocuments, openScreening, type Partners } from "./open-partners.ts";

type Parts = Partners & {
  /** The clock that the sandbox can move. */
  clock: Clock & SandboxClock;
  catalogue: Catalogue;
  tokens: TokenPort;
  files: FileStore;
  sender: GuardedSender;
};

/**
 * All modules, in dependency order. Each receives what it needs from earlier ones, and lists its
 * routes, pages and background work in its `open.ts`.
 */
export async function openModules(core: ModuleCore, parts: Parts) {
  const { catalogue, clock, files, sender, tokens, openWatcher, openBanks, hold } = parts;
  const leaving = hold?.gate ?? ALWAYS_LEAVING;
  const [bank, chain] = [holdBank(parts.bank, leaving), holdChain(parts.chain, leaving)];
  const { identity = createReviewerIdentity() } = parts;
  const documents = openDocuments(core.mode, sender);
  const screening = await openScreening(core.config);
  const screened = await openScreeningModule(core, { screening });
  const { screenUsers, screenWritten } = screened;
  const webhooks = openWebhooksModule(core, { sender });
  const kyc = openKycModule(core, { catalogue, files, identity });
  const priced = await openPricesModule(core, { catalogue });
  const { prices, approvals, fees } = priced;
  const limited = openLimitsModule(core, { prices });
  const { limits } = limited;
  const traveling = openTravelModule(core, { limits });
  const { travel } = traveling;
  const invoices = openInvoicesModule(core, { tokens, chain });
  const payouts = { catalogue, chain, bank, leaving, files, documents, prices, approvals, limits };
  const offramps = openOfframpsModule(core, payouts);
  const modules: Module[] = [
    openPlatformModule(core, hold?.gate.noteSealed),
    ...(hold ? [hold.openModule(core.log)] : []),
    ...(openWatcher ? [openWatcher(core.log, openAskOwner(core))] : []),
    ...(openBanks ? [openBanks(core.log)] : []),
    openAccountsModule(core, { mail: openMail(core) }),
    openApprovalsModule(core),
    openAppsModule(core, { sender }),
    webhooks,
    openUsersModule(core, { catalogue, screenWritten }),
    kyc,
    openPaymentDetailsModule(core, { catalogue, screening, screenWritten }),
    screened,
    priced,
    limited,
    traveling,
    openBalancesModule(core, {
      ...{ catalogue, chain, approvals, limits, screenUsers, travel, assertReserved },
    }),
    invoices,
    offramps,
    openOnrampsModule(core, {
      ...{ catalogue, chain, bank, prices, approvals, limits, travel, screening, screenUsers },
    }),
    openReconcileModule(core, {
      chains: openWatcher !== undefined,
      banks: openBanks !== undefined,
    }),
    openRetentionModule(core),
    openReportsModule(core, { files }),
    openSandboxModule(core, { clock, offramps, invoices, travel }),
    openDashboardModule(core, { files, offramps, screening, screenUsers }),
    openDocsModule(core, { catalogue, fees }),
  ];
  const addAfterScreening = (addRoute: AddRoute) => screenBeforeDoors(addRoute, screenUsers);
  return { modules, deliveries: webhooks.deliveries, addAfterScreening };
}

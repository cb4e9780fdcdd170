import type { RecordPages } from "../approvals/page.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import type { FileStore } from "../partners/files/file-store.ts";
import type { IdentityPort } from "../partners/identity/port.ts";
import type { Module, ModuleCore } from "../platform/module.ts";
import { addKycPages } from "./form/routes.ts";
import { addMemberReviewRoutes } from "./review/member-routes.ts";
import { reviewPath } from "./review/pages.ts";
import { DECIDE_KYC } from "./review/proposed-decision.ts";
import { addReviewPages } from "./review/routes.ts";
import { addKycRoutes } from "./routes.ts";
import { READ_IDENTITY_TASK } from "./task-kinds.ts";
import { kycTasks } from "./tasks.ts";

type KycModule = Module & { record_pages: RecordPages };

export function openKycModule(
  core: ModuleCore,
  needs: { catalogue: Catalogue; files: FileStore; identity: IdentityPort },
): KycModule {
  const { swift_clearance } = core.config;
  const deps = { ...core, ...needs, swift_clearance };
  return {
    record_pages: {
      [DECIDE_KYC]: {
        label: "Review the user's identity",
        pathOf: ({ account_id, record_id }) => reviewPath({ account_id, user_id: record_id }),
      },
    },
    routes: (addRoute) => {
      addKycRoutes(addRoute, deps);
      addMemberReviewRoutes(addRoute, deps);
    },
    pages: (server) => {
      addKycPages(server, deps);
      addReviewPages(server, deps);
    },
    tasks: kycTasks(deps),
    recurring: [READ_IDENTITY_TASK],
  };
}

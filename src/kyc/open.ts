import type { Catalogue } from "../catalogue/catalogue.ts";
import type { FileStore } from "../partners/files/file-store.ts";
import type { IdentityPort } from "../partners/identity/port.ts";
import type { Module, ModuleCore } from "../platform/module.ts";
import { addKycPages } from "./form/routes.ts";
import { addReviewFileRoute } from "./review/file-route.ts";
import { addMemberReviewRoutes, REVIEWS_PATH } from "./review/member-routes.ts";
import { addKycRoutes } from "./routes.ts";
import { READ_IDENTITY_TASK } from "./task-kinds.ts";
import { kycTasks } from "./tasks.ts";

export function openKycModule(
  core: ModuleCore,
  needs: { catalogue: Catalogue; files: FileStore; identity: IdentityPort },
): Module {
  const { swift_clearance } = core.config;
  const deps = { ...core, ...needs, swift_clearance };
  return {
    routes: (addRoute) => {
      addKycRoutes(addRoute, deps);
      addMemberReviewRoutes(addRoute, deps);
    },
    pages: (server) => {
      addKycPages(server, deps);
      addReviewFileRoute(server, deps, REVIEWS_PATH);
    },
    tasks: kycTasks(deps),
    recurring: [READ_IDENTITY_TASK],
  };
}

import type { AddRoute } from "../../platform/http/route.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { addAuditRoute } from "./audit-routes.ts";
import { addKeyRoutes } from "./key-routes.ts";
import { addMemberRoutes } from "./member-routes.ts";
import { addRequestRoutes } from "./request-routes.ts";
import { addSecurityRoutes } from "./security-routes.ts";

/** The settings of an account and of its members. */
export function addSettingsRoutes(addRoute: AddRoute, core: ModuleCore): void {
  addKeyRoutes(addRoute, core);
  addMemberRoutes(addRoute, core);
  addSecurityRoutes(addRoute, core);
  addAuditRoute(addRoute, core);
  addRequestRoutes(addRoute, core);
}

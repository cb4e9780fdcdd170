import Type from "typebox";
import { listQuery, requirePage } from "../../platform/http/list.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { nameReferences } from "./name-references.ts";
import { listAuditLog } from "./store.ts";

const WORD = Type.Optional(Type.String({ maxLength: 100 }));

/** Who did what in the account, with the names of those who acted and of what they acted on. */
export function addAuditRoute(addRoute: AddRoute, deps: ModuleCore): void {
  addRoute({
    method: "GET",
    path: "/dashboard/api/audit",
    operation: "listAuditLog",
    summary: "List the audit log",
    description: "Newest first; `next` begins the next page.",
    tag: "Dashboard",
    members_only: true,
    query: listQuery({ actor: WORD, kind: WORD }),
    answer: Type.Unknown(),
    errors: [],
    handle: async ({ caller: { account_id }, query, problems }) => {
      const { actor = null, kind = null } = query;
      const page = { ...requirePage(query, problems), actor, kind };
      const { entries, next } = await listAuditLog(deps.database, account_id, page);
      const references = entries.flatMap((entry) => [entry.actor, entry.record]);
      const names = await nameReferences(deps, account_id, references);
      const shown = entries.map(({ id, at, actor: who, action, record, reason, detail }) => ({
        ...{ id, at, actor: who, action, record, reason, detail: JSON.parse(detail) },
      }));
      return JSON.stringify({ entries: shown, names, next });
    },
  });
}

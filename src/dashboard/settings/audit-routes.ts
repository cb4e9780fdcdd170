import Type from "typebox";
import { listQuery, requirePage } from "../../platform/http/list.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { describeReferences, idsIn, nameActors } from "./name-references.ts";
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
    handle: async ({ caller, query, problems }) => {
      const { account_id } = caller;
      const { actor = null, kind = null } = query;
      const page = { ...requirePage(query, problems), actor, kind };
      const { entries, next } = await listAuditLog(deps.database, account_id, page);
      const shown = entries.map(({ id, at, actor: who, action, record, reason, detail }) => ({
        ...{ id, at, actor: who, action, record, reason, detail: JSON.parse(detail) },
      }));
      const ids = idsIn(shown.flatMap((entry) => [entry.actor, entry.record, ...texts(entry)]));
      const [names, records] = await Promise.all([
        nameActors(deps, account_id, ids),
        describeReferences(deps, caller, ids),
      ]);
      return JSON.stringify({ entries: shown, names, records, next });
    },
  });
}

/** The texts among what was set; those that are ids are named. */
function texts({ detail }: { detail: Record<string, unknown> }): string[] {
  return Object.values(detail).filter((value) => typeof value === "string");
}

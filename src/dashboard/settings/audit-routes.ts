import Type from "typebox";
import { listApiKeysOfAccount } from "../../accounts/api-key-store.ts";
import type { AuditRow } from "../../accounts/audit-store.ts";
import { openEmail } from "../../accounts/person-email.ts";
import { listMembersById } from "../../accounts/store.ts";
import { listApps } from "../../apps/store.ts";
import { listQuery, requirePage } from "../../platform/http/list.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import { isId } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { listAuditLog } from "./store.ts";

const KEYS_MAX = 1_000;
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
      const names = await nameIn(deps, account_id, entries);
      const shown = entries.map(({ id, at, actor: who, action, record, reason, detail }) => ({
        ...{ id, at, actor: who, action, record, reason, detail: JSON.parse(detail) },
      }));
      return JSON.stringify({ entries: shown, names, next });
    },
  });
}

/** Names by id, as far as they belong to this account. */
async function nameIn(
  { database, index_key }: ModuleCore,
  account_id: string,
  entries: readonly AuditRow[],
): Promise<Record<string, string>> {
  const references = entries.flatMap(({ actor, record }) => [actor, record]);
  const ids = new Set(references.map((text) => text.split(":")[1] ?? "").filter(isId));
  const [people, keys, apps] = await Promise.all([
    listMembersById(database, [account_id], [...ids]),
    listApiKeysOfAccount(database, account_id, KEYS_MAX),
    listApps(database, account_id),
  ]);
  return Object.fromEntries([
    ...people.map((row) => [row.person_id, openEmail(index_key, row.person_id, row.email)]),
    ...keys.filter(({ id }) => ids.has(id)).map((key) => [key.id, key.name || `…${key.last_four}`]),
    ...apps.filter(({ id }) => ids.has(id)).map((app) => [app.id, app.name]),
  ]);
}

import { listApiKeysOfAccount } from "../../accounts/api-key-store.ts";
import { openEmail } from "../../accounts/person-email.ts";
import { listMembersById } from "../../accounts/store.ts";
import { listApps } from "../../apps/store.ts";
import { isId } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";

const KEYS_MAX = 1_000;

/** Names by id of references such as `member:<id>`, as far as they belong to this account. */
export async function nameReferences(
  { database, index_key }: Pick<ModuleCore, "database" | "index_key">,
  account_id: string,
  references: readonly string[],
): Promise<Record<string, string>> {
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

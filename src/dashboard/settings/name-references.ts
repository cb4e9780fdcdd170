import { listApiKeysById } from "../../accounts/api-key-store.ts";
import { sessionOf } from "../../accounts/member-callers/authenticate-member.ts";
import { openEmail } from "../../accounts/person-email.ts";
import { may } from "../../accounts/roles.ts";
import { listMembersById } from "../../accounts/store.ts";
import { listProposalNames } from "../../approvals/pending-store.ts";
import { listAppNames } from "../../apps/store.ts";
import type { Caller } from "../../platform/http/route.ts";
import { isId } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { describeRecords, type Hit } from "../search/describe-records.ts";
import { listByIds } from "../search/store.ts";

type NameDeps = Pick<ModuleCore, "database" | "index_key" | "keyring">;

/** Names by id of those who act, as far as they belong to this account. */
export async function nameActors(
  { database, index_key }: Pick<NameDeps, "database" | "index_key">,
  account_id: string,
  ids: readonly string[],
  /** Where nothing else says that it is a key. */
  before_key = "",
): Promise<Record<string, string>> {
  const [people, keys, apps] = await Promise.all([
    listMembersById(database, [account_id], [...ids]),
    listApiKeysById(database, ids),
    listAppNames(database, account_id, ids),
  ]);
  return Object.fromEntries([
    ...people.map((row) => [row.person_id, openEmail(index_key, row.person_id, row.email)]),
    ...keys
      .filter((key) => key.account_id === account_id)
      .map((key) => [key.id, before_key + (key.name || `…${key.last_four}`)]),
    ...apps.map((app) => [app.id, app.name]),
  ]);
}

/** The id of a reference such as `member:<id>`. */
export function idsIn(references: readonly string[]): string[] {
  const ids = references.map((text) => text.slice(text.indexOf(":") + 1)).filter(isId);
  return [...new Set(ids)];
}

/** What a proposal or a record is; `note` says whether a proposal still waits. */
type Described = Hit | { kind: "proposal"; id: string; title: string; note: string };

/** The records with these ids, as far as the caller may see them. */
export async function describeReferences(
  deps: NameDeps,
  { account_id, credential_id }: Caller,
  ids: readonly string[],
): Promise<Record<string, Described>> {
  const { database } = deps;
  const may_see = may(sessionOf(credential_id).role, "see_records");
  const [proposals, found] = await Promise.all([
    listProposalNames(database, account_id, ids),
    may_see ? listByIds(database, account_id, ids) : [],
  ]);
  const described: Described[] = [
    ...proposals.map(({ id, summary, status }) => {
      return { kind: "proposal" as const, id, title: summary, note: status };
    }),
    ...(await describeRecords(deps, account_id, found)),
  ];
  return Object.fromEntries(described.map((one) => [one.id, one]));
}

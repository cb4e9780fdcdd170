import type { Session } from "../platform/db/database.ts";
import { isId } from "../platform/ids.ts";
import { listApiKeysOfAccount, type UsedKey } from "./api-key-store.ts";
import { openEmail } from "./person-email.ts";
import { may } from "./roles.ts";
import type { MemberSession } from "./sign-in/sessions.ts";
import {
  type AuditEntryRow,
  listAuditEntries,
  listMembersById,
  listMemberships,
  type Membership,
} from "./store.ts";

export type Dashboard = {
  memberships: Membership[];
  has_pending_proposals: boolean;
  /** Null for roles that may not see them. */
  api_keys: UsedKey[] | null;
  audit_entries: AuditEntryRow[] | null;
  /** Display names for the ids in the audit entries, as far as this account may see them. */
  names: ReadonlyMap<string, string>;
};

const MEMBERSHIPS_MAX = 100;
const API_KEYS_MAX = 100;
const AUDIT_ENTRIES_MAX = 50;

/** Data that the page shows from later modules. */
export type DashboardDeps = {
  database: Session;
  index_key: Buffer;
  existsPendingProposal: (session: Session, member: MemberSession) => Promise<boolean>;
  listApps: (session: Session, account_id: string) => Promise<{ id: string; name: string }[]>;
};

export async function loadDashboard(
  deps: DashboardDeps,
  session: MemberSession,
): Promise<Dashboard> {
  const { database, index_key } = deps;
  const { account_id, person_id } = session;
  const [memberships, has_pending_proposals] = await Promise.all([
    listMemberships(database, person_id, MEMBERSHIPS_MAX),
    deps.existsPendingProposal(database, session),
  ]);
  if (!may(session.role, "see_keys_and_log")) {
    return {
      memberships,
      has_pending_proposals,
      api_keys: null,
      audit_entries: null,
      names: new Map(),
    };
  }
  const [apps, api_keys, audit_entries] = await Promise.all([
    deps.listApps(database, account_id),
    listApiKeysOfAccount(database, account_id, API_KEYS_MAX),
    listAuditEntries(database, account_id, AUDIT_ENTRIES_MAX),
  ]);
  const people = await listMembersById(database, [account_id], idsIn(audit_entries));
  const names = new Map([
    [account_id, session.account_name],
    ...api_keys.map((key) => [key.id, `${key.prefix}…${key.last_four}`] as const),
    ...apps.map((app) => [app.id, app.name] as const),
    ...people.map(
      (row) => [row.person_id, openEmail(index_key, row.person_id, row.email)] as const,
    ),
  ]);
  return { memberships, has_pending_proposals, api_keys, audit_entries, names };
}

function idsIn(entries: readonly AuditEntryRow[]): string[] {
  const references = entries.flatMap((entry) => [entry.actor, entry.record]);
  const ids = references.map((reference) => reference.split(":")[1] ?? "");
  return [...new Set(ids)].filter(isId);
}

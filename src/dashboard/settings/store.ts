import type { AuditRow } from "../../accounts/audit-store.ts";
import type { Session } from "../../platform/db/database.ts";

/** When each member was last here, as far as their sessions still exist. */
export async function listLastSeen(
  session: Session,
  account_id: string,
): Promise<ReadonlyMap<string, Date>> {
  const members = await session.query<{ person_id: string }>(
    "select person_id from members where account_id = $1",
    [account_id],
  );
  const rows = await session.query<{ person_id: string; used_at: Date }>(
    `select person_id, max(used_at) as used_at from sessions
     where person_id = any($2::uuid[]) and account_id = $1 group by person_id`,
    [account_id, members.map((member) => member.person_id)],
  );
  return new Map(rows.map((row) => [row.person_id, row.used_at]));
}

type AuditPage = {
  below_id: string;
  from_id: string;
  /** `kind:id` of who acted, and the beginning of the action's name. */
  actor: string | null;
  kind: string | null;
  limit: number;
};

/** How many entries one page looks at where a filter has no index. */
const READ_MAX = 20_000;

/** Entries of the audit log, newest first, and where the next page begins. */
export async function listAuditLog(
  session: Session,
  account_id: string,
  { below_id, from_id, actor, kind, limit }: AuditPage,
): Promise<{ entries: AuditRow[]; next: string | null }> {
  const rows = await session.query<AuditRow & { read: number; last_id: string }>(
    `with page as materialized (
       select * from audit_entries where account_id = $1 and id < $2 and id >= $3
       order by id desc limit $4
     )
     select entry.*, seen.read, seen.last_id
     from (select count(*)::integer as read, (select id from page order by id limit 1) as last_id
       from page) as seen
     left join lateral (
       select * from page
       where ($5::text is null or actor = $5)
         and ($6::text is null or split_part(action, '.', 1) = $6)
       order by id desc limit $7
     ) as entry on true
     order by entry.id desc`,
    [
      account_id,
      below_id,
      from_id,
      actor === null && kind === null ? limit + 1 : READ_MAX,
      actor,
      kind,
      limit,
    ],
  );
  const entries = rows.filter(({ id }) => id !== null);
  const { read = 0, last_id = null } = rows[0] ?? {};
  const is_filtered = actor !== null || kind !== null;
  if (entries.length === limit && (is_filtered || read > limit)) {
    return { entries, next: entries.at(-1)!.id };
  }
  return { entries, next: is_filtered && read === READ_MAX ? last_id : null };
}

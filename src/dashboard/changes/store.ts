import type { Session } from "../../platform/db/database.ts";
import { accountsOf, perAccount } from "../../platform/db/rows.ts";

/** What happened to a record, without its content. */
export type Change = {
  account_id: string;
  id: string;
  /** What tells of it: an event, an entry of the audit log, or the record itself when it is new. */
  source: "event" | "audit" | "record";
  /** The event's name, or the kind of the record. */
  name: string;
  record_id: string;
  /** Of the audit log. */
  action: string | null;
};

const NEW_RECORDS = [
  ...["quotes", "users", "payment_details", "deposits", "fiat_deposits", "onramps"],
] as const;

/** What is new in these accounts from this id on, the newest of each source first. */
export function listChanges(
  session: Session,
  account_ids: readonly string[],
  from_id: string,
  limit: number,
): Promise<Change[]> {
  const sources = [
    newest("events", "'event' as source, name, record_id::text, null as action"),
    newest(
      "audit_entries",
      "'audit', split_part(record, ':', 1), split_part(record, ':', 2), action",
    ),
    ...NEW_RECORDS.map((table) => newest(table, `'record', '${table}', one.id::text, null`)),
  ];
  const watched = account_ids.map((account_id) => ({ account_id }));
  return perAccount(session, watched, (own) => {
    const accounts = accountsOf(session, own);
    const from = accounts.is_one
      ? "(select $1::uuid as account_id) as watched"
      : "unnest($1::uuid[]) as watched (account_id)";
    return session.query<Change>(
      `select watched.account_id, changes.*
       from ${from} cross join lateral (${sources.join(" union all ")}) as changes`,
      [accounts.value, from_id, limit],
    );
  });
}

function newest(table: string, columns: string): string {
  return `(select one.id, ${columns} from ${table} as one
    where one.account_id = watched.account_id and one.id >= $2 order by one.id desc limit $3)`;
}

import type { Session } from "../platform/db/database.ts";
import { type Check, inOrder } from "./checks.ts";

/** What foreign keys of the hot path would promise (decision 41); `name` is of the child. */
const PARENTS = [
  { child: "ledger_lines", name: "entry_id", parent: "ledger_entries", key: "entry_id" },
  { child: "event_positions", name: "event_id", parent: "events", key: "event_id" },
  { child: "payouts", name: "offramp_id", parent: "offramps", key: "offramp_id" },
  { child: "webhook_deliveries", name: "id", parent: "apps", key: "app_id" },
];

/** The tables whose account is no foreign key. Others refer to a row that has an account. */
const OF_ACCOUNTS = [
  { child: "ledger_entries", name: "id" },
  { child: "ledger_balances", name: "ledger_account" },
  { child: "events", name: "id" },
  { child: "bank_answers", name: "id" },
  { child: "kept_messages", name: "reference" },
  { child: "tasks", name: "id" },
];

/** Every row of one account that belongs to another row has it. */
export const verifyParents: Check = inOrder(
  ...PARENTS.map(({ child, name, parent, key }): Check => {
    const orphan = `select ${name}::text as name, ${key}::text as key from ${child} c
       where account_id = $1 and not exists (
         select from ${parent} p where p.account_id = $1 and p.id = c.${key})
       order by 1 limit 1`;
    return async (session, account_id) => {
      const [row] = await session.query<{ name: string; key: string }>(orphan, [account_id]);
      if (!row) return null;
      const row_name = `the row ${row.name} of ${child} of account ${account_id}`;
      return `${row_name}: there is no ${row.key} in ${parent}`;
    };
  }),
);

/** Every row of a hot table has an account. */
export async function verifyAccountsOfRows(session: Session): Promise<string | null> {
  for (const { child, name } of OF_ACCOUNTS) {
    const [row] = await session.query<{ name: string; account_id: string }>(
      `select ${name}::text as name, account_id from ${child} c
       where not exists (select from accounts a where a.id = c.account_id)
       order by 1 limit 1`,
    );
    if (row) return `the row ${row.name} of ${child}: there is no account ${row.account_id}`;
  }
  return null;
}

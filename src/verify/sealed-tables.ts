import { AUDIT_LOG } from "../accounts/audit.ts";
import { EVENT_LOG } from "../events/record-events.ts";
import { LEDGER_LOG } from "../ledger/sealed.ts";
import type { Session } from "../platform/db/database.ts";
import { hasMacs } from "../platform/sealing/row-mac.ts";
import type { SealedTable } from "../platform/sealing/verify-chain.ts";
import type { Archive } from "../retention/archives/model.ts";
import { ARCHIVES } from "../retention/archives/store.ts";
import { eachPageAbove } from "./checks.ts";

export const SEALED_TABLES: readonly SealedTable[] = [
  { ...AUDIT_LOG, table: "audit_entries" },
  { ...LEDGER_LOG, table: "ledger_entries" },
  { ...EVENT_LOG, table: "events", find_archived: findArchivedEvents },
];

/** Events that are in files only. Whoever can only write SQL must not say that one is. */
async function findArchivedEvents(session: Session, account_id: string) {
  const archived = { count: 0n, last_id: null as string | null };
  const query = `select * from archives where account_id = $1 and table_name = 'event_rows'
    and number > $2 order by number limit $3`;
  const keyOf = ({ number }: Archive) => [number];
  await eachPageAbove<Archive>(
    { session, query, values: [account_id], above: [0n], keyOf },
    async (archives) => {
      if (hasMacs(session)) ARCHIVES.assertVouched(session, archives);
      for (const { row_count, last_id } of archives) {
        archived.count += BigInt(row_count);
        if (archived.last_id === null || last_id > archived.last_id) archived.last_id = last_id;
      }
      return null;
    },
  );
  return archived;
}

export async function existsArchivedEvent(session: Session, account_id: string): Promise<boolean> {
  const rows = await session.query(
    "select from archives where account_id = $1 and table_name = 'event_rows' limit 1",
    [account_id],
  );
  return rows.length > 0;
}

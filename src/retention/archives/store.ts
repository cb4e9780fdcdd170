import { recordAudit } from "../../accounts/audit.ts";
import type { Session, Transaction } from "../../platform/db/database.ts";
import { vouchedTable } from "../../platform/sealing/vouched-rows.ts";
import { insertVouched } from "../../platform/sealing/write-vouched.ts";
import {
  ARCHIVE_ACTION,
  type Archive,
  type ArchivedTable,
  archiveDetail,
  auditRecordOf,
} from "./model.ts";

/** Whoever can only write SQL must not say what was archived. */
export const ARCHIVES = vouchedTable(
  "archives",
  ["account_id", "table_name", "number"],
  ["name", "first_id", "last_id", "row_count", "sha256", "previous", "created_at"],
);

/** Notes a file, also in the sealed audit log: `verify` compares them. */
export function insertArchive(tx: Transaction, archive: Archive): void {
  insertVouched(tx, ARCHIVES, archive);
  const { account_id, created_at } = archive;
  recordAudit(
    tx,
    {
      ...{ account_id, actor: "command line", action: ARCHIVE_ACTION, reason: "" },
      record: auditRecordOf(archive),
      detail: archiveDetail(archive),
    },
    created_at,
  );
}

/** The newest file of the account and table. */
export async function findLastArchive(
  session: Session,
  account_id: string,
  table_name: ArchivedTable,
): Promise<Archive | undefined> {
  const [row] = await session.query<Archive>(
    `select * from archives where account_id = $1 and table_name = $2
     order by number desc limit 1`,
    [account_id, table_name],
  );
  return row && ARCHIVES.assertVouched(session, [row])[0];
}

/** Until the transaction ends, nobody else notes a file of this account and table. */
export async function lockArchives(
  tx: Transaction,
  account_id: string,
  table_name: ArchivedTable,
): Promise<void> {
  await tx.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [
    `archive ${account_id} ${table_name}`,
  ]);
}

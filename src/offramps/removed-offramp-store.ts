import type { Transaction } from "../platform/db/database.ts";
import { columnsOf, insertRows } from "../platform/db/rows.ts";
import type { Offramp } from "./model.ts";

/** Deletes offramps for which no money has moved, and keeps a record that they existed. */
export function deleteOfframps(tx: Transaction, offramps: readonly Offramp[], now: Date): void {
  insertRows(
    tx,
    "removed_offramps",
    `account_id uuid, id uuid, user_id uuid, quote_id uuid, sequence int,
     removed_at timestamptz`,
    offramps.map((offramp) => ({ ...offramp, removed_at: now })),
  );
  const keys = columnsOf(offramps, "account_id", "id");
  tx.write(
    `delete from rejected_documents where (account_id, offramp_id) in (
       select * from unnest($1::uuid[], $2::uuid[]))`,
    keys,
  );
  tx.write(
    `delete from offramps where (account_id, id) in (select * from unnest($1::uuid[], $2::uuid[]))`,
    keys,
  );
}

import type { Transaction } from "../platform/db/database.ts";
import { insertRows, setOf } from "../platform/db/rows.ts";
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
  const set = setOf(tx, "t", "account_id uuid, id uuid", offramps);
  tx.write(
    `delete from rejected_documents d using ${set.from}
     where d.account_id = t.account_id and d.offramp_id = t.id`,
    set.values,
  );
  tx.write(
    `delete from offramps o using ${set.from} where o.account_id = t.account_id and o.id = t.id`,
    set.values,
  );
}

import type { Transaction } from "../platform/db/database.ts";
import type { Offramp } from "./model.ts";

/** Deletes offramps for which no money has moved, and keeps a record that they existed. */
export function deleteOfframps(tx: Transaction, offramps: readonly Offramp[], now: Date): void {
  const keys = [offramps.map(({ account_id }) => account_id), offramps.map(({ id }) => id)];
  tx.write(
    `insert into removed_offramps (account_id, id, user_id, quote_id, sequence, removed_at)
     select *, $6 from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::int[])`,
    [
      ...keys,
      offramps.map(({ user_id }) => user_id),
      offramps.map(({ quote_id }) => quote_id),
      offramps.map(({ sequence }) => sequence),
      now,
    ],
  );
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

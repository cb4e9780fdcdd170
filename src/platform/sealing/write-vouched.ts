import type { Transaction } from "../db/database.ts";
import { distinctSetOf, type RecordKey, updateRow, updateRows } from "../db/rows.ts";
import type { VouchedTable } from "./vouched-rows.ts";

/*
 * Writes to tables with MACs that change seldom. Each costs a round trip: the rows are read locked,
 * after all that the transaction has written before, and checked, since a MAC over what somebody
 * else changed would vouch for it.
 */

type Values = Readonly<Record<string, unknown>>;

/** Inserts these columns of one row; the row has all columns that the MAC covers. */
export function insertVouched(
  tx: Transaction,
  vouched: VouchedTable,
  row: Values,
  on_conflict = "",
): void {
  const [stored] = vouched.withMacs(tx, [row]);
  const names = Object.keys(stored!);
  tx.write(
    `insert into ${vouched.table} (${names.join(", ")})
     values (${names.map((_, at) => `$${at + 1}`).join(", ")}) ${on_conflict}`,
    Object.values(stored!),
  );
}

/**
 * Changes the rows with these values. On a row that somebody else wrote the whole transaction
 * fails, or the row is left as it is.
 */
export function updateVouched(
  tx: Transaction,
  vouched: VouchedTable,
  where: Values,
  changes: Values,
  check: "assertVouched" | "vouchedOnly" = "assertVouched",
): void {
  const conditions = Object.keys(where).map((name, at) => `${name} = $${at + 1}`);
  const text = `select * from ${vouched.table} where ${conditions.join(" and ")}
    order by ${vouched.key.join(", ")} for no key update`;
  tx.writeAfter<Record<string, unknown>>(text, Object.values(where), (rows, writer) => {
    for (const row of vouched[check](writer, rows)) {
      const [changed] = vouched.withMacs(writer, [{ ...row, ...changes }]);
      const key = pick(row, vouched.key);
      updateRow(writer, vouched.table, key, { ...changes, mac: changed!.mac });
    }
  });
}

/** The same for records of accounts, each with changes of its own; columns as in `updateRows`. */
export function updateVouchedRows<Change extends RecordKey>(
  tx: Transaction,
  vouched: VouchedTable,
  columns: string,
  changes: readonly Change[],
): void {
  if (changes.length === 0) return;
  const names = columns.split(",").map((column) => column.trim().split(" ")[0]!);
  const change_of = new Map(changes.map((change) => [keyOf(change), pick(change, names)]));
  const wanted = distinctSetOf(tx, "wanted", "account_id uuid, id uuid", changes);
  const text = `select ${vouched.table}.* from ${vouched.table}
    join ${wanted.from} using (account_id, id)
    order by account_id, id for no key update of ${vouched.table}`;
  tx.writeAfter<RecordKey>(text, wanted.values, (rows, writer) => {
    const changed = vouched
      .assertVouched(writer, rows)
      .map((row) => ({ ...row, ...change_of.get(keyOf(row)) }));
    const written: readonly Values[] = vouched.withMacs(writer, changed);
    const set: string = `${columns}, mac bytea`;
    updateRows(writer, vouched.table, "account_id uuid, id uuid", set, written as never);
  });
}

function pick(row: object, names: readonly string[]): Values {
  return Object.fromEntries(names.map((name) => [name, (row as Values)[name]]));
}

function keyOf({ account_id, id }: RecordKey): string {
  return `${account_id} ${id}`;
}

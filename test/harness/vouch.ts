import type { Session } from "../../src/platform/db/database.ts";
import type { VouchedTable } from "../../src/platform/sealing/vouched-rows.ts";

/** Gives rows that a test wrote by SQL the MACs that the service would have given them. */
export async function vouch(session: Session, vouched: VouchedTable): Promise<void> {
  const rows = await session.query<{ place: string }>(
    `select *, ctid::text as place from ${vouched.table}`,
  );
  for (const row of rows.filter((row) => !vouched.holds(session, row))) {
    const { mac } = vouched.withMacs(session, [row])[0]!;
    await session.query(`update ${vouched.table} set mac = $1 where ctid = $2::tid`, [
      ...[mac, row.place],
    ]);
  }
}

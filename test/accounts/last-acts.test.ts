import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { recordAudit } from "../../src/accounts/audit.ts";
import { listLastAuditRows } from "../../src/accounts/audit-store.ts";
import type { Transaction } from "../../src/platform/db/database.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";

const ENTRIES = 500;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

async function readSoFar(tx: Transaction): Promise<number> {
  const [row] = await tx.query<{ read: number }>(
    `select (seq_tup_read + idx_tup_fetch)::integer as read from pg_stat_xact_user_tables
     where relname = 'audit_entries'`,
  );
  return row!.read;
}

/*
 * Each change of a user's data is an entry about the user. With all of them read before each payout,
 * whoever changed one often enough kept the database busy with the payouts.
 */
it("the last act about a record is found among any number of others", async () => {
  const { account_id } = server;
  const { database } = server.db;
  const record = `user:${randomUUID()}`;
  const now = server.core.clock.now();
  const act = { account_id, actor: "worker", record, reason: "" } as const;
  await database.transaction(async (tx) => {
    recordAudit(tx, { ...act, action: "user.freeze" }, now);
    recordAudit(tx, { ...act, action: "user.unfreeze" }, now);
    for (let at = 0; at < ENTRIES; at += 1) recordAudit(tx, { ...act, action: "user.update" }, now);
  });
  const find = async (...acts: string[]) =>
    database.transaction(async (tx) => {
      const before = await readSoFar(tx);
      const rows = await listLastAuditRows(tx, [{ account_id, record }], acts);
      return { actions: rows.map((row) => row.action), read: (await readSoFar(tx)) - before };
    });
  for (const statistics of ["none", "of the table as it is"]) {
    if (statistics !== "none") await database.query("analyze audit_entries");
    const last = await find("user.freeze", "user.unfreeze");
    expect(last.actions).toEqual(["user.unfreeze"]);
    expect(last.read).toBeLessThanOrEqual(4);
    const none = await find("user.erase", "user.restore");
    expect(none).toEqual({ actions: [], read: 0 });
  }
});

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { recordAudit, recordAudits } from "../../src/accounts/audit.ts";
import { listAuditByRecord, listLastAuditRows } from "../../src/accounts/audit-store.ts";
import { listSaidFrozen } from "../../src/accounts/audited/frozen-accounts.ts";
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

/*
 * It was the one with the latest time: a member's new role, written by a process whose clock was
 * behind, seemed to be put back, and the member had no rights; a release seemed to be overruled.
 */
it("the last act is the one written last, whatever the clocks of the processes say", async () => {
  const { account_id } = server;
  const { database } = server.db;
  const user_id = randomUUID();
  const record = `user:${user_id}`;
  const act = { account_id, actor: "worker", record, reason: "" } as const;
  const now = server.core.clock.now();
  const write = (action: "user.freeze" | "user.unfreeze" | "user.update", behind_ms: number) =>
    database.transaction(async (tx) =>
      recordAudit(tx, { ...act, action }, new Date(now.getTime() - behind_ms)),
    );
  const isFrozen = async () =>
    (await listSaidFrozen(database, "user", [{ account_id, id: user_id }])).size === 1;
  await write("user.freeze", 0);
  await write("user.unfreeze", 5_000);
  expect(await isFrozen()).toBe(false);
  await write("user.update", 0);
  await write("user.freeze", 3_600_000);
  expect(await isFrozen()).toBe(true);
  // Also of several in one transaction.
  await database.transaction(async (tx) => {
    const before = new Date(now.getTime() - 7_200_000);
    recordAudit(tx, { ...act, action: "user.unfreeze" }, before);
    recordAudits(
      tx,
      [act, act].map((one) => ({ ...one, action: "user.freeze" })),
      before,
    );
    recordAudit(tx, { ...act, action: "user.unfreeze" }, before);
  });
  expect(await isFrozen()).toBe(false);
  const entries = await listAuditByRecord(database, account_id, record);
  const acts = entries.map(({ action }) => action).filter((action) => action !== "user.update");
  expect(acts).toEqual([
    ...["user.freeze", "user.unfreeze", "user.freeze"],
    ...["user.unfreeze", "user.freeze", "user.freeze", "user.unfreeze"],
  ]);
});

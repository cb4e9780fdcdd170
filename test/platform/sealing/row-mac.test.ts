import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { systemTime } from "../../../src/platform/clock.ts";
import type { Config } from "../../../src/platform/config/config.ts";
import {
  openInstallation,
  rotateMasterKey,
} from "../../../src/platform/encryption/installation.ts";
import { openLocalKeys } from "../../../src/platform/encryption/local-keys.ts";
import { openMacs } from "../../../src/platform/sealing/mac-keys.ts";
import { bindMacs, macsOf, rowMac } from "../../../src/platform/sealing/row-mac.ts";
import { createTestDatabase, type TestDatabase } from "../../harness/database.ts";

const NOTES = rowMac(
  "notes",
  "account_id",
  "id",
  "amount",
  "sent_at",
  "parts",
  "digest",
  "is_paid",
);

const note = () => ({
  account_id: "0198f000-0000-7000-8000-000000000001",
  id: "0198f000-0000-7000-8000-000000000002",
  amount: 12_50n,
  sent_at: new Date("2026-11-18T10:00:00.001Z"),
  parts: ["a", "b"],
  digest: Buffer.from("digest"),
  is_paid: null as boolean | null,
});

let db: TestDatabase;
const keys = [randomBytes(32), randomBytes(32)];
const mastersOf = (encryption_key: Buffer, encryption_key_previous?: Buffer) =>
  openLocalKeys({ encryption_key, encryption_key_previous } as Config);

beforeAll(async () => {
  db = await createTestDatabase();
  await openInstallation(db.database, mastersOf(keys[0]!), "sandbox", systemTime());
  bindMacs(db.database, await openMacs(db.database, mastersOf(keys[0]!), systemTime()));
});
afterAll(() => db.drop());

describe("the MAC of a row", () => {
  test("has 17 bytes and holds for what was written, in every session", async () => {
    const mac = NOTES.make(db.database, note());
    expect(mac.length).toBe(17);
    expect(NOTES.holds(db.database, { ...note(), amount: 1250n, mac })).toBe(true);
    const in_transaction = await db.database.transaction(async (tx) =>
      NOTES.holds(tx, { ...note(), mac }),
    );
    expect(in_transaction).toBe(true);
    const on_connection = await db.database.connection(async (session) =>
      NOTES.holds(session, { ...note(), mac }),
    );
    expect(on_connection).toBe(true);
  });

  test("does not hold for any other value, table, version, or without a MAC", () => {
    const mac = NOTES.make(db.database, note());
    const changes = [
      { account_id: note().id },
      { id: note().account_id },
      { amount: 1251n },
      { sent_at: new Date("2026-11-18T10:00:00.002Z") },
      { parts: ["ab"] },
      { parts: ["a", "b", ""] },
      { digest: Buffer.from("digesT") },
      { is_paid: false },
    ];
    for (const change of changes) {
      expect(NOTES.holds(db.database, { ...note(), ...change, mac })).toBe(false);
    }
    const other = rowMac(
      "note",
      "account_id",
      "id",
      "amount",
      "sent_at",
      "parts",
      "digest",
      "is_paid",
    );
    expect(other.holds(db.database, { ...note(), mac })).toBe(false);
    const of_unknown_key = Buffer.concat([Buffer.from([9]), mac.subarray(1)]);
    for (const wrong of [null, Buffer.alloc(0), mac.subarray(0, 16), of_unknown_key]) {
      expect(NOTES.holds(db.database, { ...note(), mac: wrong })).toBe(false);
    }
  });

  test("is refused for a column that was not read, and on a database without keys", () => {
    const { amount: _, ...rest } = note();
    expect(() => NOTES.make(db.database, rest as ReturnType<typeof note>)).toThrow("notes.amount");
    expect(() => NOTES.make({}, note())).toThrow("without the keys");
  });
});

describe("the keys of MACs", () => {
  test("another process has the same, also when several start at once", async () => {
    const opened = await Promise.all(
      Array.from({ length: 4 }, () => openMacs(db.database, mastersOf(keys[0]!), systemTime())),
    );
    for (const macs of opened) expect(macs.current()).toEqual(macsOf(db.database).current());
  });

  test("rotation: earlier MACs hold, new ones get the new version once all know it", async () => {
    const mac = NOTES.make(db.database, note());
    const to = mastersOf(keys[1]!, keys[0]!);
    await rotateMasterKey(db.database, to, await to.currentId());
    const stale = await openMacs(db.database, to, systemTime());
    // The master key before is no longer needed.
    bindMacs(db.database, await openMacs(db.database, mastersOf(keys[1]!), systemTime()));
    expect(NOTES.make(db.database, note())[0]).toBe(1);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 10_001 });
    try {
      const renewed = NOTES.make(db.database, note());
      expect([mac[0], renewed[0]]).toEqual([1, 2]);
      expect(NOTES.holds(db.database, { ...note(), mac })).toBe(true);
      expect(NOTES.holds(db.database, { ...note(), mac: renewed })).toBe(true);
      expect(stale.isRetired(1)).toBe(false);
      vi.setSystemTime(Date.now() + 24 * 3_600_000);
      expect([stale.isRetired(1), stale.isRetired(2)]).toEqual([true, false]);
    } finally {
      vi.useRealTimers();
    }
    // Repeated, as after an interruption, it adds nothing.
    await rotateMasterKey(db.database, to, await to.currentId());
    expect(await db.database.query("select version from mac_keys order by version")).toEqual([
      { version: 1 },
      { version: 2 },
    ]);
  });

  test("a process that runs during the rotation reads the new key", async () => {
    const running = await openMacs(db.database, mastersOf(keys[1]!), systemTime());
    const third = randomBytes(32);
    const to = mastersOf(third, keys[1]!);
    await rotateMasterKey(db.database, to, await to.currentId());
    expect(running.find(3)).toBeUndefined();
    // It has only the former master key: it keeps what it knows and says so.
    await expect(running.refresh()).rejects.toThrow("not configured");
    expect(running.find(2)).toBeDefined();
    const informed = await openMacs(db.database, to, systemTime());
    expect(informed.find(3)).toBeDefined();
  });

  test("SQL cannot give a key another version or time, nor plant one", async () => {
    const masters = mastersOf(keys[1]!);
    const tamperings = [
      "update mac_keys set created_at = created_at - interval '1 day' where version = 2",
      "update mac_keys set version = 9 where version = 2",
      `insert into mac_keys select 9, master_key_id, index_key, created_at from installation`,
    ];
    for (const tampering of tamperings) {
      const copy = await createTestDatabase();
      await openInstallation(copy.database, mastersOf(keys[0]!), "sandbox", systemTime());
      await openMacs(copy.database, mastersOf(keys[0]!), systemTime());
      const to = mastersOf(keys[1]!, keys[0]!);
      await rotateMasterKey(copy.database, to, await to.currentId());
      await openMacs(copy.database, masters, systemTime());
      await copy.database.query(tampering);
      await expect(openMacs(copy.database, masters, systemTime())).rejects.toThrow("mac_keys");
      await copy.drop();
    }
  });
});

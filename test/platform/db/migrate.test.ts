import { appendFile, cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemTime } from "../../../src/platform/clock.ts";
import { isMigrated, migrate } from "../../../src/platform/db/migrate.ts";
import { StartupError } from "../../../src/platform/startup-error.ts";
import { createTestDatabase, type TestDatabase } from "../../harness/database.ts";

const MIGRATIONS_DIR = join(import.meta.dirname, "../../../migrations");
const FIRST = "0001_create_installation.sql";

describe("applied migrations", () => {
  let db: TestDatabase;
  let directory: string;
  const migrateFrom = (options: { only_new?: boolean } = {}) =>
    migrate(db.database, systemTime, { directory, ...options });
  beforeEach(async () => {
    db = await createTestDatabase();
    directory = await mkdtemp(join(tmpdir(), "sliproad-migrations-"));
    await cp(MIGRATIONS_DIR, directory, { recursive: true });
  });
  afterEach(async () => {
    await db.drop();
    await rm(directory, { recursive: true });
  });

  it("that are unchanged are skipped, and a new one is applied", async () => {
    expect(await migrateFrom()).toEqual([]);
    await writeFile(join(directory, "9999_create_more.sql"), "create table more (id int)");
    expect(await migrateFrom()).toEqual(["9999_create_more.sql"]);
    expect(await migrateFrom()).toEqual([]);
  });

  it("are only counted by a command that does not migrate: an older database is refused", async () => {
    expect(await migrateFrom({ only_new: true })).toEqual([]);
    await writeFile(join(directory, "9999_create_more.sql"), "create table more (id int)");
    const refused = migrateFrom({ only_new: true });
    await expect(refused).rejects.toBeInstanceOf(StartupError);
    await expect(refused).rejects.toThrow(
      "The database is of an older version: 9999_create_more.sql must be applied.",
    );
    const [row] = await db.database.query("select to_regclass('more') as found");
    expect(row).toEqual({ found: null });
  });

  it("that break running code wait until no worker of an older version runs", async () => {
    const beat = "insert into worker_heartbeats (worker_id, seen_at) values ($1, $2)";
    const { database } = db;
    await database.query(beat, [crypto.randomUUID(), systemTime()]);
    const gentle = "-- Breaks running code: no\ncreate table gentle (id int)";
    await writeFile(join(directory, "9998_create_gentle.sql"), gentle);
    expect(await migrateFrom()).toEqual(["9998_create_gentle.sql"]);
    const rough = "-- Breaks running code: yes\ncreate table rough (id int)";
    await writeFile(join(directory, "9999_create_rough.sql"), rough);
    await expect(migrateFrom()).rejects.toThrow(
      "An older version is running on this database (1 workers), and 9999_create_rough.sql " +
        "breaks it.",
    );
    await database.query("update worker_heartbeats set seen_at = $1", [
      new Date(systemTime().getTime() - 60_000),
    ]);
    expect(await migrateFrom()).toEqual(["9999_create_rough.sql"]);
  });

  it("of a newer version leave processes of this one ready, unless they break it", async () => {
    await writeFile(join(directory, "9998_create_gentle.sql"), "create table gentle (id int)");
    await migrateFrom();
    expect(await isMigrated(db.database)).toBe(true);
    expect(await isMigrated(db.database, directory)).toBe(true);
    // A process of this version that is started again works, too.
    expect(await migrate(db.database, systemTime)).toEqual([]);
    const rough = "-- Breaks running code: yes\ncreate table rough (id int)";
    await writeFile(join(directory, "9999_create_rough.sql"), rough);
    await migrateFrom();
    expect(await isMigrated(db.database)).toBe(false);
    await expect(migrate(db.database, systemTime)).rejects.toThrow(
      "The database was migrated by a newer version of Sliproad (9999_create_rough.sql)",
    );
  });

  it("are refused with a sentence that names the one that was changed", async () => {
    await appendFile(join(directory, FIRST), "\n-- one more remark\n");
    const refused = migrateFrom();
    await expect(refused).rejects.toBeInstanceOf(StartupError);
    await expect(refused).rejects.toThrow(
      `The migration ${FIRST} was changed after this database had applied it; restore that file ` +
        "and put the change into a new migration.",
    );
  });

  it("are refused before anything new is applied", async () => {
    await appendFile(join(directory, FIRST), "\n-- one more remark\n");
    await writeFile(join(directory, "9999_create_more.sql"), "create table more (id int)");
    await expect(migrateFrom()).rejects.toThrow(FIRST);
    const [row] = await db.database.query("select to_regclass('more') as found");
    expect(row).toEqual({ found: null });
  });

  it("are the same with Windows line ends", async () => {
    const file = join(directory, FIRST);
    await writeFile(file, (await readFile(file, "utf8")).replaceAll("\n", "\r\n"));
    expect(await migrateFrom()).toEqual([]);
  });

  it("with another checksum than this program's make a process not ready", async () => {
    expect(await isMigrated(db.database)).toBe(true);
    await db.database.query("update migrations set checksum = 'other' where name = $1", [FIRST]);
    expect(await isMigrated(db.database)).toBe(false);
  });
});

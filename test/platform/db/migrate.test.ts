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
  const migrateFrom = () => migrate(db.database, systemTime, undefined, directory);
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

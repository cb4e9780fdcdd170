import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createBackup } from "../../src/backup/create-backup.ts";
import { readStatus, releaseAll } from "../../src/cli/payouts/actions.ts";
import { FileMissingError, type FileStore } from "../../src/partners/files/file-store.ts";
import { openLocalDirectory } from "../../src/partners/files/local-directory.ts";
import type { Database } from "../../src/platform/db/database.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import {
  type DocumentFixture,
  openDocumentFixture,
  PDF,
  type TestOfframp,
} from "../offramps/documents/document-fixture.ts";
import { findFault, settle } from "../offramps/story.ts";
import { backUp, configOf, directoryWithKeys, restore } from "./backup-fixture.ts";

let server: TestServer;
let documents: DocumentFixture;
let offramp: TestOfframp;
let directory: string;
let backup: string;
const onPart = () => {};
const directories: string[] = [];
const databases: TestDatabase[] = [];

beforeAll(async () => {
  server = await startTestServer();
  documents = await openDocumentFixture(server);
  offramp = await documents.addOfframp();
  expect((await documents.upload(offramp, PDF)).status).toBe(200);
  await documents.uploadFirst(PDF);
  await documents.execute(offramp);
  await settle(server);
  directory = await newDirectory();
  backup = join(directory, "first.backup");
  await backUp(server, backup);
});
afterAll(async () => {
  await server.close();
  for (const db of databases) await db.drop();
  for (const path of directories) await rm(path, { recursive: true, force: true });
});

async function newDirectory(): Promise<string> {
  const created = await mkdtemp(join(tmpdir(), "sliproad-backup-"));
  directories.push(created);
  return created;
}

async function withKeys(): Promise<string> {
  const created = await directoryWithKeys(server.data_dir);
  directories.push(created);
  return created;
}

async function newDatabase(): Promise<TestDatabase> {
  const db = await createTestDatabase();
  databases.push(db);
  return db;
}

async function changed(change: (bytes: Buffer) => Buffer): Promise<string> {
  const path = join(directory, randomBytes(6).toString("hex"));
  await writeFile(path, change(await readFile(backup)));
  return path;
}

/** Every row of every table as text, in a fixed order. */
async function dump(database: Database): Promise<Record<string, string[]>> {
  const tables = await database.query<{ name: string }>(
    `select relname::text as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1`,
  );
  const rows: Record<string, string[]> = {};
  for (const { name } of tables) {
    const found = await database.query<{ row: string }>(
      `select t::text as row from ${name} t order by 1`,
    );
    rows[name] = found.map(({ row }) => row);
  }
  return rows;
}

describe("a backup that is restored", () => {
  let restored: TestServer;
  let data_dir: string;

  it("has every row and every file, and nothing else", async () => {
    await server.app.worker.stop();
    const whole = join(directory, "whole.backup");
    // The log of requests is written a second later; afterwards nothing changes.
    const { before, totals, head } = await waitFor(async () => {
      await rm(whole, { force: true });
      const before = await dump(server.core.database);
      const made = await backUp(server, whole);
      return isDeepStrictEqual(await dump(server.core.database), before) && { before, ...made };
    });
    expect(totals).toMatchObject({ files: 2, missing_files: 0 });
    expect(totals.rows).toBe(Object.values(before).flat().length);
    expect(head.fingerprints.encryption).toHaveLength(1);
    data_dir = await withKeys();
    const db = await newDatabase();
    await restore(configOf(data_dir), db, whole);
    const { payout_holds, ...others } = await dump(db.database);
    expect({ ...others, payout_holds: [] }).toEqual(before);
    expect(payout_holds).toHaveLength(1);
    expect(await listSequences(db.database)).toEqual(await listSequences(server.core.database));
    expect(await listFiles(data_dir)).toEqual(await listFiles(server.data_dir));
    expect((await readdir(data_dir)).filter((name) => name.startsWith("restoring"))).toEqual([]);
    restored = await startTestServer({ beside: { db, data_dir, key: server.key } });
  });

  it("is on hold and says so; what is in it can be used", async () => {
    const { holds } = await readStatus(restored.core);
    expect(holds).toMatchObject([{ kind: "restore" }]);
    expect(holds[0]!.reason).toContain("The database was restored from the backup of");
    const ready = await restored.call("GET", "/readyz");
    expect(ready.body.notices).toContain("Payouts are on hold; see sliproad payouts status.");
    const again = await openDocumentFixture(restored);
    const payout = await again.addOfframp();
    expect((await again.upload(payout, PDF)).status).toBe(200);
    await again.execute(payout);
    await again.waitForStatus(payout, "sending_fiat");
    await settle(restored);
    expect((await again.show(payout)).status).toBe("sending_fiat");
    expect((await again.download(offramp)).content).toEqual(PDF);
    expect(await findFault(restored)).toBeNull();
    await releaseAll(restored.core, { reason: "checked", anyway: false });
    expect((await readStatus(restored.core)).held).toBe(false);
    await restored.close();
  });
});

async function listSequences(database: Database) {
  const found = await database.query<{ last_value: bigint | null }>(
    "select sequencename::text, last_value from pg_sequences order by 1",
  );
  expect(found.filter(({ last_value }) => last_value !== null)).not.toEqual([]);
  return found;
}

async function listFiles(data_dir: string): Promise<string[]> {
  const found = await readdir(join(data_dir, "files"), { recursive: true, withFileTypes: true });
  const paths = found.filter((entry) => entry.isFile()).map((e) => join(e.parentPath, e.name));
  return paths.map((path) => path.slice(data_dir.length)).sort();
}

describe("restore refuses", () => {
  async function expectRefused(path: string, sentence: RegExp, data_dir?: string) {
    const into = data_dir ?? (await withKeys());
    const db = await newDatabase();
    await expect(restore(configOf(into), db, path)).rejects.toThrow(sentence);
    expect(await db.database.query("select from installation")).toEqual([]);
    expect(existsSync(join(into, "files"))).toBe(false);
  }

  it("a backup in which one byte was changed, wherever it stands", async () => {
    const { length } = await readFile(backup);
    for (const share of [0.3, 0.6, 0.95]) {
      const at = Math.floor(length * share);
      const path = await changed((bytes) => {
        bytes[at]! ^= 1;
        return bytes;
      });
      await expectRefused(path, /was changed or is not whole/);
    }
    const head = await changed((bytes) => {
      const at = bytes.indexOf('"created_at":"2') + '"created_at":"2'.length;
      bytes[at]! ^= 1;
      return bytes;
    });
    await expectRefused(head, /was changed or is not whole/);
  });

  it("a backup that ends early or goes on", async () => {
    const { length } = await readFile(backup);
    for (const bytes of [length - 1, length - 17, Math.floor(length / 2)]) {
      const path = await changed((all) => all.subarray(0, bytes));
      await expectRefused(path, /was changed or is not whole/);
    }
    await expectRefused(
      await changed((all) => Buffer.concat([all, Buffer.alloc(100)])),
      /was changed or is not whole/,
    );
    await expectRefused(await changed((all) => all.subarray(0, 10)), /is not a backup of Sliproad/);
  });

  it("a file that is no backup, and none at all", async () => {
    await expectRefused(await changed(() => randomBytes(4000)), /is not a backup of Sliproad/);
    await expectRefused(join(directory, "nonexistent"), /cannot be read \(ENOENT\)/);
  });

  it("a backup of other keys", async () => {
    const none = await newDirectory();
    await expectRefused(backup, /needs the encryption key [0-9a-f]{16}, which is not here/, none);
    expect(await readdir(none)).toEqual([]);
    const other_signing = await withKeys();
    await writeFile(join(other_signing, "signing.key"), randomBytes(32).toString("base64"));
    await expectRefused(backup, /signing key [0-9a-f]{16}, but the one here is/, other_signing);
    await unlink(join(other_signing, "signing.key"));
    await expectRefused(backup, /signing key [0-9a-f]{16}, which is not here/, other_signing);
  });

  it("a database or a directory that is in use", async () => {
    const data_dir = await withKeys();
    await expect(restore(configOf(data_dir), server.db, backup)).rejects.toThrow(
      /The database is in use/,
    );
    await expect(restore(configOf(server.data_dir), await newDatabase(), backup)).rejects.toThrow(
      /has files; a backup is restored only into a directory without any/,
    );
  });

  it("a backup of another mode", async () => {
    const key = () => randomBytes(32).toString("base64");
    const live = {
      SLIPROAD_MODE: "live",
      SLIPROAD_ENCRYPTION_KEY: key(),
      SLIPROAD_SIGNING_KEY: key(),
      SLIPROAD_PUBLIC_URL: "https://ramp.example",
    };
    await expect(
      restore(configOf(await withKeys(), live), await newDatabase(), backup),
    ).rejects.toThrow(/in sandbox mode/);
  });

  it("whatever fails at the end, with nothing restored, and can be repeated", async () => {
    const data_dir = await withKeys();
    const check_file = join(data_dir, "check.json");
    await writeFile(check_file, "nonsense");
    const config = configOf(data_dir, { SLIPROAD_RESTORE_CHECK_FILE: check_file });
    const db = await newDatabase();
    await expect(restore(config, db, backup)).rejects.toThrow(/is not such a file/);
    expect(await db.database.query("select from accounts")).toEqual([]);
    expect((await readdir(data_dir)).sort()).toEqual([
      ...["check.json", "encryption.keys", "signing.key"],
    ]);
    await restore(configOf(data_dir), db, backup);
    expect(await listFiles(data_dir)).toHaveLength(2);
  });

  it("a backup of another version", async () => {
    const { database } = server.core;
    const name = "9999_add_something.sql";
    await database.query(
      "insert into migrations (name, applied_at, checksum) values ($1, $2, '')",
      [...[name, new Date()]],
    );
    const path = join(directory, "newer.backup");
    await backUp(server, path);
    await database.query("delete from migrations where name = $1", [name]);
    await expectRefused(path, /differs from this version's by the migration 9999_add_something/);
  });
});

describe("backup", () => {
  it("overwrites nothing, and leaves nothing behind that is not whole", async () => {
    await expect(backUp(server, backup)).rejects.toThrow(/exists; choose another file/);
    const nowhere = join(directory, "no", "such.backup");
    await expect(backUp(server, nowhere)).rejects.toThrow(/cannot be written/);
    expect((await readdir(directory)).filter((name) => name.includes("partial"))).toEqual([]);
  });

  it("names a file that is missing, and writes a backup without it if asked", async () => {
    const [path] = (await listFiles(server.data_dir)).filter((one) => one.includes(offramp.id));
    const content = await readFile(join(server.data_dir, path!));
    await unlink(join(server.data_dir, path!));
    const output = join(directory, "missing.backup");
    await expect(backUp(server, output)).rejects.toThrow(
      new RegExp(`No backup was written\\. File \\S+ of record ${offramp.id} .* is missing\\.`),
    );
    expect(existsSync(output)).toBe(false);
    const { totals, missing } = await backUp(server, output, { skip_missing_files: true });
    expect(missing).toHaveLength(1);
    expect(totals).toMatchObject({ files: 1, missing_files: 1 });
    await writeFile(join(server.data_dir, path!), content);
  });

  it("says so if a file was deleted while the backup was made", async () => {
    const { id } = await documents.uploadFirst(PDF);
    const files = await openLocalDirectory(server.data_dir);
    const openRead: FileStore["openRead"] = async (key) => {
      if (key.record_id !== id) return files.openRead(key);
      await server.core.database.query("delete from documents where id = $1", [id]);
      throw new FileMissingError();
    };
    const options = { output: join(directory, "deleted.backup"), skip_missing_files: false };
    await expect(
      createBackup({ ...server.core, files: { ...files, openRead } }, { ...options, onPart }),
    ).rejects.toThrow(new RegExp(`record ${id} .* was deleted while the backup was made`));
  });

  it("contains nothing that can be read without the keys", async () => {
    const bytes = await readFile(backup);
    const head_end = bytes.indexOf("}}") + 2;
    const head = bytes.subarray(0, head_end).toString();
    const keys = await readFile(join(server.data_dir, "encryption.keys"), "utf8");
    expect(head).not.toContain(keys.trim());
    expect(bytes.includes("Invented Payroll Ltd")).toBe(false);
    expect(bytes.includes(offramp.id)).toBe(false);
    expect(bytes.includes("migrations")).toBe(false);
  });

  it("is of one moment while rows are written", async () => {
    const { database } = server.core;
    let is_over = false;
    const writing = (async () => {
      while (!is_over) await documents.addOfframp();
    })();
    const path = join(directory, "busy.backup");
    await backUp(server, path).finally(() => {
      is_over = true;
    });
    await writing;
    const db = await newDatabase();
    await restore(configOf(await withKeys()), db, path);
    const count = async (session: Database) =>
      Number((await session.query<{ n: bigint }>("select count(*) as n from offramps"))[0]!.n);
    expect(await count(db.database)).toBeLessThan(await count(database));
    // Each offramp has its event: a foreign key does not say so.
    const alone = await db.database.query(
      `select from offramps o where not exists (select from events e where e.record_id = o.id)`,
    );
    expect(alone).toEqual([]);
  });
});

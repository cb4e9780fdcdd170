import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { copyFiles } from "../../src/backup/copy-files.ts";
import { createBackup } from "../../src/backup/create-backup.ts";
import { checkFiles } from "../../src/cli/doctor/check-files.ts";
import type { FileStore } from "../../src/partners/files/file-store.ts";
import { openFiles } from "../../src/partners/files/open-files.ts";
import { createTestDatabase } from "../harness/database.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import {
  type DocumentFixture,
  openDocumentFixture,
  PDF,
  PNG,
  type TestOfframp,
} from "../offramps/documents/document-fixture.ts";
import { type S3Server, startS3Server } from "../partners/s3-server.ts";
import { configOf, directoryWithKeys, restore } from "./backup-fixture.ts";

let s3: S3Server;
let server: TestServer;
let documents: DocumentFixture;
let offramp: TestOfframp;
const directories: string[] = [];

beforeAll(async () => {
  s3 = await startS3Server();
  server = await startTestServer({ environment: s3.environment });
  documents = await openDocumentFixture(server);
  offramp = await documents.addOfframp();
  expect((await documents.upload(offramp, PDF)).status).toBe(200);
});
afterAll(async () => {
  await server.close();
  await s3.close();
  for (const path of directories) await rm(path, { recursive: true, force: true });
});

beforeEach(() => s3.mode("up"));

const configOnS3 = (data_dir: string) => configOf(data_dir, s3.environment);

async function listVersions(files: FileStore, { id }: TestOfframp): Promise<string[]> {
  return files.listVersions({ account_id: server.account_id, record_id: id });
}

it("uploaded documents are objects, encrypted, and can be downloaded", async () => {
  expect((await documents.download(offramp)).content.equals(PDF)).toBe(true);
  const files = await openFiles(server.core.config);
  const [version] = await listVersions(files, offramp);
  const key = { account_id: server.account_id, record_id: offramp.id, version: version! };
  const stored = Buffer.concat(await (await files.openRead(key)).toArray());
  expect(stored.includes(PDF.subarray(0, 8))).toBe(false);
  expect(await readdir(join(server.data_dir, "files"), { recursive: true })).toEqual(["temporary"]);
});

it("503 while S3 is away; the same upload succeeds afterwards, and the first one left nothing", async () => {
  const other = await documents.addOfframp();
  s3.mode("refusing");
  const refused = await documents.upload(other, PNG);
  expect(refused.status, refused.text).toBe(503);
  expect(refused.body.error_code).toBe("unavailable");
  expect(refused.headers.get("retry-after")).toBe("10");
  s3.mode("up");
  expect((await documents.upload(other, PNG)).status).toBe(200);
  expect(await listVersions(await openFiles(server.core.config), other)).toHaveLength(1);
});

it("the sweep deletes an object that no record names", async () => {
  const files = await openFiles(server.core.config);
  const [version] = await listVersions(files, offramp);
  // What a process leaves that ends between the upload and the database.
  const { temporary_key } = await files.putTemporary([PNG] as never, { bytes_max: 1000 });
  const orphan = "00000000-0000-7000-8000-000000000000";
  const key = { account_id: server.account_id, record_id: offramp.id, version: orphan };
  await files.promote(temporary_key, key);
  expect(await listVersions(files, offramp)).toHaveLength(2);
  await documents.advance(24 * 60);
  expect(await listVersions(files, offramp)).toEqual([version]);
});

let backup: string;

it("a backup has the objects", async () => {
  await documents.uploadFirst(PNG);
  await server.app.worker.stop();
  const files = await openFiles(server.core.config);
  backup = join(await newDirectory(), "first.backup");
  const options = { output: backup, skip_missing_files: false, onPart: () => {} };
  const { totals } = await createBackup({ ...server.core, files }, options);
  expect(totals).toMatchObject({ files: 3, missing_files: 0 });
});

it.each(["bucket", "directory"])("it is restored into a %s", async (place) => {
  const other = await startS3Server();
  const environment = place === "bucket" ? other.environment : {};
  const db = await createTestDatabase();
  const data_dir = await directoryWithKeys(server.data_dir);
  directories.push(data_dir);
  await restore(configOf(data_dir, environment), db, backup);
  const restored = await startTestServer({
    environment,
    beside: { db, data_dir, key: server.key },
  });
  const path = `/offramps/${offramp.id}/supporting-documents`;
  expect((await restored.call("GET", path)).text).toBe(PDF.toString());
  await restored.close();
  await db.drop();
  await other.close();
});

it("files copy brings all of them to the directory and to another bucket, once", async () => {
  const { database_url } = server.core;
  const from = await openFiles(server.core.config);
  const data_dir = await newDirectory();
  const to_directory = await openFiles(configOnS3(data_dir), "directory");
  const deps = { database_url, onFile: () => {} };
  const first = await copyFiles({ ...deps, from, to: to_directory });
  expect(first).toEqual({ copied: 3, present: 0, missing: [] });
  const again = await copyFiles({ ...deps, from, to: to_directory });
  expect(again).toEqual({ copied: 0, present: 3, missing: [] });
  const other = await startS3Server();
  const to_bucket = await openFiles(configOf(data_dir, other.environment));
  const moved = await copyFiles({ ...deps, from: to_directory, to: to_bucket });
  expect(moved).toMatchObject({ copied: 3 });
  const [version] = await listVersions(to_bucket, offramp);
  await to_directory.delete({
    ...{ account_id: server.account_id, record_id: offramp.id, version: version! },
  });
  const empty = await openFiles(configOnS3(await newDirectory()), "directory");
  const partial = await copyFiles({ ...deps, from: to_directory, to: empty });
  expect(partial).toMatchObject({ copied: 2, missing: [{ record_id: offramp.id }] });
  await other.close();
});

it("doctor says whether the bucket can be written and read", async () => {
  const config = configOnS3(server.data_dir);
  expect(await checkFiles(config)).toMatchObject([{ check: "files", ok: true }]);
  const wrong = { ...config, s3_bucket: "no-such-bucket" };
  const [finding] = await checkFiles(wrong);
  expect(finding).toMatchObject({ ok: false });
  expect(finding!.finding).toContain("NoSuchBucket");
  expect(await checkFiles(configOf(server.data_dir))).toEqual([]);
});

async function newDirectory(): Promise<string> {
  const created = await mkdtemp(join(tmpdir(), "sliproad-files-"));
  directories.push(created);
  return created;
}

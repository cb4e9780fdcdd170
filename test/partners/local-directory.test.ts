import { mkdtemp, readdir, rm, stat, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { FileStore } from "../../src/partners/files/file-store.ts";
import { keepFile } from "../../src/partners/files/keep-file.ts";
import { openLocalDirectory } from "../../src/partners/files/local-directory.ts";
import { DatabaseUnavailableError } from "../../src/platform/db/outages.ts";
import { Refusal } from "../../src/platform/errors.ts";
import { FULL } from "../platform/http/upload-server.ts";
import { describeFileStore, newKey, streamOf } from "./file-store-conformance.ts";

let data_dir: string;
let store: FileStore;

beforeEach(async () => {
  data_dir = await mkdtemp(join(tmpdir(), "sliproad-files-"));
  store = await openLocalDirectory(data_dir);
});

afterEach(() => rm(data_dir, { recursive: true }));

describeFileStore(() => store);

test("only the service's own user can read the stored files", async () => {
  const key = newKey();
  await store.promote(await put(), key);
  const files = join(data_dir, "files");
  const names = await readdir(files, { recursive: true, withFileTypes: true });
  expect(names.filter((entry) => entry.isFile())).toHaveLength(1);
  const paths = [files, ...names.map((entry) => join(entry.parentPath, entry.name))];
  for (const path of paths) expect((await stat(path)).mode & 0o077, path).toBe(0);
});

test("opening the directory deletes leftovers older than an hour", async () => {
  const old = await put();
  const young = await put();
  const hour_ago_seconds = Date.now() / 1000 - 3601;
  await utimes(join(data_dir, "files", "temporary", old), hour_ago_seconds, hour_ago_seconds);
  await openLocalDirectory(data_dir);
  expect(await readdir(join(data_dir, "files", "temporary"))).toEqual([young]);
});

test("a file is refused while the disk has too little space, and leaves nothing", async () => {
  const full = await openLocalDirectory(data_dir, FULL);
  const refused = full.putTemporary(streamOf([Buffer.from("x")]), { bytes_max: 10 });
  await expect(refused).rejects.toMatchObject({ code: "unavailable", retry_after_seconds: 60 });
  expect(await readdir(join(data_dir, "files", "temporary"))).toEqual([]);
});

test("while the disk has little space, who stored much is refused before the others", async () => {
  const limits = { free_bytes_min: 0, reserve_bytes: Number.MAX_SAFE_INTEGER, little_bytes: 20 };
  const small = await openLocalDirectory(data_dir, limits);
  const put = (account_id?: string) => {
    const own = account_id === undefined ? {} : { account_id };
    return small.putTemporary(streamOf([Buffer.alloc(11)]), { bytes_max: 20, ...own });
  };
  await put("greedy");
  await put("greedy");
  await expect(put("greedy")).rejects.toMatchObject({ code: "unavailable" });
  await put("another");
  await put();
});

test("keepFile keeps the file of a command that succeeded", async () => {
  const key = newKey();
  const answer = { body: "{}", replayed: false };
  const command = async () => {
    // A record never references a file that does not exist yet.
    expect(await store.listVersions(key)).toEqual([key.version]);
    return answer;
  };
  expect(await keepFile(store, await put(), key, command)).toBe(answer);
  expect(await store.listVersions(key)).toEqual([key.version]);
});

test("keepFile deletes the file if nothing was recorded", async () => {
  const fail = (error: Error) => () => Promise.reject(error);
  const outcomes = [
    async () => ({ body: "{}", replayed: true }),
    fail(new Refusal("offramp_not_editable")),
    fail(new DatabaseUnavailableError("away")),
  ];
  for (const command of outcomes) {
    const key = newKey();
    await keepFile(store, await put(), key, command).catch(() => {});
    expect(await store.listVersions(key)).toEqual([]);
  }
});

test("keepFile keeps the file if the commit may have happened", async () => {
  for (const error of [new Refusal("outcome_unknown"), new Error("who knows")]) {
    const key = newKey();
    const command = () => Promise.reject(error);
    await expect(keepFile(store, await put(), key, command)).rejects.toBe(error);
    expect(await store.listVersions(key)).toEqual([key.version]);
  }
});

async function put(): Promise<string> {
  const content = streamOf([Buffer.from("content")]);
  return (await store.putTemporary(content, { bytes_max: 100 })).temporary_key;
}

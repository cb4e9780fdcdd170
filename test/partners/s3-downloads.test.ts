import { randomUUID } from "node:crypto";
import { mkdtemp, open, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setTimeout } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createDownloads } from "../../src/partners/files/s3/downloads.ts";
import { openTemporaryFiles } from "../../src/partners/files/temporary-files.ts";

const LIMITS = { copied_bytes_max: 1_000, disk_bytes_max: 4_000, streamed_max: 4 };
const BUSY = { code: "unavailable", retry_after_seconds: 10 };

let directory: string;
let download: ReturnType<typeof createDownloads>;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "sliproad-downloads-"));
  download = createDownloads(await openTemporaryFiles(directory), LIMITS);
});
afterEach(() => rm(directory, { recursive: true }));

function objectOf(bytes: number, content: Readable = Readable.from([Buffer.alloc(bytes, 7)])) {
  return { bytes, body: content };
}

async function closed(file: Readable): Promise<void> {
  await new Promise((resolve) => file.destroy().once("close", resolve));
}

test.each([
  ["copied to this machine", 1_000],
  ["sent on directly", 1_001],
])(
  "an account whose downloads are %s leaves something to others, and gets it back",
  async (_title, bytes) => {
    const account_id = randomUUID();
    const files = [
      await download(account_id, objectOf(bytes)),
      await download(account_id, objectOf(bytes)),
    ];
    const refused = objectOf(bytes);
    await expect(download(account_id, refused)).rejects.toMatchObject(BUSY);
    expect(refused.body.destroyed).toBe(true);
    files.push(await download(randomUUID(), objectOf(bytes)));
    for (const file of files) await closed(file);
    const last = await download(account_id, objectOf(bytes));
    expect(Buffer.concat(await last.toArray()).length).toBe(bytes);
  },
);

test("a copy has no name: nothing is left of it, whatever ends the process", async () => {
  const file = await download(randomUUID(), objectOf(1_000));
  expect(await readdir(directory)).toEqual([]);
  expect(Buffer.concat(await file.toArray())).toEqual(Buffer.alloc(1_000, 7));
});

test("an object that does not arrive whole is no download, and gives its share back", async () => {
  const account_id = randomUUID();
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const broken = Readable.from(
      (async function* () {
        yield Buffer.alloc(500);
        throw new Error("other side closed");
      })(),
    );
    await expect(download(account_id, objectOf(1_000, broken))).rejects.toThrow(
      "other side closed",
    );
  }
  await closed(await download(account_id, objectOf(1_000)));
  expect(await readdir(directory)).toEqual([]);
});

test("a copy that fails closes its own file only", async () => {
  const files = await openTemporaryFiles(directory);
  const failing = async function* () {
    yield Buffer.alloc(500);
    throw new Error("other side closed");
  };
  const copies = Array.from({ length: 20 }, async () => {
    await expect(files.copy(failing())).rejects.toThrow("other side closed");
    const other = await open(join(directory, randomUUID()), "wx");
    await setTimeout(1);
    await other.writeFile("still open");
    await other.close();
  });
  await Promise.all(copies);
});

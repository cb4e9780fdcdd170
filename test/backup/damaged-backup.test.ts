import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, open, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Ended, runCommand } from "../harness/command-line.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { openDocumentFixture, PDF } from "../offramps/documents/document-fixture.ts";
import { backUp, directoryWithKeys } from "./backup-fixture.ts";

/** Several frames, which nothing compresses: damage is found while a part is read. */
const LARGE = Buffer.concat([PDF, randomBytes(400_000)]);
/** Of the encryption. */
const FRAME = 64 * 1024 + 28;
const COMMAND = { timeout: 120_000 };

let server: TestServer;
let db: TestDatabase;
let whole: Buffer;
let [directory, data_dir] = ["", ""];
let content_start = 0;

beforeAll(async () => {
  server = await startTestServer();
  const documents = await openDocumentFixture(server);
  const offramp = await documents.addOfframp();
  expect((await documents.upload(offramp, LARGE)).status).toBe(200);
  directory = await mkdtemp(join(tmpdir(), "sliproad-damaged-"));
  await backUp(server, join(directory, "whole"));
  whole = await readFile(join(directory, "whole"));
  content_start = 20 + whole.readUInt32BE(16);
  data_dir = await directoryWithKeys(server.data_dir);
  db = await createTestDatabase();
});
afterAll(async () => {
  await server.close();
  await db.drop();
  for (const path of [directory, data_dir]) await rm(path, { recursive: true, force: true });
});

function flipped(at: number): Buffer {
  const bytes = Buffer.from(whole);
  bytes[at]! ^= 1;
  return bytes;
}

/** Another head of the same length in front of the same content. */
function withHead(change: (text: string) => string): Buffer {
  const head = Buffer.from(change(whole.subarray(20, content_start).toString()));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(head.length);
  return Buffer.concat([whole.subarray(0, 16), length, head, whole.subarray(content_start)]);
}

/** The second and third frame of the content in each other's place. */
function reordered(): Buffer {
  const [first, second] = [content_start + 17 + FRAME, content_start + 17 + 2 * FRAME];
  return Buffer.concat([
    whole.subarray(0, first),
    whole.subarray(second, second + FRAME),
    whole.subarray(first, second),
    whole.subarray(second + FRAME),
  ]);
}

function expectSentence({ code, stdout, stderr }: Ended, sentence: RegExp): void {
  expect(stderr).toMatch(sentence);
  expect(stderr.trim().split("\n")).toHaveLength(1);
  expect(stderr).toMatch(/^sliproad: [A-Z/].*\.$/m);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
}

const CHANGED = /was changed or is not whole/;
const NO_BACKUP = /is not a backup of Sliproad/;

describe(
  "sliproad restore says in one sentence what is wrong, and restores nothing, with",
  COMMAND,
  () => {
    it.each<[string, () => Buffer, RegExp]>([
      ["an empty file", () => Buffer.alloc(0), NO_BACKUP],
      ["a file that is cut off in its head", () => whole.subarray(0, 100), NO_BACKUP],
      ["one that ends after its head", () => whole.subarray(0, content_start), CHANGED],
      [
        "one that is cut off in a part",
        () => whole.subarray(0, content_start + 2 * FRAME),
        CHANGED,
      ],
      ["one that lacks its last byte", () => whole.subarray(0, -1), CHANGED],
      ["one changed byte in a part", () => flipped(content_start + 3 * FRAME), CHANGED],
      ["one changed byte at the end", () => flipped(whole.length - 1), CHANGED],
      ["parts in the wrong order", reordered, CHANGED],
      ["a head without a key", () => withHead((text) => text.replace('"key"', '"kez"')), NO_BACKUP],
      ["a head that is a number", () => withHead(() => "1"), NO_BACKUP],
    ])("%s", async (name, damage, sentence) => {
      const path = join(directory, name.replaceAll(" ", "-"));
      await writeFile(path, damage());
      const environment = { SLIPROAD_DATA_DIR: data_dir, DATABASE_URL: db.url };
      expectSentence(await runCommand(["restore", "--input", path], environment), sentence);
      expect(await db.database.query("select from accounts")).toEqual([]);
      expect((await readdir(data_dir)).sort()).toEqual(["encryption.keys", "signing.key"]);
    });

    it("a directory", async () => {
      const path = join(directory, "a-directory");
      await mkdir(path);
      const environment = { SLIPROAD_DATA_DIR: data_dir, DATABASE_URL: db.url };
      const ended = await runCommand(["restore", "--input", path], environment);
      expectSentence(ended, /cannot be read \(EISDIR\)/);
    });
  },
);

it(
  "sliproad backup says so if what it wrote cannot be read again, and leaves no file",
  COMMAND,
  async () => {
    const output = join(directory, "written", "damaged");
    await mkdir(join(directory, "written"));
    const environment = {
      SLIPROAD_DATA_DIR: server.data_dir,
      DATABASE_URL: server.core.database_url,
    };
    let is_over = false;
    const backup = runCommand(["backup", "--output", output], environment).finally(() => {
      is_over = true;
    });
    // A disk that changes a byte as soon as there is one to change.
    for (let is_damaged = false; !is_damaged && !is_over; ) {
      is_damaged = await damage(join(directory, "written"));
      await sleep(1);
    }
    expectSentence(
      await backup,
      /^sliproad: No backup was written: what was written cannot be read/,
    );
    expect(existsSync(output)).toBe(false);
    expect(await readdir(join(directory, "written"))).toEqual([]);
  },
);

async function damage(folder: string): Promise<boolean> {
  const [name] = await readdir(folder);
  if (name === undefined || (await stat(join(folder, name))).size < 30) return false;
  const file = await open(join(folder, name), "r+");
  await file.write(Buffer.from("X"), 0, 1, 25);
  await file.close();
  return true;
}

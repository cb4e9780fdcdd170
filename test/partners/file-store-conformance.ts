import { randomBytes, randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import {
  type FileKey,
  FileMissingError,
  type FileStore,
  FileTooLargeError,
} from "../../src/partners/files/file-store.ts";

const LIMITS = { bytes_max: 1_000_000 };

/** The guarantees of every file store. Each test calls `store` again. */
export function describeFileStore(store: () => FileStore): void {
  const put = (...chunks: Buffer[]) => store().putTemporary(streamOf(chunks), LIMITS);

  test("returns exactly the bytes that were stored and promoted", async () => {
    for (const size of [0, 1, 65_536, 300_001]) {
      const content = randomBytes(size);
      const key = newKey();
      const { temporary_key } = await put(content.subarray(0, 1000), content.subarray(1000));
      await store().promote(temporary_key, key);
      expect((await read(store(), key)).equals(content)).toBe(true);
    }
  });

  test("shows nothing under the key before the promotion", async () => {
    const key = newKey();
    const { temporary_key } = await put(Buffer.from("new"));
    await expect(store().openRead(key)).rejects.toThrow(FileMissingError);
    expect(await store().listVersions(key)).toEqual([]);
    await store().promote(temporary_key, key);
    expect(await store().listVersions(key)).toEqual([key.version]);
  });

  test("keeps the versions of a record apart", async () => {
    const first = newKey();
    const second = { ...first, version: "2" };
    for (const key of [first, second]) {
      const { temporary_key } = await put(Buffer.from(key.version));
      await store().promote(temporary_key, key);
    }
    expect((await store().listVersions(first)).sort()).toEqual([first.version, "2"].sort());
    await store().delete(first);
    expect(await store().listVersions(first)).toEqual(["2"]);
    expect((await read(store(), second)).toString()).toBe("2");
  });

  test("a promotion may be repeated; one of a missing file fails", async () => {
    const key = newKey();
    const { temporary_key } = await put(Buffer.from("once"));
    await store().promote(temporary_key, key);
    await store().promote(temporary_key, key);
    expect((await read(store(), key)).toString()).toBe("once");
    await expect(store().promote(temporary_key, newKey())).rejects.toThrow(FileMissingError);
  });

  test("leaves nothing of a stream that fails or is too large", async () => {
    const broken = async function* () {
      yield Buffer.from("half");
      throw new Error("the client went away");
    };
    await expect(store().putTemporary(broken(), LIMITS)).rejects.toThrow("went away");
    const ten = [Buffer.alloc(5), Buffer.alloc(5)];
    const small = (bytes_max: number) => store().putTemporary(streamOf(ten), { bytes_max });
    await expect(small(9)).rejects.toThrow(FileTooLargeError);
    expect(await store().sweepTemporaries(later())).toBe(0);
    await small(10);
    expect(await store().sweepTemporaries(later())).toBe(1);
  });

  test("deletes temporary files by age and keeps promoted ones", async () => {
    const key = newKey();
    const kept = await put(Buffer.from("kept"));
    await store().promote(kept.temporary_key, key);
    const { temporary_key } = await put(Buffer.from("left behind"));
    expect(await store().sweepTemporaries(new Date(Date.now() - 60_000))).toBe(0);
    expect(await store().sweepTemporaries(later())).toBe(1);
    await expect(store().promote(temporary_key, newKey())).rejects.toThrow(FileMissingError);
    expect((await read(store(), key)).toString()).toBe("kept");
  });

  test("deleting a missing file is not an error", async () => {
    const { temporary_key } = await put(Buffer.from("x"));
    await store().deleteTemporary(temporary_key);
    await store().deleteTemporary(temporary_key);
    await store().delete(newKey());
    expect(await store().sweepTemporaries(later())).toBe(0);
  });

  test("a started reader reads to the end, even if the file is deleted meanwhile", async () => {
    const key = newKey();
    const content = randomBytes(500_000);
    await store().promote((await put(content)).temporary_key, key);
    const reader = await store().openRead(key);
    await store().delete(key);
    expect(Buffer.concat(await reader.toArray()).equals(content)).toBe(true);
  });

  test("refuses keys that do not consist of ids and a plain version", async () => {
    const good = newKey();
    const { temporary_key } = await put(Buffer.from("x"));
    const bad: FileKey[] = [
      { ...good, account_id: ".." },
      { ...good, account_id: "" },
      { ...good, account_id: "temporary" },
      { ...good, account_id: good.account_id.toUpperCase() },
      { ...good, record_id: `${good.record_id}/..` },
      { ...good, record_id: `../${good.record_id}` },
      { ...good, version: ".." },
      { ...good, version: "" },
      { ...good, version: "a/b" },
      { ...good, version: "a\\b" },
      { ...good, version: "a\0" },
      { ...good, version: "1\n" },
      { ...good, version: "v".repeat(65) },
    ];
    for (const key of bad) {
      // Without a version only the record is checked.
      const is_record_bad = key.version === good.version;
      await expect(async () => store().promote(temporary_key, key)).rejects.toThrow(/key/);
      await expect(async () => store().openRead(key)).rejects.toThrow(/key/);
      await expect(async () => store().delete(key)).rejects.toThrow(/key/);
      if (is_record_bad) {
        await expect(async () => store().listVersions(key)).rejects.toThrow(/key/);
      }
    }
    for (const name of ["..", "", `../${good.account_id}`, "x"]) {
      await expect(async () => store().promote(name, good)).rejects.toThrow(/key/);
      await expect(async () => store().deleteTemporary(name)).rejects.toThrow(/key/);
    }
  });
}

export function newKey(): FileKey {
  return { account_id: randomUUID(), record_id: randomUUID(), version: randomUUID() };
}

export async function* streamOf(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks;
}

async function read(store: FileStore, key: FileKey): Promise<Buffer> {
  return Buffer.concat(await (await store.openRead(key)).toArray());
}

function later(): Date {
  return new Date(Date.now() + 60_000);
}

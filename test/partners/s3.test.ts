import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { FileMissingError, type FileStore } from "../../src/partners/files/file-store.ts";
import { signRequest } from "../../src/partners/files/s3/client.ts";
import { openS3 } from "../../src/partners/files/s3/s3.ts";
import { describeFileStore, newKey, streamOf } from "./file-store-conformance.ts";
import { type S3Server, startS3Server } from "./s3-server.ts";

const LIMITS = { bytes_max: 1_000_000_000 };
let s3: S3Server;
let data_dir: string;
let store: FileStore;

beforeAll(async () => {
  s3 = await startS3Server();
});
afterAll(() => s3.close());

beforeEach(async () => {
  data_dir = await mkdtemp(join(tmpdir(), "sliproad-s3-data-"));
  store = await openS3({ ...s3.settings, data_dir });
  s3.mode("up");
});
afterEach(() => rm(data_dir, { recursive: true }));

describeFileStore(() => store);

const listTemporary = () => readdir(join(data_dir, "files", "temporary"));

async function put(content: Buffer, to = store): Promise<string> {
  return (await to.putTemporary(streamOf([content]), LIMITS)).temporary_key;
}

describe("S3", () => {
  test("a file larger than a part is sent in parts and read as one", async () => {
    // The smallest part that S3 accepts, except for the last one.
    const part_bytes = 5 * 1024 * 1024;
    const in_parts = await openS3({ ...s3.settings, data_dir, part_bytes });
    const content = randomBytes(2 * part_bytes + 1234);
    const key = newKey();
    await in_parts.promote(await put(content, in_parts), key);
    const read = Buffer.concat(await (await store.openRead(key)).toArray());
    expect(read.equals(content)).toBe(true);
    expect(await store.listVersions(key)).toEqual([key.version]);
    expect(await listTemporary()).toEqual([]);
  });

  test("503 while S3 refuses connections or does not know the bucket; nothing is left", async () => {
    const key = newKey();
    const temporary_key = await put(Buffer.from("x"));
    s3.mode("refusing");
    const unavailable = { code: "unavailable", status: 503, retry_after_seconds: 10 };
    await expect(store.openRead(key)).rejects.toMatchObject(unavailable);
    await expect(store.listVersions(key)).rejects.toMatchObject(unavailable);
    await expect(store.delete(key)).rejects.toMatchObject(unavailable);
    await expect(store.promote(temporary_key, key)).rejects.toMatchObject({
      ...unavailable,
      cause: { message: expect.stringMatching(/^no answer from http:\/\/127\.0\.0\.1/) },
    });
    s3.mode("up");
    expect(await store.listVersions(key)).toEqual([]);
    expect(await listTemporary()).toEqual([]);
    const elsewhere = await openS3({ ...s3.settings, bucket: "no-such-bucket", data_dir });
    await expect(elsewhere.openRead(key)).rejects.toMatchObject({
      ...unavailable,
      cause: { status: 404, code: "NoSuchBucket" },
    });
  });

  test("503 if S3 accepts a connection and then says nothing", async () => {
    const hasty = await openS3({ ...s3.settings, data_dir, timeout_ms: 200 });
    const temporary_key = await put(Buffer.from("x"), hasty);
    s3.mode("silent");
    await expect(hasty.promote(temporary_key, newKey())).rejects.toMatchObject({
      code: "unavailable",
      cause: { code: "UND_ERR_HEADERS_TIMEOUT" },
    });
    expect(await listTemporary()).toEqual([]);
  });

  test("an error that passes is tried again, one that does not is not", async () => {
    const answers = [500, 503, 200, 403];
    const seen: string[] = [];
    const server = createServer((request, response) => {
      seen.push(`${request.method} ${request.headers["x-amz-content-sha256"]}`);
      const status = answers.shift() ?? 400;
      request.resume().on("end", () => response.writeHead(status).end());
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const flaky = await openS3({ ...s3.settings, endpoint, data_dir });
    await flaky.promote(await put(Buffer.from("abc"), flaky), newKey());
    expect(seen).toHaveLength(3);
    // What is sent again is the same: the hash of "abc" is signed each time.
    expect(new Set(seen)).toEqual(
      new Set(["PUT ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"]),
    );
    await expect(flaky.openRead(newKey())).rejects.toMatchObject({ cause: { status: 403 } });
    expect(seen).toHaveLength(4);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  test.each([
    ["of an announced length", { "Content-Length": "1000" }],
    ["without a length", {}],
  ])("503 if an object %s breaks off", async (_title, headers) => {
    const server = createServer((_request, response) => {
      response.writeHead(200, headers).write(Buffer.alloc(500));
      setTimeout(() => response.destroy(), 20);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const breaking = await openS3({ ...s3.settings, endpoint, data_dir });
    for (const open of [breaking.openRead, breaking.openDownload]) {
      const read = open(newKey()).then((file) => file.toArray());
      await expect(read).rejects.toMatchObject({
        ...{ code: "unavailable", status: 503, retry_after_seconds: 10 },
        cause: { message: "an object did not arrive whole (UND_ERR_SOCKET)" },
      });
    }
    await new Promise((resolve) => server.close(resolve));
  });

  test("an object that nobody reads gives its connection back", async () => {
    const key = newKey();
    await store.promote(await put(randomBytes(20_000_000)), key);
    // More than there are connections to S3.
    for (let count = 0; count < 40; count += 1) (await store.openRead(key)).destroy();
    expect(await store.listVersions(key)).toEqual([key.version]);
  });

  test("clients that read their downloads slowly stop nobody's file work", async () => {
    const content = randomBytes(2_000_000);
    const keys = [newKey(), newKey()] as const;
    for (const key of keys) await store.promote(await put(content), key);
    // Nobody reads them; there are more than connections to S3.
    const slow = await Promise.all(Array.from({ length: 40 }, () => store.openDownload(keys[0])));
    const uploaded = newKey();
    await store.promote(await put(content), uploaded);
    expect(await store.listVersions(uploaded)).toEqual([uploaded.version]);
    const other = Buffer.concat(await (await store.openDownload(keys[1])).toArray());
    expect(other.equals(content)).toBe(true);
    expect(Buffer.concat(await slow[39]!.toArray()).equals(content)).toBe(true);
    for (const download of slow) download.destroy();
    expect(await listTemporary()).toEqual([]);
  });

  test("a repeated promotion after a crash finds the object; an unknown file is missing", async () => {
    const key = newKey();
    const temporary_key = await put(Buffer.from("x"));
    await store.promote(temporary_key, key);
    // Another process, which has no temporary file.
    const other_dir = await mkdtemp(join(tmpdir(), "sliproad-s3-data-"));
    const other = await openS3({ ...s3.settings, data_dir: other_dir });
    await other.promote(temporary_key, key);
    await expect(other.promote(temporary_key, newKey())).rejects.toThrow(FileMissingError);
    await rm(other_dir, { recursive: true });
  });

  test("signs as the examples of S3's documentation are signed", () => {
    const settings = {
      ...{ bucket: "examplebucket", endpoint: "https://s3.amazonaws.com", region: "us-east-1" },
      access_key_id: "AKIAIOSFODNN7EXAMPLE",
      secret_access_key: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
      path_style: false,
    };
    const at = { "x-amz-date": "20130524T000000Z" };
    const signatureOf = (query: Record<string, string>) =>
      signRequest(settings, { method: "GET", key: "", query }, at).headers.Authorization;
    expect(signatureOf({ lifecycle: "" })).toMatch(
      /Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543$/,
    );
    expect(signatureOf({ "max-keys": "2", prefix: "J" })).toMatch(
      /Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7$/,
    );
  });

  test("names the bucket in the path or in the host", () => {
    const request = { method: "GET", key: "a/b/c" } as const;
    const settings = { ...s3.settings, endpoint: "https://storage.internal:9000/s3/" };
    expect(signRequest(settings, request)).toMatchObject({
      origin: "https://storage.internal:9000",
      path: "/s3/sliproad-files/a/b/c",
    });
    expect(signRequest({ ...settings, path_style: false }, request)).toMatchObject({
      origin: "https://sliproad-files.storage.internal:9000",
      path: "/s3/a/b/c",
    });
  });
});

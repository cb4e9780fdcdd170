import { createReadStream } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DownloadedFile, Sliproad, SliproadError } from "@sliproad/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createRecords } from "../harness/records.ts";
import {
  answer,
  breakOff,
  resetConnection,
  type ScriptedServer,
  stall,
  startScriptedServer,
  staySilent,
} from "../harness/scripted-http.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";

const FILE_BYTES_MAX = 5 * 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;

let server: TestServer;
let sliproad: Sliproad;
let offramp_id: string;
let directory: string;
beforeAll(async () => {
  server = await startTestServer();
  sliproad = new Sliproad({ baseUrl: server.url, apiKey: server.key });
  ({ offramp_id } = await createRecords(server, server.key));
  directory = await mkdtemp(join(tmpdir(), "sliproad-upload-"));
});
afterAll(async () => {
  await server.close();
  await rm(directory, { recursive: true, force: true });
});

/** A file with the first bytes of a PDF and unique content. */
function makeFile(size: number): Uint8Array<ArrayBuffer> {
  const file = new Uint8Array(size);
  const mark = Math.floor(Math.random() * 256);
  for (let at = 0; at < size; at += 1) file[at] = (at * 31 + mark) % 256;
  file.set(new TextEncoder().encode("%PDF-1.7"));
  return file;
}

function* chunksOf(file: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < file.length; at += CHUNK_BYTES) yield file.subarray(at, at + CHUNK_BYTES);
}

function webStream(file: Uint8Array): ReadableStream<Uint8Array> {
  const chunks = chunksOf(file);
  return new ReadableStream({
    pull(controller) {
      const { done, value } = chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
}

describe("a file of 5 MB arrives byte for byte", () => {
  it.each([
    ["a web stream", async (file: Uint8Array<ArrayBuffer>) => webStream(file)],
    ["a Uint8Array", async (file: Uint8Array<ArrayBuffer>) => file],
    ["a Blob", async (file: Uint8Array<ArrayBuffer>) => new Blob([file])],
    ["a File", async (file: Uint8Array<ArrayBuffer>) => new File([file], "a.pdf")],
    ["a path", async (file: Uint8Array<ArrayBuffer>) => ({ path: await store(file) })],
    ["Node's stream", async (file: Uint8Array<ArrayBuffer>) => createReadStream(await store(file))],
  ])("from %s", async (_, toSource) => {
    const file = makeFile(FILE_BYTES_MAX);
    await sliproad.offramps.documents.upload(offramp_id, await toSource(file));
    const kept = await sliproad.offramps.documents.download(offramp_id);
    expect(kept.content_type).toBe("application/pdf");
    expect(Buffer.compare(await kept.bytes(), file)).toBe(0);
  });

  it("and can be downloaded as a stream or a Blob", async () => {
    const file = makeFile(1000);
    await sliproad.offramps.documents.upload(offramp_id, file, { file_name: 'a "b"\r\n.pdf' });
    const { documents } = sliproad.offramps;
    const parts: Uint8Array[] = [];
    for await (const part of (await documents.download(offramp_id)).stream) parts.push(part);
    expect(Buffer.compare(Buffer.concat(parts), file)).toBe(0);
    const blob = await (await documents.download(offramp_id)).blob();
    expect(blob.size).toBe(1000);
  });
});

describe("a refused file", () => {
  it("is refused with the service's code, from a stream as well", async () => {
    const text = new TextEncoder().encode("not a document");
    const { documents } = sliproad.offramps;
    for (const source of [text, webStream(text)]) {
      const error = await documents.upload(offramp_id, source).catch((thrown) => thrown);
      expect(error.error_code).toBe("unsupported_file_type");
    }
    const missing = crypto.randomUUID();
    await expect(documents.download(missing)).rejects.toMatchObject({
      error_code: "record_not_found",
    });
  });
});

describe("uploads", () => {
  let scripted: ScriptedServer;
  let client: Sliproad;
  beforeAll(async () => {
    scripted = await startScriptedServer();
    client = new Sliproad({ baseUrl: scripted.url, apiKey: "sk_test_invented" });
  });
  afterAll(() => scripted.close());
  const uploaded = answer(200, { message: "uploaded" });

  it("a source that can be read again is sent again with the same key and bytes", async () => {
    const file = makeFile(1000);
    const sources = [file, new Blob([file]), { path: await store(file) }];
    for (const source of sources) {
      scripted.play(resetConnection, uploaded);
      await client.offramps.documents.upload(offramp_id, source);
      const [first, second] = scripted.requests;
      expect(second!.headers["idempotency-key"]).toBe(first!.headers["idempotency-key"]);
      for (const request of [first!, second!]) expect(request.body!.includes(file)).toBe(true);
    }
  });

  it("a source that can be read only once is sent once", async () => {
    const file = makeFile(1000);
    for (const source of [webStream(file), createReadStream(await store(file))]) {
      scripted.play(resetConnection, uploaded);
      const error = await client.offramps.documents
        .upload(offramp_id, source)
        .catch((thrown) => thrown);
      expect(error.error_code).toBe("connection_failed");
      expect(scripted.requests).toHaveLength(1);
    }
  });

  it("a failing source throws the caller's own error", async () => {
    scripted.play(uploaded);
    const { documents } = client.offramps;
    const missing = { path: join(directory, "missing.pdf") };
    await expect(documents.upload(offramp_id, missing)).rejects.toThrow(/ENOENT/);
    const failing = new ReadableStream({
      pull() {
        throw new Error("the disk is gone");
      },
    });
    await expect(documents.upload(offramp_id, failing)).rejects.toThrow("the disk is gone");
    const text = new ReadableStream({
      pull(controller) {
        controller.enqueue("text");
      },
    });
    await expect(documents.upload(offramp_id, text)).rejects.toThrow(/bytes/);
    for (const wrong of [{}, "invoice.pdf", undefined, null, 7]) {
      const call = documents.upload(offramp_id, wrong as never);
      await expect(call, String(wrong)).rejects.toThrow(/^A file is a Blob/);
    }
  });

  it("a stream is read no faster than it is sent: memory stays bounded", async () => {
    // Data that the server does not read stays in the socket buffers, some megabytes at most.
    const deaf = await startScriptedServer({ reads_bodies: false });
    deaf.play(staySilent);
    let given = 0;
    let is_cancelled = false;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        given += CHUNK_BYTES;
        controller.enqueue(new Uint8Array(CHUNK_BYTES));
      },
      cancel() {
        is_cancelled = true;
      },
    });
    try {
      const slow = new Sliproad({
        baseUrl: deaf.url,
        apiKey: "sk_test_invented",
        timeout_ms: 1500,
      });
      const error = await slow.offramps.documents
        .upload(offramp_id, endless)
        .catch((thrown) => thrown);
      expect(error.error_code).toBe("timed_out");
      expect(given).toBeGreaterThan(CHUNK_BYTES);
      expect(given).toBeLessThan(32 * 1024 * 1024);
      expect(is_cancelled).toBe(true);
    } finally {
      await deaf.close();
    }
  });
});

describe("downloads", () => {
  let scripted: ScriptedServer;
  let client: Sliproad;
  beforeAll(async () => {
    scripted = await startScriptedServer();
    client = new Sliproad({ baseUrl: scripted.url, apiKey: "sk_test_invented" });
  });
  afterAll(() => scripted.close());
  const readers = ["bytes", "blob", "stream"] as const;

  function read(file: DownloadedFile, how: (typeof readers)[number]): Promise<unknown> {
    return how === "stream" ? new Response(file.stream).text() : file[how]();
  }

  it.each(readers)("a file that stalls ends in time (%s)", async (how) => {
    scripted.play(stall);
    const file = await client.offramps.documents.download(offramp_id, { timeout_ms: 200 });
    await expect(read(file, how)).rejects.toMatchObject({ error_code: "timed_out" });
  });

  it.each(readers)("a file that is cut off is a broken connection (%s)", async (how) => {
    scripted.play(breakOff);
    const { documents } = client.offramps;
    const reading = documents.download(offramp_id).then((file) => read(file, how));
    await expect(reading).rejects.toThrow(SliproadError);
    await expect(reading).rejects.toMatchObject({ error_code: "connection_failed" });
  });

  it("a caller who reads late does not use up the time limit", async () => {
    scripted.play(answer(200, "%PDF-1.7"));
    const file = await client.offramps.documents.download(offramp_id, { timeout_ms: 200 });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(new TextDecoder().decode(await file.bytes())).toBe("%PDF-1.7");
  });

  it.each(readers)("a file that arrives slowly, part by part, is complete (%s)", async (how) => {
    scripted.play((response) => {
      response.writeHead(200, { "content-type": "application/pdf" });
      let parts = 0;
      const timer = setInterval(() => {
        parts += 1;
        if (parts <= 6) return response.write("part ");
        clearInterval(timer);
        response.end();
      }, 150);
    });
    const file = await client.offramps.documents.download(offramp_id, { timeout_ms: 500 });
    const content = await read(file, how);
    expect(await new Response(content as string | Blob).text()).toBe("part ".repeat(6));
  });

  it("a caller who aborts while reading gets their own reason", async () => {
    scripted.play(stall);
    const control = new AbortController();
    const { documents } = client.offramps;
    const file = await documents.download(offramp_id, { signal: control.signal });
    setTimeout(() => control.abort(new Error("no longer wanted")), 50);
    await expect(file.bytes()).rejects.toThrow("no longer wanted");
  });
});

let files = 0;
async function store(file: Uint8Array): Promise<string> {
  files += 1;
  const path = join(directory, `${files}.pdf`);
  await writeFile(path, file);
  return path;
}

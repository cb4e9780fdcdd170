import { spawn } from "node:child_process";
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import http from "node:http";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { waitFor } from "../../harness/wait-for.ts";
import {
  ACCOUNT_ID,
  BYTES_MAX,
  FULL,
  LOCKED_ID,
  startUploadServer,
  UNKNOWN_ID,
  type UploadServer,
} from "./upload-server.ts";

const BOUNDARY = "----boundary7";
const PDF = Buffer.from("%PDF-1.7 a small document");

let data_dir: string;
let server: UploadServer;
let record_id: string;

beforeEach(async () => {
  data_dir = await mkdtemp(join(tmpdir(), "sliproad-upload-"));
  server = await startUploadServer(data_dir);
  record_id = randomUUID();
});

afterEach(async () => {
  server.server.server.closeAllConnections();
  await server.server.close();
  await rm(data_dir, { recursive: true });
});

describe("a file that is accepted", () => {
  test.each([
    ["a PDF", PDF, "pdf"],
    ["a JPG", Buffer.from([0xff, 0xd8, 0xff, 0xe0, 1, 2, 3]), "jpg"],
    ["a PNG", Buffer.from("\x89PNG\r\n\x1a\n...", "latin1"), "png"],
  ])("%s, whatever its file name", async (_name, content, type) => {
    const answer = await upload(form(content, "virus.exe"));
    expect(answer).toMatchObject({ status: 200, body: { message: "uploaded" } });
    expect(server.commands).toMatchObject([
      { account_id: ACCOUNT_ID, input: { hash: sha256(content), type, size: content.length } },
    ]);
    expect((await server.readKept(record_id, "v0")).equals(content)).toBe(true);
    expect(await leftovers()).toEqual([]);
  });

  test("is encrypted on disk", async () => {
    await upload(form(PDF));
    const entries = await readdir(data_dir, { recursive: true, withFileTypes: true });
    const [file] = entries.filter((entry) => entry.isFile());
    const bytes = await readFile(join(file!.parentPath, file!.name));
    expect(bytes.includes("small document")).toBe(false);
  });

  test("may have exactly 5 242 880 bytes, and not one more", async () => {
    const content = pdfOf(BYTES_MAX);
    expect((await upload(form(content))).status).toBe(200);
    expect((await server.readKept(record_id, "v0")).equals(content)).toBe(true);
    const larger = await upload(form(pdfOf(BYTES_MAX + 1)));
    expect(larger).toMatchObject({ status: 413, body: { error_code: "file_too_large" } });
    expect(server.commands).toHaveLength(1);
    expect(await leftovers()).toEqual([]);
  });

  test("may arrive byte by byte, with preamble, padding, epilogue and unusual names", async () => {
    const name = 'Content-Disposition: form-data; filename="a; name=\\"x\\".pdf"; NAME=file';
    const text = `preamble\r\n--${BOUNDARY} \t\r\n${name}\r\nX-More: 1\r\n\r\n`;
    const body = Buffer.concat([Buffer.from(text), PDF, Buffer.from(`\r\n--${BOUNDARY}--\r\nend`)]);
    const type = `Multipart/Form-Data; x=y; Boundary="${BOUNDARY}"`;
    const request = open({ "content-type": type, "content-length": String(body.length) });
    request.setNoDelay();
    for (const byte of body) request.write(Buffer.of(byte));
    request.end();
    const [response] = await once(request, "response");
    response.resume();
    expect(response.statusCode).toBe(200);
    expect(server.commands[0]?.input.hash).toBe(sha256(PDF));
  });

  test("is the same request under an Idempotency-Key, whatever its name and boundary", async () => {
    const headers = { "idempotency-key": "one" };
    const other_boundary = { ...headers, "content-type": "multipart/form-data; boundary=other" };
    await upload(form(PDF, "a.pdf"), headers);
    await upload(multipart([{ name: "file", content: PDF }], "other"), other_boundary);
    await upload(form(Buffer.from("%PDF-another")), headers);
    await upload(form(PDF));
    const [first, same, another, none] = server.commands.map((command) => command.idempotency);
    expect(same).toEqual(first);
    expect(another?.index).toEqual(first?.index);
    expect(another?.request_hash).not.toEqual(first?.request_hash);
    expect(none).toBe(null);
    const bad = await upload(form(PDF), { "idempotency-key": "x".repeat(256) });
    expect(bad).toMatchObject({ status: 422, body: { error_code: "record_invalid" } });
    expect(await leftovers()).toEqual([]);
  });
});

describe("a file that is refused leaves nothing and the answer says why", () => {
  const file = { name: "file", content: PDF };
  const empty = Buffer.alloc(0);
  const whole = multipart([file]);
  const cases: [string, Buffer, number, string][] = [
    ["no part", multipart([]), 400, "parameter_missing"],
    ["an empty file", multipart([{ name: "file", content: empty }]), 400, "parameter_missing"],
    ["another part", multipart([{ name: "fiel", content: PDF }]), 422, "parameter_unknown"],
    ["a part before", multipart([{ name: "a", content: PDF }, file]), 422, "parameter_unknown"],
    ["a part behind", multipart([file, { name: "a", content: PDF }]), 422, "parameter_unknown"],
    ["two files", multipart([file, file]), 422, "parameter_unknown"],
    [
      "a text",
      multipart([{ name: "file", content: Buffer.from("hello") }]),
      422,
      "unsupported_file_type",
    ],
    [
      "a page",
      multipart([{ name: "file", content: Buffer.from("<html>") }]),
      422,
      "unsupported_file_type",
    ],
    [
      "four bytes",
      multipart([{ name: "file", content: Buffer.from("%PDF") }]),
      422,
      "unsupported_file_type",
    ],
    ["an empty body", empty, 400, "bad_request"],
    ["a body without an end", whole.subarray(0, -4), 400, "bad_request"],
    ["a body cut in its headers", whole.subarray(0, 60), 400, "bad_request"],
    ["a body that is none", randomBytes(10_000), 400, "bad_request"],
    [
      "a part without a name",
      Buffer.from(`--${BOUNDARY}\r\na: b\r\n\r\nx\r\n--${BOUNDARY}--`),
      400,
      "bad_request",
    ],
    [
      "a long header",
      Buffer.from(`--${BOUNDARY}\r\na: ${"b".repeat(9000)}\r\n\r\n`),
      400,
      "bad_request",
    ],
    ["a long epilogue", Buffer.concat([whole, Buffer.alloc(9000)]), 400, "bad_request"],
  ];
  test.each(cases)("%s", async (_name, body, status, error_code) => {
    expect(await upload(body)).toMatchObject({ status, body: { error_code } });
    expect(server.commands).toEqual([]);
    expect(await leftovers()).toEqual([]);
  });

  test("names the part that is missing or unknown", async () => {
    const missing = await upload(multipart([]));
    expect(missing.body.errors).toMatchObject([{ field: "file", code: "parameter_missing" }]);
    const unknown = await upload(multipart([{ name: "fiel", content: PDF }]));
    expect(unknown.body.errors).toMatchObject([{ field: "fiel", code: "parameter_unknown" }]);
  });

  test("with another content type, without one, and without a boundary", async () => {
    for (const type of ["application/json", "application/pdf", "multipart/mixed; boundary=x"]) {
      const answer = await upload(PDF, { "content-type": type });
      expect(answer, type).toMatchObject({
        status: 415,
        body: { error_code: "unsupported_media_type" },
      });
    }
    for (const type of ["multipart/form-data", 'multipart/form-data; boundary=""']) {
      const answer = await upload(form(PDF), { "content-type": type });
      expect(answer, type).toMatchObject({ status: 400, body: { error_code: "bad_request" } });
    }
    const request = open({ "content-length": "0" });
    request.end();
    const [response] = await once(request, "response");
    expect(JSON.parse(Buffer.concat(await response.toArray()).toString())).toMatchObject({
      error_code: "parameter_missing",
      errors: [{ field: "file" }],
    });
  });

  test("without a key, for an unknown record, with an unknown filter, by its command", async () => {
    const anonymous = await upload(form(PDF), { authorization: "Bearer nobody" });
    expect(anonymous.status).toBe(401);
    for (const id of [UNKNOWN_ID, "not-an-id"]) {
      const answer = await upload(form(pdfOf(BYTES_MAX)), {}, `/records/${id}/documents`);
      expect(answer).toMatchObject({ status: 404, body: { error_code: "record_not_found" } });
    }
    const filter = await upload(form(PDF), {}, `/records/${record_id}/documents?a=1`);
    expect(filter).toMatchObject({ status: 422, body: { error_code: "parameter_unknown" } });
    const locked = await upload(form(PDF), {}, `/records/${LOCKED_ID}/documents`);
    expect(locked).toMatchObject({ status: 422, body: { error_code: "offramp_not_editable" } });
    expect(
      await server.store.listVersions({ account_id: ACCOUNT_ID, record_id: LOCKED_ID }),
    ).toEqual([]);
    expect(await leftovers()).toEqual([]);
    expect(server.log).toEqual([]);
  });

  test("an endless file is refused while it is being sent", async () => {
    const endless = open({ "content-type": `multipart/form-data; boundary=${BOUNDARY}` });
    endless.on("error", () => {});
    endless.write(multipart([file]).subarray(0, -(BOUNDARY.length + 8)));
    const chunk = Buffer.alloc(65_536);
    const pour = () => {
      while (!endless.destroyed && endless.write(chunk));
    };
    endless.on("drain", pour);
    pour();
    const [response] = await once(endless, "response");
    expect(response.statusCode).toBe(413);
    endless.destroy();
    expect(await leftovers()).toEqual([]);
    const large = await upload(form(pdfOf(20 * 1024 * 1024)));
    expect(large).toMatchObject({ status: 413, body: { error_code: "file_too_large" } });
  });

  test("a wrong type is refused by its first bytes, even if the client stalls", async () => {
    const stalled = open({ "content-type": `multipart/form-data; boundary=${BOUNDARY}` });
    stalled.on("error", () => {});
    stalled.write(
      multipart([{ name: "file", content: Buffer.from("GIF89a".repeat(100)) }]).subarray(0, 400),
    );
    const [response] = await once(stalled, "response");
    expect(response.statusCode).toBe(422);
    stalled.destroy();
  });

  test("a client that reads only after sending gets the refusal, and can continue", async () => {
    const { port, hostname } = new URL(server.url);
    const socket = net.connect(Number(port), hostname);
    const body = multipart([{ name: "file", content: Buffer.alloc(4_000_000, "x") }]);
    const head = [
      `POST /records/${record_id}/documents HTTP/1.1`,
      "host: x",
      "authorization: Bearer sk_test",
      `content-type: multipart/form-data; boundary=${BOUNDARY}`,
    ];
    const send = (content: Buffer) =>
      new Promise<void>((resolve) => {
        socket.write(`${head.join("\r\n")}\r\ncontent-length: ${content.length}\r\n\r\n`);
        socket.write(content, () => resolve());
      });
    await send(body);
    await send(form(PDF));
    let said = "";
    socket.on("data", (chunk) => {
      said += chunk;
    });
    await waitFor(() => said.includes("uploaded"));
    expect(said).toMatch(/^HTTP\/1.1 422 .*unsupported_file_type.*HTTP\/1.1 200 /s);
    socket.destroy();
  });

  test("a client that disconnects halfway", async () => {
    const request = open({ "content-type": `multipart/form-data; boundary=${BOUNDARY}` });
    request.on("error", () => {});
    request.write(form(pdfOf(1_000_000)).subarray(0, 500_000));
    await waitFor(async () => (await leftovers()).length === 1);
    request.destroy();
    await waitFor(async () => (await leftovers()).length === 0);
    expect(server.commands).toEqual([]);
    expect(server.log).toEqual([]);
  });
});

test("a file of 5 MB for which the disk has no space is refused, and the answer is read", async () => {
  const full = await startUploadServer(data_dir, FULL);
  try {
    const url = `${full.url}/records/${record_id}/documents`;
    const answer = await uploadTo(url, form(pdfOf(BYTES_MAX)));
    expect(answer).toMatchObject({ status: 503, body: { error_code: "unavailable" } });
    expect(full.commands).toEqual([]);
    expect(full.log).toEqual([]);
    expect(await leftovers()).toEqual([]);
  } finally {
    await full.server.close();
  }
});

test("the route is described with a binary part and the codes of an upload", async () => {
  const document = server.server.swagger() as unknown as {
    // biome-ignore lint/suspicious/noExplicitAny: the document is read as plain JSON.
    paths: Record<string, any>;
  };
  const { post } = document.paths["/records/{record_id}/documents"];
  expect(post.requestBody).toMatchObject({
    required: true,
    content: {
      "multipart/form-data": {
        schema: {
          required: ["file"],
          properties: { file: { type: "string", format: "binary" } },
        },
      },
    },
  });
  expect(Object.keys(post.requestBody.content)).toEqual(["multipart/form-data"]);
  expect(Object.keys(post.responses)).toEqual(expect.arrayContaining(["200", "404", "413", "415"]));
  expect(post.responses["422"].description).toMatch(/unsupported_file_type.*offramp_not_editable/s);
  expect(JSON.stringify(post.parameters)).toContain("Idempotency-Key");
});

test("20 files of 5 MB that arrive at once take less than 1 MB each", async () => {
  const module = new URL("./upload-server.ts", import.meta.url).href;
  const program = `
    const { startUploadServer } = await import(${JSON.stringify(module)});
    console.log((await startUploadServer(process.argv[1])).url);`;
  const flags = ["--expose-gc", "--input-type=module", "-e"];
  const child = spawn(process.execPath, [...flags, program, data_dir]);
  try {
    const [url] = await once(createInterface({ input: child.stdout }), "line");
    const memory = async () => (await (await fetch(`${url}/memory`)).json()) as Memory;
    const before = await memory();
    const content = form(pdfOf(BYTES_MAX));
    const requests = Array.from({ length: 20 }, () => {
      const request = open({ "content-type": `multipart/form-data; boundary=${BOUNDARY}` }, url);
      request.write(content.subarray(0, -100));
      return { request, response: once(request, "response") };
    });
    // All are almost complete, and none has ended: this is the memory for all at once.
    await waitFor(async () => {
      const stored = await Promise.all((await leftovers()).map(sizeOfTemporary));
      return stored.length === 20 && stored.every((bytes) => bytes > BYTES_MAX - 200_000);
    }, 25_000);
    // What was written is freed a moment later than it is seen in the file.
    await waitFor(async () => (await memory()).live_buffers - before.live_buffers < 20_000_000);
    for (const { request } of requests) request.end(content.subarray(-100));
    for (const { response } of requests) {
      const [answer] = await response;
      answer.resume();
      expect(answer.statusCode).toBe(200);
    }
    expect((await memory()).peak_rss - before.peak_rss).toBeLessThan(100_000_000);
  } finally {
    child.kill();
    await once(child, "exit");
  }
});

type Memory = { peak_rss: number; live_buffers: number };

function pdfOf(bytes: number): Buffer {
  const content = Buffer.alloc(bytes, randomBytes(1021));
  content.write("%PDF-");
  return content;
}

function form(content: Buffer, filename = "document.pdf"): Buffer {
  return multipart([{ name: "file", filename, content }]);
}

function multipart(
  parts: { name: string; filename?: string; content: Buffer }[],
  boundary = BOUNDARY,
): Buffer {
  const pieces = parts.flatMap(({ name, filename = "a.pdf", content }) => [
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"; `),
    Buffer.from(`filename="${filename}"\r\nContent-Type: application/pdf\r\n\r\n`),
    content,
    Buffer.from("\r\n"),
  ]);
  return Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]);
}

function upload(body: Buffer, headers: Record<string, string> = {}, path?: string) {
  return uploadTo(`${server.url}${path ?? `/records/${record_id}/documents`}`, body, headers);
}

async function uploadTo(url: string, body: Buffer, headers: Record<string, string> = {}) {
  const answer = await fetch(url, {
    method: "POST",
    headers: {
      authorization: "Bearer sk_test",
      "content-type": `multipart/form-data; boundary=${BOUNDARY}`,
      ...headers,
    },
    body: body as never,
  });
  // biome-ignore lint/suspicious/noExplicitAny: an answer is whatever the server sent.
  return { status: answer.status, body: (await answer.json()) as any };
}

/** A request whose body is not written yet. */
function open(headers: Record<string, string>, url = server.url): http.ClientRequest {
  return http.request(`${url}/records/${record_id}/documents`, {
    method: "POST",
    headers: { authorization: "Bearer sk_test", ...headers },
  });
}

function leftovers(): Promise<string[]> {
  return readdir(join(data_dir, "files", "temporary"));
}

async function sizeOfTemporary(name: string): Promise<number> {
  return (await stat(join(data_dir, "files", "temporary", name))).size;
}

function sha256(content: Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

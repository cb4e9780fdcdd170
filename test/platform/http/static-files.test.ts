import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FastifyInstance } from "fastify";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createServer } from "../../../src/platform/http/server.ts";
import { addStaticFiles, readStaticFiles } from "../../../src/platform/http/static-files.ts";

let directory: string;
let app: FastifyInstance;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "sliproad-static-"));
  await mkdir(join(directory, "public"));
  await mkdir(join(directory, "public", "inner"));
  await writeFile(join(directory, "secret.txt"), "secret");
  await writeFile(join(directory, "public", "inner", "deep.js"), "deep");
  await writeFile(join(directory, "public", "index-B1x9_aQz.js"), "script");
  await writeFile(join(directory, "public", "index.html"), "page");
  app = createServer({
    log_level: "silent",
    public_url: () => "http://127.0.0.1",
    trusted_proxies: [],
    rate_limit: 0,
    rate_limit_anonymous: 0,
    stalled_seconds: 120,
    authenticate: async () => null,
  });
  addStaticFiles(app, "/assets/test", readStaticFiles(join(directory, "public")));
  await app.ready();
});
afterAll(async () => {
  await app.close();
  await rm(directory, { recursive: true });
});

const get = (url: string, headers = {}) => app.inject({ method: "GET", url, headers });

it("a file with a hash in its name is cached permanently, others are revalidated", async () => {
  const script = await get("/assets/test/index-B1x9_aQz.js");
  expect(script.body).toBe("script");
  expect(script.headers).toMatchObject({
    "content-type": "text/javascript; charset=utf-8",
    "cache-control": "public, max-age=31536000, immutable",
    "x-content-type-options": "nosniff",
  });
  const page = await get("/assets/test/index.html");
  expect(page.headers["cache-control"]).toBe("no-cache");
  const again = await get("/assets/test/index.html", { "if-none-match": page.headers.etag });
  expect([again.statusCode, again.body]).toEqual([304, ""]);
});

it.each([
  "..%2Fsecret.txt",
  "%2e%2e/secret.txt",
  "../secret.txt",
  "..%5Csecret.txt",
  "inner/deep.js",
  "inner%2Fdeep.js",
  "inner",
  "",
  "nothing.js",
  "index.html%00",
  "__proto__",
])("nothing is served at %s", async (name) => {
  const answer = await get(`/assets/test/${name}`);
  expect(answer.statusCode).toBe(404);
  expect(answer.body).not.toContain("secret");
});

it("a missing directory serves nothing", () => {
  expect(readStaticFiles(join(directory, "absent"))).toBeNull();
});

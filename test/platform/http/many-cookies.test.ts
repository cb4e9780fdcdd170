import { request } from "node:http";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../harness/server.ts";

const SENT = 20;
/** Of the processor, all clients and the server together; it was 1,500 with a decoder. */
const MAX_MS = 500;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

const get = (path: string, cookie: string) =>
  new Promise<number>((resolve, reject) => {
    const sent = request(`${server.url}${path}`, { headers: { cookie } }, (answer) => {
      answer.resume().once("end", () => resolve(answer.statusCode!));
    });
    sent.once("error", reject).end();
  });

it.each(["/healthz", "/sign-in", "/users", "/kyc/session", "/oauth/authorize"])(
  "thousands of cookies that cannot be decoded cost little at %s",
  async (path) => {
    const cookie = Array.from({ length: 2_600 }, (_, at) => `${at.toString(36)}=%`).join(";");
    expect(cookie.length).toBeGreaterThan(13_000);
    await get(path, cookie);
    const begun = process.cpuUsage();
    for (let sent = 0; sent < SENT; sent += 1) expect(await get(path, cookie)).toBeLessThan(500);
    const { user, system } = process.cpuUsage(begun);
    expect((user + system) / 1_000).toBeLessThan(MAX_MS);
  },
);

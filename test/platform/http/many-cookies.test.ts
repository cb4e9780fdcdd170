import { request } from "node:http";
import { afterAll, beforeAll, expect, it } from "vitest";
import { findCookie } from "../../../src/platform/pages/cookies.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";

const SENT = 20;
/** Of the processor, all clients and the server together; it was 800 with a decoder. */
const MAX_MS = 400;

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

it("of thousands of cookies ours are found in a fraction of a millisecond, before any limit", () => {
  const others = Array.from({ length: 2_600 }, (_, at) => `${at.toString(36)}=%`).join(";");
  const spaces = `a=b;${" ".repeat(14_000)}x`;
  for (const [public_url, prefix] of [
    ["http://127.0.0.1", ""],
    ["https://pay.example.com", "__Host-"],
  ] as const) {
    const find = (header: string) => findCookie(header, public_url, "session");
    const own = `${prefix}sliproad_session=a.b-c_d`;
    expect(find(`${others}; ${own};z=1; ${own}e`)).toBe("a.b-c_d");
    expect(find(own)).toBe("a.b-c_d");
    expect(find(`${prefix}sliproad_sessions=a; x${own}; y=${own}`)).toBeUndefined();
    const begun = process.cpuUsage();
    for (let times = 0; times < 200; times += 1) {
      expect(find(others)).toBeUndefined();
      expect(find(spaces)).toBeUndefined();
    }
    const { user, system } = process.cpuUsage(begun);
    expect((user + system) / 1_000).toBeLessThan(100);
  }
});

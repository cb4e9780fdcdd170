import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../harness/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

describe("every answer", () => {
  it.each([
    ["the API", "GET", "/users"],
    ["a refusal of the API", "POST", "/users"],
    ["an unknown route", "GET", "/nowhere"],
    ["health", "GET", "/healthz"],
    ["metrics", "GET", "/metrics"],
    ["the API's document", "GET", "/openapi.json"],
    ["the sign-in page", "GET", "/sign-in"],
    ["a page that needs a session", "GET", "/dashboard"],
    ["the documentation", "GET", "/docs"],
    ["an unknown link of an applicant", "GET", "/kyc/nothing"],
    ["a stylesheet", "GET", "/assets/pages.css"],
    ["OAuth's keys", "GET", "/.well-known/jwks.json"],
    ["a refusal of OAuth", "POST", "/oauth/token"],
  ])(
    "of %s is shown in no frame, loads nothing foreign, and is what its type says",
    async (...row) => {
      const [, method, path] = row;
      const { headers } = await server.call(method, path, method === "POST" ? {} : undefined);
      const policy = headers.get("content-security-policy") ?? "none";
      expect(policy).toMatch(/(^|; )default-src 'none'(;|$)/);
      expect(policy).toMatch(/(^|; )frame-ancestors 'none'(;|$)/);
      expect(policy).toMatch(/(^|; )base-uri 'none'(;|$)/);
      expect(policy).not.toMatch(/unsafe|\*|https?:/);
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("referrer-policy")).toMatch(/^(no-referrer|same-origin)$/);
    },
  );
});

it("TRACE is not supported: nothing of the request is sent back", async () => {
  const { hostname, port } = new URL(server.url);
  const headers = { "x-canary": "sent-and-never-returned" };
  const request = httpRequest({ hostname, port, path: "/users", method: "TRACE", headers }).end();
  const [answer] = await once(request, "response");
  expect(answer.statusCode).toBe(404);
  expect(await text(answer)).not.toContain(headers["x-canary"]);
});

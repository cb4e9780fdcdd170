import { afterAll, beforeAll, expect, it } from "vitest";
import { MINUTE_MS } from "../../../src/platform/durations.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

it.each(["starting_after", "created_after", "created_before"])(
  "422 that names the field when %s is sent twice",
  async (name) => {
    const answer = await server.call("GET", `/users?${name}=2026-11-15&${name}=2026-11-16`);
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toEqual([
      { field: name, code: "record_invalid", message: "Send a string." },
    ]);
  },
);

it.each(["0000-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01"])(
  "422 for %s, whose year in UTC has no four digits",
  async (time) => {
    const at = encodeURIComponent(time);
    for (const path of [`/ledger/balances?at=${at}`, `/users?created_before=${at}`]) {
      const answer = await server.call("GET", path);
      expect(answer.status).toBe(422);
      expect(answer.body.errors).toMatchObject([{ code: "record_invalid" }]);
    }
  },
);

it("a client that reads nothing of an answer is disconnected: the server waits two minutes", () => {
  expect(server.app.server.server.timeout).toBe(2 * MINUTE_MS);
});

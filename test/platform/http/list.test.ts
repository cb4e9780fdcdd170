import { afterAll, beforeAll, expect, it } from "vitest";
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

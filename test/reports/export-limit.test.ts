import { afterAll, beforeAll, expect, it } from "vitest";
import { signInMember } from "../dashboard/dashboard-server.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.close());

it("an account has 20 exports at most, also when a key and a member ask at once", async () => {
  const { account_id } = server;
  const email = "admin@example.test";
  const member = await signInMember(server, { account_id, role: "admin", email });
  const body = { export: { kind: "audit_log", from: "2026-01-01", to: "2026-01-02" } };
  const asked = Array.from({ length: 60 }, async (_, at) =>
    at % 2 === 0
      ? (await server.call("POST", "/exports", body)).status
      : (await member.call("POST", "/exports", body)).statusCode,
  );
  const statuses = await Promise.all(asked);
  expect(statuses.filter((status) => status === 200)).toHaveLength(20);
  expect(statuses.filter((status) => status === 422)).toHaveLength(40);
});

import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { signInMember } from "./dashboard-server.ts";

const SENDER = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_SECOND_FACTOR: "optional" } });
  const { database } = server.core;
  await database.query(
    `insert into evm_senders (chain, address, state, state_since)
     values ('polygon', $1, 'sending', $2)`,
    [SENDER, new Date()],
  );
  const hour_ago = new Date(Date.now() - 3_600_000);
  for (const [key, state] of [
    ["refund:of-somebody:1", "queued"],
    ["refund:of-somebody:2", "refused"],
  ]) {
    await database.query(
      `insert into evm_sends (key, chain, sender, action, state, state_since, created_at, problem)
       values ($1, 'polygon', $2, '{}', $3, $4, $4, 'no gas')`,
      [key, SENDER, state, hour_ago],
    );
  }
});
afterAll(() => server.close());

it("the operator's members see what is not final, and the overview counts what is stuck", async () => {
  const { account_id } = server;
  const email = "accountant@example.test";
  const member = await signInMember(server, { account_id, role: "accountant", email });
  const { sends } = (await member.call("GET", "/dashboard/api/sends")).json();
  expect(sends).toMatchObject([
    { id: "refund:of-somebody:1", purpose: "refund", chain: "polygon", problem: "no gas" },
  ]);
  const { waiting } = (await member.call("GET", "/dashboard/api/overview")).json();
  expect(waiting).toContainEqual(expect.objectContaining({ name: "stuck_sends", count: 1 }));
});

it("members of other accounts see none, and a developer may not look", async () => {
  const { account_id } = await server.addAccount("other");
  const add = (role: "admin" | "developer") =>
    signInMember(server, { account_id, role, email: `${role}@example.test` });
  const other = await (await add("admin")).call("GET", "/dashboard/api/sends");
  expect(other.json().sends).toEqual([]);
  const refused = await (await add("developer")).call("GET", "/dashboard/api/sends");
  expect(refused.statusCode).toBe(403);
});

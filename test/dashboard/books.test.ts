import { afterAll, beforeAll, expect, it } from "vitest";
import { insertVerification } from "../../src/verify/runs/store.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { signInMember } from "./dashboard-server.ts";

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

const PATH = "/dashboard/api/books";
const RUN = {
  id: "01a1dd11-4aee-7000-adc7-78aca4556f62",
  at: new Date("2026-11-17T04:00:00.000Z"),
  ...{ accounts: 3, fault: null, has_anchors: true, took_ms: 1200 },
};

it("shows the operator the last result of verify, and whether the command wrote it", async () => {
  const { database, index_key } = server.core;
  const { account_id } = server;
  const email = "accountant@example.test";
  const member = await signInMember(server, { account_id, role: "accountant", email });
  const show = async () => (await member.call("GET", PATH)).json();
  expect(await show()).toEqual({ verification: null, banks: [], chains: [] });
  await database.transaction(async (tx) => insertVerification(tx, index_key, RUN));
  const shown = { ...RUN, at: RUN.at.toISOString() };
  expect((await show()).verification).toEqual({ ...shown, is_proven: true });
  await database.query("update verifications set accounts = 4");
  expect((await show()).verification).toEqual({ ...shown, accounts: 4, is_proven: false });
});

it("shows nothing of the installation to other accounts", async () => {
  const { account_id } = await server.addAccount("other");
  const admin = { account_id, role: "admin", email: "admin@example.test" } as const;
  const refused = await (await signInMember(server, admin)).call("GET", PATH);
  expect(refused.statusCode).toBe(403);
});

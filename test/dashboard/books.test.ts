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
  expect(await show()).toEqual({ verification: null, running: null, banks: [], chains: [] });
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

const START = `${PATH}/verification`;

it("a check is started by who keeps the books, once at a time, and its result is shown", async () => {
  const { account_id, app } = server;
  const add = (role: "accountant" | "approver") =>
    signInMember(server, { account_id, role, email: `${role}.two@example.test` });
  const [accountant, approver] = [await add("accountant"), await add("approver")];
  const show = async () => (await accountant.call("GET", PATH)).json();
  expect((await approver.call("POST", START, {})).statusCode).toBe(403);
  const started = await Promise.all([1, 2, 3].map(() => accountant.call("POST", START, {})));
  const statuses = started.map(({ statusCode }) => statusCode).sort();
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(1);
  expect(statuses.every((status) => status === 200 || status === 422)).toBe(true);
  await app.worker.runUntilIdle(20_000);
  const { verification, running } = await show();
  expect(running).toBeNull();
  expect(verification).toMatchObject({ fault: null, is_proven: true, has_anchors: false });
  expect(Date.parse(verification.at)).toBeGreaterThan(RUN.at.getTime());
});

it("a second check is refused while one waits, and a fault is named", async () => {
  const { account_id, app, core } = server;
  const email = "admin.two@example.test";
  const admin = await signInMember(server, { account_id, role: "admin", email });
  await core.database.query(
    `insert into running_verifications (account_id, requested_by, requested_at, updated_at)
     values ($1, 'member:x', now(), now())`,
    [account_id],
  );
  const refused = await admin.call("POST", START, {});
  expect(refused.json()).toMatchObject({ error_code: "invalid_transition" });
  expect((await admin.call("GET", PATH)).json().running).toMatchObject({ accounts_done: 0 });
  await core.database.query("delete from running_verifications");
  // Not those about the member, who would have no rights any more.
  await core.database.query(
    `update audit_entries set reason = 'changed'
     where account_id = $1 and record not like 'person:%'`,
    [account_id],
  );
  expect((await admin.call("POST", START, {})).statusCode).toBe(200);
  await app.worker.runUntilIdle(20_000);
  const { verification } = (await admin.call("GET", PATH)).json();
  expect(verification).toMatchObject({ is_proven: true });
  expect(verification.fault).toContain("audit");
});

it("members of other accounts start none", async () => {
  const { account_id } = await server.addAccount("third");
  const admin = { account_id, role: "admin", email: "third@example.test" } as const;
  expect((await (await signInMember(server, admin)).call("POST", START, {})).statusCode).toBe(403);
});

import { afterAll, beforeAll, expect, it } from "vitest";
import { recordAudit } from "../../src/accounts/audit.ts";
import { freezeAccount } from "../../src/accounts/freeze-account.ts";
import { noteAct, OPERATOR_ACTS } from "../../src/accounts/operator-acts.ts";
import { HOUR_MS } from "../../src/platform/durations.ts";
import { newId } from "../../src/platform/ids.ts";
import { addOwedUser } from "../approvals/proposal-fixture.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { findFault, settle } from "../offramps/story.ts";

// Runs with one account per transaction (test/tenancy/account-files.ts).
let server: TestServer;
let tenant: { account_id: string; key: string };

beforeAll(async () => {
  server = await startTestServer();
  tenant = await server.addAccount("Tenant");
});
afterAll(() => server.close());

const REASON = "Reported as stolen";
const MATCH = "01900000-0000-7000-8000-000000000000";
type Entry = { action: string; reason: string; detail: string };

function entriesOf(account_id: string, record: string): Promise<Entry[]> {
  return server.db.database.query<Entry>(
    `select action, reason, detail from audit_entries
     where account_id = $1 and record = $2 order by id`,
    [account_id, record],
  );
}

it("a freeze is in both logs, its reason only in the operator's", async () => {
  const { user_id } = await addOwedUser(server, 10, tenant.key);
  const record = `user:${user_id}`;
  const answer = await server.call("POST", `/users/${user_id}/freeze`, { reason: REASON });
  expect(answer.status, answer.text).toBe(200);
  const own = await entriesOf(tenant.account_id, record);
  expect(own.at(-1)).toMatchObject({ action: "user.freeze", reason: "" });
  await waitFor(async () => (await entriesOf(server.account_id, record)).length > 0);
  const [noted, ...more] = await entriesOf(server.account_id, record);
  expect(noted).toMatchObject({ action: "user.freeze", reason: REASON });
  expect(JSON.parse(noted!.detail)).toEqual({ account_id: tenant.account_id });
  expect(more).toEqual([]);
  await settle(server);
  expect(await server.db.database.query("select from operator_acts")).toEqual([]);
});

it("the same request again gets the same answer and is noted once", async () => {
  const { user_id } = await addOwedUser(server, 10, tenant.key);
  const options = { headers: { "Idempotency-Key": newId(new Date()) } };
  const freeze = () => server.call("POST", `/users/${user_id}/freeze`, { reason: REASON }, options);
  const [first, second] = [await freeze(), await freeze()];
  expect(second.body).toEqual(first.body);
  await settle(server);
  expect(await entriesOf(server.account_id, `user:${user_id}`)).toHaveLength(1);
});

it.each([
  ["", "screening_match.clear", `screening_match:${MATCH}`],
  [", also by a clock that is behind the last entry", "user.freeze", `user:${MATCH}`],
] as const)(
  "an act that was noted before its task ended is noted once%s",
  async (_name, action, record) => {
    const { database, clock } = server.core;
    const { account_id: operator_id } = server;
    const entry = { actor: "command line", action, record, reason: REASON } as const;
    const id = newId(clock.now());
    const later = new Date(clock.now().getTime() + HOUR_MS);
    await database.transaction(async (tx) => {
      recordAudit(tx, { ...entry, account_id: operator_id, reason: "Earlier" }, later);
    });
    const { account_id } = tenant;
    const act = {
      account_id,
      id,
      operator_id,
      entry: JSON.stringify(entry),
      created_at: clock.now(),
    };
    // The process stops after the second step; another one does it again.
    await database.transaction((tx) => noteAct(tx, act));
    await database.transaction((tx) => noteAct(tx, act));
    const noted = await entriesOf(operator_id, record);
    expect(noted.map(({ reason }) => reason).sort()).toEqual(["Earlier", REASON]);
  },
);

it("words that SQL puts into an act do not reach the operator's log", async () => {
  const { database, clock } = server.core;
  const by = { operator_id: server.account_id, actor: "command line", reason: REASON } as const;
  const { account_id } = tenant;
  await database.transaction(async (tx) => {
    freezeAccount(tx, account_id, false, by, clock.now());
    tx.write("update operator_acts set entry = replace(entry, 'stolen', 'found')", []);
  });
  await settle(server).catch(() => {});
  expect(await entriesOf(server.account_id, `account:${account_id}`)).toEqual([]);
  const [row] = await database.query<{ entry: string }>("select * from operator_acts");
  expect(OPERATOR_ACTS.holds(database, row!)).toBe(false);
  expect(await findFault(server)).toContain("operator_acts");
});

import { afterAll, beforeAll, expect, it } from "vitest";
import { findMember } from "../../src/accounts/audited/find-member.ts";
import { removeMember, setMemberRole } from "../../src/accounts/change-members.ts";
import { freezeAccount } from "../../src/accounts/freeze-account.ts";
import { addMember } from "../approvals/proposal-fixture.ts";
import { addPaymentDetail } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { findFault, good } from "../offramps/story.ts";

/*
 * A row that somebody sets back to what it was, together with its MAC, passes the check of that
 * MAC. Events and the audit log say what the row has to be.
 */

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

const sql = (text: string, values: unknown[] = []) => server.db.database.query(text, values);

const by = { actor: "command line", reason: "a test" } as const;

/** Changes a row, puts the earlier one back, and lets it be as the service wrote it again. */
async function faultOfPutBack(
  table: string,
  where: string,
  change: () => Promise<unknown>,
): Promise<string | null> {
  await sql(`create table kept_before as select * from ${table} where ${where}`);
  await change();
  await sql(`create table kept_after as select * from ${table} where ${where}`);
  const putBack = (kept: string) =>
    server.db.database.transaction(async (tx) => {
      await tx.query("set local session_replication_role = replica");
      await tx.query(`delete from ${table} where ${where}`);
      await tx.query(`insert into ${table} select * from ${kept}`);
    });
  await putBack("kept_before");
  const fault = await findFault(server);
  await putBack("kept_after");
  await sql("drop table kept_before, kept_after");
  expect(await findFault(server)).toBeNull();
  return fault;
}

async function addUser(): Promise<string> {
  const user = { beneficiary_type: "business", company_name: "Invented Ltd" };
  const email = `${crypto.randomUUID()}@example.com`;
  return good(await server.call("POST", "/users", { user: { ...user, email } })).user.id;
}

it("a user who was frozen and is not any more is named", async () => {
  const id = await addUser();
  const freeze = () => server.call("POST", `/users/${id}/freeze`, { reason: "reported" });
  const fault = await faultOfPutBack("users", `id = '${id}'`, async () => good(await freeze()));
  expect(fault).toContain(`user ${id}`);
  expect(fault).toContain("was frozen");
});

it("a user who was frozen again and is not any more is named", async () => {
  const id = await addUser();
  const act = async (action: string) =>
    good(await server.call("POST", `/users/${id}/${action}`, { reason: "reported" }));
  await act("freeze");
  await act("unfreeze");
  expect(await faultOfPutBack("users", `id = '${id}'`, () => act("freeze"))).toContain(
    "was frozen",
  );
});

it("an account that was frozen and is not any more is named", async () => {
  const { account_id } = await server.addAccount("frozen");
  const operator_id = server.account_id;
  const fault = await faultOfPutBack("accounts", `id = '${account_id}'`, () =>
    server.core.database.transaction(async (tx) =>
      freezeAccount(tx, account_id, true, { operator_id, ...by }, server.core.clock.now()),
    ),
  );
  expect(fault).toContain(`account ${account_id} was frozen`);
});

it("a member with an earlier role, and one who was removed, are named", async () => {
  const { account_id } = server;
  const { person_id } = await addMember(server, "finance_manager");
  const where = `person_id = '${person_id}'`;
  const member = { account_id, person_id };
  const { database } = server.core;
  const lowered = await faultOfPutBack("members", where, () =>
    database.transaction((tx) =>
      setMemberRole(tx, member, "accountant", by, server.core.clock.now()),
    ),
  );
  expect(lowered).toContain(`${person_id} is finance_manager`);
  const removed = await faultOfPutBack("members", where, () =>
    database.transaction((tx) => removeMember(tx, member, by, server.core.clock.now())),
  );
  expect(removed).toContain(`member ${person_id} was removed`);
});

it("a member who was removed, and is put back with the session, has no rights", async () => {
  const { account_id } = server;
  const { database, clock } = server.core;
  const member = await addMember(server, "finance_manager");
  const { person_id } = member;
  const key = { account_id, person_id };
  const state = async () => (await member.open()).statusCode;
  const kept = ["members", "sessions"];
  const where = `person_id = '${person_id}'`;
  expect(await state()).toBe(200);
  expect(await findMember(database, account_id, person_id)).toMatchObject({ person_id });
  for (const table of kept) {
    await sql(`create table kept_${table} as select * from ${table} where ${where}`);
  }
  await database.transaction((tx) => removeMember(tx, key, by, clock.now()));
  for (const table of kept) await sql(`insert into ${table} select * from kept_${table}`);
  expect(await state()).toBe(401);
  expect(await findMember(database, account_id, person_id)).toBeUndefined();
  for (const table of kept.toReversed()) {
    await sql(`delete from ${table} where ${where}`);
    await sql(`drop table kept_${table}`);
  }
  expect(await findFault(server)).toBeNull();
});

it("a payment detail that was deactivated and is not any more is named", async () => {
  const user_id = await addUser();
  const id = await addPaymentDetail(server, user_id, "eur");
  const path = `/users/${user_id}/payment_details/${id}/deactivate`;
  const fault = await faultOfPutBack("payment_details", `id = '${id}'`, async () =>
    good(await server.call("PATCH", path)),
  );
  expect(fault).toContain(id);
});

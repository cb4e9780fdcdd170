import { afterAll, beforeAll, expect, it } from "vitest";
import { freezeAccount } from "../../src/accounts/freeze-account.ts";
import { runProposalKind } from "../../src/approvals/model.ts";
import { holdAll, readStatus, releaseAll } from "../../src/cli/payouts/actions.ts";
import { enqueueTasks } from "../../src/platform/tasks/tasks.ts";
import {
  addMember,
  addOwedUser,
  proposalIn,
  STRANGE,
  waitForEnd,
} from "../approvals/proposal-fixture.ts";
import { setKyc } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { deposit, findFault, good, openStory, type Story, settle } from "../offramps/story.ts";

/*
 * Somebody sets a row back by SQL to what it was, together with its MAC, so that money leaves. It
 * does not, and the task that would have sent it says why.
 */

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
});
afterAll(() => server.close());

const sql = (text: string, values: unknown[] = []) => server.db.database.query(text, values);

const by = { actor: "command line", reason: "a test" } as const;

/** A payout that is recorded and not sent, because payouts are on hold. */
async function openRecorded(): Promise<Story> {
  await holdAll(server.core, "a test");
  const story = await openStory(server);
  await deposit(server, { quote_id: story.quote_id, amount: await story.total() });
  good(await story.execute());
  await story.waitForStatus("sending_fiat");
  return story;
}

type Row = { table: string; where: string };

/** Keeps a row as it is now; what is returned sets it back. */
async function keep({ table, where }: Row): Promise<() => Promise<void>> {
  const kept = `kept_${crypto.randomUUID().replaceAll("-", "")}`;
  await sql(`create table ${kept} as select * from ${table} where ${where}`);
  return () =>
    server.db.database.transaction(async (tx) => {
      await tx.query("set local session_replication_role = replica");
      await tx.query(`delete from ${table} where ${where}`);
      await tx.query(`insert into ${table} select * from ${kept}`);
    });
}

async function letGo(): Promise<void> {
  await releaseAll(server.core, { reason: "the test goes on", anyway: true });
  await tryAgain();
}

/** What records wait for is tried at once. Recurring work, whose record is the account, goes on. */
async function tryAgain(): Promise<void> {
  const of_records = "record_id <> account_id";
  // A task that began before puts itself off when it ends, for 15 seconds if payouts were on hold.
  await waitFor(async () => {
    const running = await sql(
      `select from tasks where ${of_records} and leased_until is not null limit 1`,
    );
    return running.length === 0;
  });
  await sql(`update tasks set due_at = created_at, attempts = 0 where ${of_records}`);
  server.app.worker.wake();
}

const errorAbout = (row: string) =>
  waitFor(async () => {
    const held = "select from tasks where last_error like '%' || $1 || ' is not what its last%'";
    return (await sql(held, [row])).length > 0 || null;
  });

const sentOf = async ({ offramp_id }: Story) => {
  const rows = await sql(
    "select status from payouts where offramp_id = $1 and status <> 'recorded'",
    [offramp_id],
  );
  return rows.length;
};

/**
 * Changes a row of a recorded payout so that it must not be sent, sets the row back, and lets
 * payouts go: nothing is sent, and the row is named. Then the row is as it was left.
 */
async function expectHeld(story: Story, row: Row, name: string, change: () => Promise<unknown>) {
  const putBack = await keep(row);
  await change();
  const restore = await keep(row);
  await putBack();
  await letGo();
  await errorAbout(name);
  expect(await sentOf(story)).toBe(0);
  expect((await story.show()).status).toBe("sending_fiat");
  expect(await findFault(server)).not.toBeNull();
  await restore();
  await tryAgain();
  await settle(server);
  expect(await sentOf(story)).toBe(1);
  expect((await story.show()).status).toBe("bounced");
}

const changed = async (answer: ReturnType<TestServer["call"]>) => good(await answer);

it("a frozen user who was set back is not paid", async () => {
  const story = await openRecorded();
  const { user_id } = story;
  const freeze = () =>
    changed(server.call("POST", `/users/${user_id}/freeze`, { reason: "reported" }));
  const row = { table: "users", where: `id = '${user_id}'` };
  await expectHeld(story, row, `users ${server.account_id} ${user_id}`, freeze);
});

it("a suspended user who was set back is not paid", async () => {
  const story = await openRecorded();
  const { user_id } = story;
  const suspend = () => setKyc(server, user_id, { status: "suspended" });
  const row = { table: "users", where: `id = '${user_id}'` };
  await expectHeld(story, row, `users ${server.account_id} ${user_id}`, suspend);
});

it("a frozen account that was set back pays nothing", async () => {
  const story = await openRecorded();
  const { account_id } = server;
  const freeze = (is_frozen: boolean) =>
    server.core.database.transaction(async (tx) =>
      freezeAccount(
        tx,
        account_id,
        is_frozen,
        { operator_id: account_id, ...by },
        server.core.clock.now(),
      ),
    );
  const row = { table: "accounts", where: `id = '${account_id}'` };
  await expectHeld(story, row, `accounts ${account_id}`, () => freeze(true));
  await freeze(false);
});

it("a deactivated payment detail that was set back is not paid", async () => {
  const story = await openRecorded();
  const { user_id, payment_detail_id: id } = story;
  const path = `/users/${user_id}/payment_details/${id}/deactivate`;
  const row = { table: "payment_details", where: `id = '${id}'` };
  await expectHeld(story, row, `payment_details ${server.account_id} ${id}`, () =>
    changed(server.call("PATCH", path)),
  );
});

it("a hold of payouts that somebody deleted, or said to be released, holds", async () => {
  const story = await openRecorded();
  const kept = await keep({ table: "payout_holds", where: "true" });
  const goOn = async () => {
    await tryAgain();
    await waitFor(async () => {
      const waiting = "select from tasks where kind = 'send-payout' and due_at > $1";
      return (await sql(waiting, [server.core.clock.now()])).length > 0 || null;
    });
    expect(await sentOf(story)).toBe(0);
  };
  await sql("update payout_holds set released_at = now(), release_reason = 'by SQL'");
  await goOn();
  await sql("delete from payout_holds");
  await goOn();
  expect(await findFault(server)).toContain("payouts were released");
  expect(await readStatus(server.core)).toMatchObject({ held: true });
  await kept();
  await letGo();
  await story.waitForStatus("fiat_sent");
});

it("a hold of which nothing but the audit log is left can be released", async () => {
  const story = await openRecorded();
  await sql("delete from payout_holds where released_at is null");
  await letGo();
  await story.waitForStatus("fiat_sent");
});

it("a refund that two members approved is not made again by its old proposal", async () => {
  const owed = await addOwedUser(server, 50);
  const members = [await addMember(server, "admin"), await addMember(server, "finance_manager")];
  const { id } = proposalIn(await owed.refund(5, STRANGE));
  await members[0]!.confirm(id);
  // The row as it was between the second vote and the refund.
  await sql("create table kept_proposal as select * from proposals where false");
  await sql(`create function keep_proposal() returns trigger language plpgsql as
    $$ begin insert into kept_proposal select old.*; return new; end $$`);
  await sql(`create trigger keep_proposal before update on proposals for each row
    when (old.status = 'confirmed') execute function keep_proposal()`);
  await members[1]!.confirm(id);
  expect((await waitForEnd(server, id)).status).toBe("done");
  await settle(server);
  expect(await owed.owed()).toBe(45);
  await sql("drop trigger keep_proposal on proposals");
  const row = { table: "proposals", where: `id = '${id}'` };
  const restore = await keep(row);
  await server.db.database.transaction(async (tx) => {
    await tx.query("set local session_replication_role = replica");
    await tx.query(`delete from proposals where id = '${id}'`);
    await tx.query("insert into proposals select * from kept_proposal");
  });
  const { database, clock } = server.core;
  const task = runProposalKind("refund-balances");
  await database.transaction(async (tx) =>
    enqueueTasks(tx, task, [{ account_id: server.account_id, id }], clock.now()),
  );
  server.app.worker.wake();
  await errorAbout(`proposals ${server.account_id} ${id}`);
  await restore();
  await tryAgain();
  await settle(server);
  expect(await owed.owed()).toBe(45);
});

it("an unfreezing that somebody planted in the audit log unfreezes nobody", async () => {
  const story = await openRecorded();
  const { user_id } = story;
  const putBack = await keep({ table: "users", where: `id = '${user_id}'` });
  await changed(server.call("POST", `/users/${user_id}/freeze`, { reason: "reported" }));
  await putBack();
  await sql(
    `insert into audit_entries (account_id, id, at, actor, action, record, reason, detail)
     values ($1, 'ffffffff-ffff-7fff-bfff-ffffffffffff', now(), 'command line', 'user.unfreeze',
       $2, 'planted', '{}')`,
    [server.account_id, `user:${user_id}`],
  );
  await letGo();
  await errorAbout(`users ${server.account_id} ${user_id}`);
  expect(await sentOf(story)).toBe(0);
});

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { holdAll, releaseAll } from "../../src/cli/payouts/actions.ts";
import { findCursor, updateCursor } from "../../src/partners/cursor-store.ts";
import { settleRejected } from "../../src/verify/settle-rejected.ts";
import { addMember, addOwedUser, proposalIn, STRANGE } from "../approvals/proposal-fixture.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { deposit, findFault, good, openStory, settle } from "../offramps/story.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
});
afterAll(() => server.close());

const sql = (text: string, values: unknown[] = []) => server.db.database.query(text, values);

/** A task failed because of this row. */
const isHeldBy = (row: string) =>
  waitFor(async () => {
    const held = `select from tasks where last_error like any (array[
      '%' || $1 || ' was not written by Sliproad%', '%' || $1 || ' is not what its last%'])`;
    return (await sql(held, [row])).length > 0 || null;
  });

/** Does something while nothing leaves, and lets the payouts go on then. */
async function whileHeld(act: () => Promise<void>): Promise<void> {
  await holdAll(server.core, "a test");
  await act();
  await releaseAll(server.core, { reason: "the test goes on", anyway: true });
  await sql("update tasks set due_at = created_at");
  server.app.worker.wake();
}

/** A payout that is recorded and not sent, because payouts are on hold. */
async function openRecorded() {
  const story = await openStory(server);
  await deposit(server, { quote_id: story.quote_id, amount: await story.total() });
  good(await story.execute());
  await story.waitForStatus("sending_fiat");
  return story;
}

/** The fault is there, and goes with the change. */
async function expectFaultUntil(words: string, undo: string, id: string): Promise<void> {
  expect(await findFault(server)).toContain(words);
  await sql(undo, [id]);
  await settle(server);
  expect(await findFault(server)).toBeNull();
}

describe("money does not leave because of a row that somebody changed", () => {
  const change = (amount: string) =>
    `update deposits set amount = ${amount} where quote_id = $1 returning id`;

  it("a deposit with another amount funds nothing", async () => {
    const story = await openStory(server);
    const amount = await story.total();
    await deposit(server, { quote_id: story.quote_id, amount });
    await settle(server);
    const [{ id }] = (await sql(change("amount * 1000"), [story.quote_id])) as [{ id: string }];
    const executed = await story.execute();
    if (executed.status === 200) await isHeldBy(`deposits ${server.account_id} ${id}`);
    expect((await story.show()).status).not.toBe("sending_fiat");
    expect(await story.owed()).toBe(amount);
    await sql("update tasks set due_at = created_at, attempts = 0");
    await expectFaultUntil("deposit", change("amount / 1000"), story.quote_id);
  });

  it("a deposit that was too small and is said to be larger funds nothing", async () => {
    const story = await openStory(server);
    await deposit(server, { quote_id: story.quote_id, amount: 10 });
    await settle(server);
    await sql(change("amount * 1000"), [story.quote_id]);
    good(await story.execute());
    // What the quote has received is covered by its own MAC.
    const { status_message } = await story.waitForStatus("ongoing_checks");
    expect(status_message).toContain("short by");
    expect(await story.owed()).toBe(10);
    await expectFaultUntil("deposit", change("amount / 1000"), story.quote_id);
  });

  it("a payment detail that was changed is not paid", async () => {
    let story: Awaited<ReturnType<typeof openStory>> | undefined;
    const move = (days: number) =>
      `update payment_details set created_at = created_at - interval '${days} days' where id = $1`;
    await whileHeld(async () => {
      story = await openRecorded();
      await sql(move(9), [story.payment_detail_id]);
    });
    const { payment_detail_id, waitForStatus } = story!;
    await isHeldBy(`payment_details ${server.account_id} ${payment_detail_id}`);
    await expectFaultUntil("payment_details", move(-9), payment_detail_id);
    await sql("update tasks set due_at = created_at");
    server.app.worker.wake();
    await waitForStatus("fiat_sent");
  });

  it("an offramp with another amount is not paid", async () => {
    let story: Awaited<ReturnType<typeof openStory>> | undefined;
    const change = (amount: string) =>
      `update offramps set destination_amount = ${amount} where id = $1`;
    await whileHeld(async () => {
      story = await openRecorded();
      await sql(change("destination_amount * 2"), [story.offramp_id]);
    });
    const { offramp_id, waitForStatus } = story!;
    await isHeldBy(`offramps ${server.account_id} ${offramp_id}`);
    await expectFaultUntil(`offramp ${offramp_id}`, change("destination_amount / 2"), offramp_id);
    await sql("update tasks set due_at = created_at");
    server.app.worker.wake();
    await waitForStatus("fiat_sent");
  });

  it("a user whom somebody approved, or unfroze, is paid nothing", async () => {
    const story = await openStory(server);
    good(await server.call("POST", `/users/${story.user_id}/freeze`, { reason: "a test" }));
    await sql("update users set frozen_at = null where id = $1", [story.user_id]);
    expect((await story.execute()).status).toBe(500);
    expect(await findFault(server)).toContain(`user ${story.user_id} was frozen`);
    await sql(
      `update users set frozen_at = (select at from audit_entries
         where record = 'user:' || $1 and action = 'user.freeze' order by at desc limit 1)
       where id = $1::uuid`,
      [story.user_id],
    );
    expect(await findFault(server)).toBeNull();
  });

  it("a sender's deposit that was planted is not sent back without approval", async () => {
    const owed = await addOwedUser(server, 50);
    const [{ sender }] = (await sql("select sender from deposits where user_id = $1", [
      owed.user_id,
    ])) as [{ sender: string }];
    const setSender = (to: string) =>
      sql("update deposits set sender = $2 where user_id = $1", [owed.user_id, to]);
    await setSender(STRANGE);
    expect((await owed.refund(5, STRANGE)).status).toBe(500);
    expect(await owed.owed()).toBe(50);
    await setSender(sender);
  });

  it("a proposal that says something else than was proposed gets no vote", async () => {
    const owed = await addOwedUser(server, 50);
    const admin = await addMember(server, "admin");
    const { id } = proposalIn(await owed.refund(5, STRANGE));
    const set = (by: string) => `update proposals set proposed_by = ${by} where id = $1`;
    await sql(set("proposed_by || 'x'"), [id]);
    expect((await admin.confirm(id)).statusCode).toBe(500);
    expect(await findFault(server)).toContain(id);
  });
});

it("a cursor that was moved is not used: everything is read again", async () => {
  const { database, clock } = server.core;
  await updateCursor(database, "a partner", "41", clock.now());
  expect(await findCursor(database, "a partner")).toBe("41");
  await sql("update partner_cursors set cursor = '9000' where name = 'a partner'");
  expect(await findCursor(database, "a partner")).toBeNull();
  await sql("delete from partner_cursors where name = 'a partner'");
});

describe("an entry that was set aside", () => {
  const by = () => ({
    ...({ actor: "command line", reason: "looked into it" } as const),
    operator_id: server.account_id,
  });
  const note = (entry_id: string, log: string) =>
    sql(
      `insert into seal_rejected (account_id, log, entry_id, noted_at, rejected_at)
       values ($1, $2, $3, now(), now())`,
      [server.account_id, log, entry_id],
    );

  it("is deleted by the operator's decision if the service did not write it", async () => {
    const [{ id }] = (await sql(
      `insert into audit_entries (account_id, id, at, actor, action, record, reason, detail)
       values ($1, gen_random_uuid(), now(), 'x', 'account.update', 'act:1', '', '{}')
       returning id`,
      [server.account_id],
    )) as [{ id: string }];
    await note(id, "audit");
    const { database, clock } = server.core;
    expect(await settleRejected(database, id, by(), clock.now())).toBe("deleted");
    expect(await sql("select from audit_entries where id = $1", [id])).toEqual([]);
    expect(await sql("select from seal_rejected where entry_id = $1", [id])).toEqual([]);
    const entry = "select reason, detail from audit_entries where record = $1";
    const [told] = await sql(entry, [`log_entry:${id}`]);
    expect(told!.reason).toBe("looked into it");
    expect(JSON.parse(told!.detail as string).outcome).toBe("deleted");
    expect(await settleRejected(database, id, by(), clock.now())).toBeUndefined();
  });

  it("stays if a block has it, whoever noted that it was set aside", async () => {
    await settle(server);
    const [{ id }] = (await sql(
      `select entry_ids[1] as id from seal_blocks where log = 'ledger' and account_id = $1 limit 1`,
      [server.account_id],
    )) as [{ id: string }];
    await note(id, "ledger");
    const { database, clock } = server.core;
    expect(await settleRejected(database, id, by(), clock.now())).toBe("sealed");
    expect((await sql("select from ledger_entries where id = $1", [id])).length).toBe(1);
  });

  it("is sealed if the service wrote it and only the note was changed", async () => {
    const { database, clock } = server.core;
    const { account_id } = await server.addAccount("Set aside");
    const moved = await waitFor(async () => {
      const rows = await sql("select id from audit_entries where account_id = $1", [account_id]);
      const waiting = await sql("select from seal_pending where account_id = $1", [account_id]);
      return waiting.length === 0 && rows[0];
    });
    await sql(
      `update seal_blocks set entry_ids = '{}', digests = '{}'
       where account_id = $1 and log = 'audit'`,
      [account_id],
    );
    await sql(
      `insert into seal_rejected (account_id, log, entry_id, noted_at, rejected_at)
       values ($1, 'audit', $2, now(), now())`,
      [account_id, moved.id],
    );
    expect(await settleRejected(database, moved.id as string, by(), clock.now())).toBe("queued");
  });
});

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ASSESS_OFFRAMP_TASK, SEND_PAYOUT_TASK } from "../../src/offramps/task-kinds.ts";
import { newId } from "../../src/platform/ids.ts";
import { enqueueTasks } from "../../src/platform/tasks/tasks.ts";
import { addMember, addOwedUser, STRANGE } from "../approvals/proposal-fixture.ts";
import { addApprovedUser, addQuote } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { deposit, findFault, good, openStory } from "../offramps/story.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({
    environment: { SLIPROAD_DOCUMENTS: "never", SLIPROAD_APPROVAL_ABOVE_USD: "5000" },
  });
});
afterAll(() => server.close());

const sql = (text: string, values: unknown[] = []) => server.db.database.query(text, values);
const isHeld = (kind: string, record_id: string) =>
  waitFor(async () => {
    const [task] = await server.db.database.query<{ last_error: string }>(
      `select last_error from tasks where kind = $1 and record_id = $2
         and last_error like '%was not written by Sliproad%'`,
      [kind, record_id],
    );
    return task?.last_error;
  });

describe("what somebody with SQL changed moves no money", () => {
  it("a payout that was set back is not sent again, and others are", async () => {
    const stuck = { amount: 100, metadata: { sandbox_outcome: "stuck" } };
    const story = await openStory(server, [stuck]);
    await deposit(server, { quote_id: story.quote_id, amount: await story.total() });
    good(await story.execute());
    await story.waitForStatus("sending_fiat");
    const status = async () =>
      (await sql("select status from payouts where offramp_id = $1", [story.offramp_id]))[0]!
        .status;
    await waitFor(async () => (await status()) === "sent");
    await sql("update payouts set status = 'recorded' where offramp_id = $1", [story.offramp_id]);
    const { database, clock } = server.core;
    const key = { account_id: server.account_id, id: story.offramp_id };
    await database.transaction(async (tx) =>
      enqueueTasks(tx, SEND_PAYOUT_TASK, [key], clock.now()),
    );
    server.app.worker.wake();
    expect(await isHeld(SEND_PAYOUT_TASK, story.offramp_id)).toContain(story.offramp_id);
    expect(await status()).toBe("recorded");
    const other = await openStory(server);
    await deposit(server, { quote_id: other.quote_id, amount: await other.total() });
    good(await other.execute());
    await other.waitForStatus("fiat_sent");
    expect(await findFault(server)).toContain(`payouts ${server.account_id} ${story.offramp_id}`);
    await sql("update payouts set status = 'sent' where offramp_id = $1", [story.offramp_id]);
    await sql("delete from tasks where record_id = $1", [story.offramp_id]);
    expect(await findFault(server)).toBeNull();
  });

  it("a price version of somebody else is not used, not even if it is the newest", async () => {
    const user_id = await addApprovedUser(server);
    const [last] = await sql("select id from price_versions order by id desc limit 1");
    const forged = newId(new Date(Date.now() + 60_000));
    await sql(
      `insert into price_versions select (jsonb_populate_record(p, jsonb_build_object(
         'id', $1::text, 'content_hash', '\\x01',
         'rates', jsonb_set(p.rates, '{usdc,eur}', '"9.5"')))).*
       from price_versions p where id = $2`,
      [forged, last!.id],
    );
    const quote_id = await addQuote(server, user_id);
    const [quote] = await sql("select price_version_id from quotes where id = $1", [quote_id]);
    expect(quote!.price_version_id).toBe(last!.id);
    expect(await findFault(server)).toContain(`price_versions ${forged}`);
    await sql("delete from price_versions where id = $1", [forged]);
  });

  it("a quote with another expiry, and one with other totals, is not executed", async () => {
    for (const change of ["expires_at = expires_at + interval '1 day'", "token_amount = 1000000"]) {
      const story = await openStory(server);
      const total = await story.total();
      await sql(`update quotes set ${change} where id = $1`, [story.quote_id]);
      await deposit(server, { quote_id: story.quote_id, amount: total });
      expect((await story.execute()).status, change).toBe(500);
      expect((await story.show()).status).toBe("initiated");
      await sql("delete from tasks where record_id = $1", [story.quote_id]);
    }
  });

  it("a quote that waits for approval and was marked as approved is not paid", async () => {
    await addMember(server, "admin");
    await addMember(server, "approver");
    const story = await openStory(server, [{ amount: 9000 }]);
    expect(good(await story.execute()).approval.status).toBe("pending");
    await story.waitForStatus("ongoing_checks");
    await sql("update quotes set approval_status = 'done' where id = $1", [story.quote_id]);
    await sql("update tasks set due_at = created_at where kind = $1 and record_id = $2", [
      ASSESS_OFFRAMP_TASK,
      story.offramp_id,
    ]);
    server.app.worker.wake();
    expect(await isHeld(ASSESS_OFFRAMP_TASK, story.offramp_id)).toContain(story.quote_id);
    expect((await story.show()).status).toBe("ongoing_checks");
    await sql("update quotes set approval_status = 'pending' where id = $1", [story.quote_id]);
  });

  it("a registered address of somebody else needs approval like any other", async () => {
    const [owed, accomplice] = [await addOwedUser(server, 50), await addOwedUser(server, 5)];
    const refund_address = { chain: "polygon", address: STRANGE };
    good(
      await server.call("POST", `/users/${accomplice.user_id}/refund_addresses`, {
        refund_address,
      }),
    );
    await sql(
      `update refund_addresses set user_id = $1
       where user_id = $2 and id = (select max(id::text)::uuid from refund_addresses)`,
      [owed.user_id, accomplice.user_id],
    );
    expect(good(await owed.refund(5, STRANGE)).proposal.status).toBe("pending");
  });
});

describe("what somebody with SQL changed gives no rights", () => {
  it("a key that was revoked, or moved to another account, is no key", async () => {
    const { account_id, key } = await server.addAccount("Keys");
    const ask = async () => (await server.call("GET", "/users", undefined, { key })).status;
    expect(await ask()).toBe(200);
    await sql("update api_key_hashes set mac = null where account_id = $1", [account_id]);
    await waitFor(async () => (await ask()) === 401);
  });

  it("a member whose role was changed can do nothing", async () => {
    const member = await addMember(server, "developer");
    const open = async () => (await member.visitor.get("/dashboard/security")).statusCode;
    expect(await open()).toBe(200);
    await sql("update members set role = 'admin' where person_id = $1", [member.person_id]);
    expect(await open()).not.toBe(200);
  });

  it("a password that somebody else wrote does not sign in", async () => {
    const [a, b] = [await addMember(server, "developer"), await addMember(server, "admin")];
    await sql(
      `update people set password_hash = (select password_hash from people where id = $1)
       where id = $2`,
      [a.person_id, b.person_id],
    );
    const again = await b.visitor.signIn(b.email);
    expect(again.statusCode).not.toBe(303);
  });
});

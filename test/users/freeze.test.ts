import { afterAll, beforeAll, expect, it } from "vitest";
import { freezeAccount } from "../../src/accounts/freeze-account.ts";
import { HOUR_MS } from "../../src/platform/durations.ts";
import { addOwedUser } from "../approvals/proposal-fixture.ts";
import { type Answer, startTestServer, type TestServer } from "../harness/server.ts";
import { advance, openStory, settle } from "../offramps/story.ts";
import {
  act as decide,
  listUnmatched,
  openOnramp,
  REQUEST,
  receive,
  showDeposit,
} from "../onramps/story.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
});
afterAll(() => server.close());

const reason = "Reported as stolen";
const act = (
  user_id: string,
  action: "freeze" | "unfreeze",
  body: unknown = { reason },
  key?: string,
) => server.call("POST", `/users/${user_id}/${action}`, body, key ? { key } : {});
const heldBy = (answer: Answer) => {
  expect(answer.status, answer.text).toBe(422);
  expect(answer.body.errors.map(({ code }: { code: string }) => code)).toContain("on_hold");
};

it("nothing of a frozen user leaves by any door, and deposits are still credited", async () => {
  const story = await openStory(server, [{ amount: 50 }]);
  const bounced = await openStory(server, [
    { amount: 50, metadata: { sandbox_outcome: "bounced" } },
  ]);
  await bounced.execute();
  await bounced.waitForStatus("bounced");
  const owed = await addOwedUser(server, 100);
  for (const { user_id } of [story, bounced, owed]) {
    const { status, body } = await act(user_id, "freeze");
    expect([status, body.user.id]).toEqual([200, user_id]);
  }
  heldBy(await story.execute());
  heldBy(await story.fund(story.quote_id));
  heldBy(await bounced.reroute());
  heldBy(await owed.refund(10));
  heldBy(await server.call("POST", `/users/${owed.user_id}/onramps`, { onramp: REQUEST }));
  const quote_id = await story.addQuote();
  await server.call("POST", "/sandbox/crypto_deposits", {
    crypto_deposit: { quote_id, amount: 7 },
  });
  await settle(server);
  expect(await story.owed()).toBe(7);
  await act(owed.user_id, "unfreeze");
  expect((await owed.refund(10)).status).toBe(200);
});

it("a paid onramp of a frozen user is delivered only once the user is unfrozen", async () => {
  const onramp = await openOnramp(server);
  expect((await act(onramp.user_id, "freeze")).status).toBe(200);
  const deposit = await receive(server, { amount: 1004, deposit_message: onramp.code });
  expect(deposit.status).toBe("matched");
  const countSent = async () => {
    const values = [`onramp:%:${onramp.id}`];
    return (await server.db.database.query("select from sandbox_sends where key like $1", values))
      .length;
  };
  await advance(server, 3 * HOUR_MS);
  expect(await onramp.show()).toMatchObject({ status: "sending_fiat", tx_id: null });
  expect((await onramp.show()).status_message).toContain("on hold");
  expect(await countSent()).toBe(0);
  await act(onramp.user_id, "unfreeze");
  await advance(server, HOUR_MS);
  expect((await onramp.show()).status).toBe("crypto_sent");
  expect(await countSent()).toBe(1);
});

it("a deposit that names a frozen user's onramp goes neither back nor to another user", async () => {
  const onramp = await openOnramp(server);
  const other = await openOnramp(server, { destination_amount: 2500 });
  await act(onramp.user_id, "freeze");
  const deposit = await receive(server, { amount: 2510, deposit_message: onramp.code });
  expect(deposit).toMatchObject({ status: "unmatched", reason: "over" });
  heldBy(await decide(server, deposit.id, "return"));
  heldBy(await decide(server, deposit.id, "match", { onramp_id: other.id }));
  heldBy(await decide(server, deposit.id, "accept_difference", { onramp_id: other.id }));
  // To the user's own onramp it is credited; the excess stays with the user too.
  expect((await decide(server, deposit.id, "accept_difference")).status).toBe(200);
  await settle(server);
  const isPart = (one: { bank_reference: string }) => one.bank_reference === deposit.bank_reference;
  const excess = (await listUnmatched(server)).find(isPart);
  expect(excess).toMatchObject({ amount: 1506, reason: "excess" });
  heldBy(await decide(server, excess.id, "return"));
  await act(onramp.user_id, "unfreeze");
  expect((await decide(server, excess.id, "return")).status).toBe(200);
  await settle(server);
  expect((await showDeposit(server, excess.id)).status).toBe("returned");
});

it("takes the operator's keys only, for users of every account, with a reason", async () => {
  const tenant = await server.addAccount("Tenant");
  const owed = await addOwedUser(server, 100, tenant.key);
  const denied = await act(owed.user_id, "freeze", { reason }, tenant.key);
  expect(denied.body.error_code).toBe("insufficient_scope");
  expect((await act(owed.user_id, "freeze", {})).body.error_code).toBe("parameter_missing");
  expect((await act(owed.user_id, "freeze")).status).toBe(200);
  heldBy(await owed.refund(10));
  expect((await act(crypto.randomUUID(), "freeze")).status).toBe(404);
});

it("a frozen account holds all of its users", async () => {
  const tenant = await server.addAccount("Frozen tenant");
  const owed = await addOwedUser(server, 100, tenant.key);
  const { database, clock } = server.core;
  const by = { operator_id: server.account_id, actor: "command line", reason } as const;
  const set = (is_frozen: boolean) =>
    database.transaction(async (tx) =>
      freezeAccount(tx, tenant.account_id, is_frozen, by, clock.now()),
    );
  await set(true);
  heldBy(await owed.refund(10));
  await set(false);
  expect((await owed.refund(10)).status).toBe(200);
});

it("the account does not read why: the reason is in the operator's log only", async () => {
  const tenant = await server.addAccount("Suspected tenant");
  const owed = await addOwedUser(server, 100, tenant.key);
  const suspicion = "Asked by the police, file 4711";
  await act(owed.user_id, "freeze", { reason: suspicion });
  await act(owed.user_id, "unfreeze", { reason: suspicion });
  const { database, clock } = server.core;
  const by = { operator_id: server.account_id, actor: "command line", reason: suspicion } as const;
  await database.transaction(async (tx) =>
    freezeAccount(tx, tenant.account_id, true, by, clock.now()),
  );
  const historyOf = async (id: string) =>
    await server.call("GET", `/records/${id}/history`, undefined, { key: tenant.key });
  for (const id of [owed.user_id, tenant.account_id]) {
    const { status, text } = await historyOf(id);
    expect(status).toBe(200);
    expect(text).toContain(".freeze");
    expect(text).not.toContain(suspicion);
  }
  const rows = await database.query<{ account_id: string; action: string; detail: string }>(
    "select account_id, action, detail from audit_entries where reason = $1 order by id",
    [suspicion],
  );
  expect(rows.map(({ action }) => action)).toEqual([
    "user.freeze",
    "user.unfreeze",
    "account.freeze",
  ]);
  for (const { account_id, detail } of rows) {
    expect(account_id).toBe(server.account_id);
    expect(JSON.parse(detail)).toEqual({ account_id: tenant.account_id });
  }
});

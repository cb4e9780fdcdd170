import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { observeStatements } from "../../src/platform/db/observe.ts";
import { DAY_MS, HOUR_MS } from "../../src/platform/durations.ts";
import { addYears } from "../../src/retention/model.ts";
import { addApprovedUser, addPaymentDetail, addQuote, addUser } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import {
  advance,
  deposit,
  expectRefusal,
  findFault,
  good,
  openStory,
  settle,
} from "../offramps/story.ts";
import { addApp } from "../webhooks/webhook-fixture.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
});
afterAll(() => server.close());

const erase = (user_id: string) => server.call("DELETE", `/users/${user_id}`);
const show = async (user_id: string) =>
  good(await server.call("GET", `/users/${user_id}/retention`)).retention;
const statusOf = async (user_id: string) => (await server.call("GET", `/users/${user_id}`)).status;
const freeze = (user_id: string, action: "freeze" | "unfreeze") =>
  server.call("POST", `/users/${user_id}/${action}`, { reason: "a court order" });

/** A user with one completed payout, and when it was completed. */
async function addPaid(): Promise<{ user_id: string; paid_at: Date }> {
  const story = await openStory(server, [{ amount: 10 }]);
  good(await story.execute());
  await story.waitForStatus("fiat_sent");
  const { last_payment_at } = await show(story.user_id);
  return { user_id: story.user_id, paid_at: new Date(last_payment_at) };
}

async function actsOn(user_id: string): Promise<string[]> {
  const rows = await server.db.database.query<{ action: string }>(
    "select action from audit_entries where record = $1 order by id",
    [`user:${user_id}`],
  );
  return rows.map(({ action }) => action);
}

describe("asking for the erasure of a user", () => {
  it("who never paid erases at once; then there is no such user", async () => {
    const user_id = await addApprovedUser(server);
    expect(await show(user_id)).toMatchObject({ status: "active", erase_after: null, kept: [] });
    const { retention } = good(await erase(user_id));
    expect(retention).toMatchObject({ user_id, status: "erased", kept: [] });
    expect(await statusOf(user_id)).toBe(404);
    expect((await server.call("GET", `/users/${user_id}/retention`)).status).toBe(404);
    expect((await erase(user_id)).status).toBe(404);
    expect((await server.call("POST", `/users/${user_id}/restore`)).status).toBe(404);
  });

  it("is refused while money is owed, and while a payout is not completed", async () => {
    const owed = await addApprovedUser(server);
    await deposit(server, { quote_id: await addQuote(server, owed), amount: 5 });
    expectRefusal(await erase(owed), "invalid_transition");
    const { kept } = await show(owed);
    expect(kept.map(({ record }: { record: string }) => record)).toEqual(["balance", "payments"]);
    const { user_id } = await openStory(server);
    expectRefusal(await erase(user_id), "invalid_transition");
    expect((await show(user_id)).kept).toMatchObject([{ record: "open_payments", until: null }]);
    expect([await statusOf(owed), await statusOf(user_id)]).toEqual([200, 200]);
  });

  it("who was paid five years ago or less deactivates the user, and says until when", async () => {
    const { user_id, paid_at } = await addPaid();
    const until = addYears(paid_at, 5).toISOString();
    const { retention } = good(await erase(user_id));
    expect(retention).toMatchObject({
      status: "erasure_requested",
      last_payment_at: paid_at.toISOString(),
      erase_after: until,
      kept: [{ record: "payments", until }],
    });
    expect(await show(user_id)).toEqual(retention);
    expect(good(await erase(user_id)).retention).toEqual(retention);
    const { user } = good(await server.call("GET", `/users/${user_id}`));
    expect(user.deactivated_at).toBe(retention.requested_at);
    expect(await actsOn(user_id)).toEqual(["user.request_erasure"]);
  });
});

it("names and accounts of statement lines go after the period, except those that wait for a person", async () => {
  const { database } = server.db;
  await database.query("insert into bank_reports values ('r', 'a.xml', $1)", [new Date(0)]);
  const add = (key: string, state: string, booked_on: string) =>
    database.query(
      `insert into bank_lines (bank_account, entry_key, part, parts, report_digest, kind, amount,
         currency, booked_on, state, problem, details)
       values ('main', $1, 0, 1, 'r', 'incoming', 5, 'eur', $2, $3, $4, 'sealed')`,
      [key, booked_on, state, state === "credit" ? null : "?"],
    );
  const day = (years: number, days: number) =>
    new Date(addYears(server.core.clock.now(), -years).getTime() + days * DAY_MS)
      .toISOString()
      .slice(0, 10);
  await add("old", "credit", day(5, -2));
  await add("settled", "settled", day(6, 0));
  await add("young", "credit", day(5, 2));
  await add("open", "unmatched", day(6, 0));
  await advance(server, HOUR_MS);
  const rows = await database.query<{ entry_key: string }>(
    "select entry_key from bank_lines where details is not null order by entry_key",
  );
  expect(rows.map(({ entry_key }) => entry_key)).toEqual(["open", "young"]);
});

describe("a deactivated user", () => {
  it("starts nothing new, and can do so again once the request is withdrawn", async () => {
    const story = await openStory(server, [{ amount: 10 }]);
    good(await story.execute());
    await story.waitForStatus("fiat_sent");
    const { user_id } = story;
    const empty_quote = await story.addQuote();
    good(await erase(user_id));
    good(await story.add(empty_quote, [{ amount: 10 }]));
    const path = `/users/${user_id}`;
    const onramp = {
      destination_amount: 100,
      crypto_currency: "usdc",
      crypto_rails: "polygon",
      destination_address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
      fiat_currency: "usd",
      fiat_rails: "ach_push",
    };
    const quote = { deposit_token: "usdc", deposit_token_chain: "polygon" };
    const refused = [
      await server.call("POST", `${path}/quotes`, { quote }),
      await server.call("POST", `${path}/onramps`, { onramp }),
      await story.execute(undefined, empty_quote),
    ];
    for (const answer of refused) expectRefusal(answer, "invalid_transition");
    await expect(addPaymentDetail(server, user_id, "eur")).rejects.toThrow();
    const { retention } = good(await server.call("POST", `${path}/restore`));
    expect(retention).toMatchObject({ status: "active", requested_at: null });
    good(await server.call("POST", `${path}/quotes`, { quote }));
    good(await server.call("POST", `${path}/restore`));
    expect(await actsOn(user_id)).toEqual(["user.request_erasure", "user.restore"]);
  });

  it("cannot open a KYC link, and an open one ends", async () => {
    const user_id = await addUser(server);
    const { url } = good(await server.call("POST", `/users/${user_id}/kycs`)).kyc;
    good(await freeze(user_id, "freeze"));
    good(await erase(user_id));
    expectRefusal(await server.call("POST", `/users/${user_id}/kycs`), "invalid_transition");
    expect((await fetch(url)).status).toBe(410);
    good(await server.call("POST", `/users/${user_id}/restore`));
  });

  it("is still credited, and the balance can be refunded", async () => {
    const story = await openStory(server, [{ amount: 10 }]);
    good(await story.execute());
    await story.waitForStatus("fiat_sent");
    const other_quote = await story.addQuote();
    good(await erase(story.user_id));
    good(await story.add(other_quote, [{ amount: 5 }]));
    await deposit(server, { quote_id: story.quote_id, amount: 7 });
    expectRefusal(await story.fund(other_quote), "invalid_transition");
    expect(await show(story.user_id)).toMatchObject({
      erase_after: null,
      kept: [{ record: "open_payments" }, { record: "balance" }, { record: "payments" }],
    });
    await story.takeOut(7);
    const { kept } = await show(story.user_id);
    expect(kept).toMatchObject([{ record: "open_payments" }, { record: "payments" }]);
  });
});

// Each of these moves the clock: they run last, and the users above grow old with them.
describe("when the time is over", { timeout: 60_000 }, () => {
  it("the user is erased by itself, not before, and verify finds no error", async () => {
    const { user_id, paid_at } = await addPaid();
    const held = await addPaid();
    const restored = await addPaid();
    for (const one of [user_id, held.user_id, restored.user_id]) good(await erase(one));
    good(await server.call("POST", `/users/${restored.user_id}/restore`));
    good(await freeze(held.user_id, "freeze"));
    expect(await findFault(server)).toBeNull();
    const until = addYears(paid_at, 5).getTime();
    const left = () => until - server.core.clock.now().getTime();
    while (left() > 400 * DAY_MS) await advance(server, 400 * DAY_MS);
    await advance(server, left() - 60_000);
    expect(await statusOf(user_id)).toBe(200);
    const tries = await failOnce();
    await advance(server, DAY_MS);
    // Also of users above.
    expect(await tries()).toBeGreaterThan(1);
    expect(await statusOf(user_id)).toBe(404);
    expect(await actsOn(user_id)).toEqual(["user.request_erasure", "user.erase"]);
    // A freeze prevents the erasure, and a withdrawn request erases nobody.
    expect((await show(held.user_id)).kept).toMatchObject([{ record: "hold", until: null }]);
    expect(await statusOf(restored.user_id)).toBe(200);
    expect(await findFault(server)).toBeNull();
    good(await freeze(held.user_id, "unfreeze"));
    await advance(server, 31 * DAY_MS);
    expect(await statusOf(held.user_id)).toBe(404);
    expect(await findFault(server)).toBeNull();
  });

  /** The next erasure fails at its last write: nothing of it remains, and it is tried again. */
  async function failOnce(): Promise<() => Promise<number>> {
    const { database } = server.core;
    await database.query("create sequence erasures");
    await database.query(`create function fail_once() returns trigger language plpgsql as $$ begin
      if nextval('erasures') = 1 then raise exception 'the process ended here'; end if;
      return old; end $$`);
    await database.query(`create trigger fail_once before delete on subject_keys
      for each row execute function fail_once()`);
    return async () => {
      const [row] = await database.query<{ tries: number }>(
        "select last_value::int as tries from erasures",
      );
      await database.query("drop function fail_once cascade");
      return row!.tries;
    };
  }
});

/*
 * All of it was cleared with the erasure, under the user's lock: with 50,000 payouts 8 seconds, in
 * which the deposits of all accounts were not read. And the events of the account were searched.
 */
it("an erasure writes no payout; references and answers are cleared in parts right after", async () => {
  const { database } = server.db;
  const { user_id, quote_id } = await openStory(server, [{ amount: 10 }]);
  await database.query(
    `insert into offramps select made.* from offramps o, generate_series(1, 250) as n,
       lateral jsonb_populate_record(o, jsonb_build_object('id', gen_random_uuid(), 'n', n)) as made
     where o.quote_id = $1`,
    [quote_id],
  );
  await database.query(
    `update offramps set status = 'failed', reference_index = uuid_send(id) where user_id = $1`,
    [user_id],
  );
  await database.query(
    `insert into webhook_deliveries (account_id, id, app_id, event_account_id, event_id, name,
       record_id, sequence, status, attempts, answered, created_at, updated_at, answer)
     select account_id, gen_random_uuid(), $2, account_id, id, name, record_id, sequence,
       'delivered', 1, 200, created_at, created_at, '\\x01'
     from events where subject_id = $1`,
    [user_id, (await addApp(server, { webhook_url: "http://127.0.0.1:9/" })).id],
  );
  const counts = async () => {
    const [row] = await database.query(
      `select (select count(*)::int from offramps
           where user_id = $1 and reference_index is not null) as referred,
         (select count(*)::int from webhook_deliveries d join events e on e.id = d.event_id
           where e.subject_id = $1 and d.answer is not null) as answered`,
      [user_id],
    );
    return row as { referred: number; answered: number };
  };
  const before = await counts();
  expect(before.referred).toBe(251);
  // Of the user, the payment detail and the payout.
  expect(before.answered).toBeGreaterThan(1);
  const written = new Map<number, boolean[]>();
  observeStatements(({ text, transaction }) => {
    const own = written.get(transaction) ?? [];
    written.set(transaction, [...own, /update (offramps|webhook_deliveries)/.test(text)]);
    if (/update users/.test(text)) erasing.add(transaction);
  });
  const erasing = new Set<number>();
  try {
    expect(good(await erase(user_id)).retention.status).toBe("erased");
    await settle(server);
  } finally {
    observeStatements(undefined);
  }
  for (const transaction of erasing) expect(written.get(transaction)).not.toContain(true);
  expect(await counts()).toEqual({ referred: 0, answered: 0 });
});

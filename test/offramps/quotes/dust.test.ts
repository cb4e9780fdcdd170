import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hashAddress } from "../../../src/balances/refund-store.ts";
import { addressKey, hasGoneBack, listFromAddresses } from "../../../src/balances/sender-store.ts";
import {
  type FundingRules,
  fundFromDeposits,
} from "../../../src/offramps/quotes/fund-from-deposits.ts";
import type { LatePayeeDeps } from "../../../src/offramps/quotes/late-payees.ts";
import type { Quote } from "../../../src/offramps/quotes/model.ts";
import { findQuotes } from "../../../src/offramps/quotes/store.ts";
import type { Transaction } from "../../../src/platform/db/database.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { advance, deposit, EXPIRY_MS, findFault, good, openStory, settle } from "../story.ts";

// Anybody can send dust to a deposit address: what one more transfer costs must not grow with those
// before it.

const RULES = {
  deposit_tolerance: 10_000n,
  deposit_in_time_percent: 95,
} as FundingRules & LatePayeeDeps;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
});
afterAll(() => server.close());

const SENDER = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";
let senders = 0;

/** Transfers of a millionth to each of these quotes, each from an address of its own. */
async function addDust(quote_ids: readonly string[], count: number): Promise<void> {
  const { database, clock } = server.core;
  await database.query(
    `insert into sandbox_transfers (chain, tx_id, log_index, address, token, amount, mined_at,
       sender)
     select q.deposit_token_chain,
       '0x' || encode(sha256(convert_to(n || q.id::text, 'UTF8')), 'hex'), 0,
       q.deposit_address, q.deposit_token, 1, $3, '0x' || lpad(to_hex(n), 40, '0')
     from quotes q, generate_series($4::int + 1, $4::int + $2::int) as n
     where q.id = any($1::uuid[])`,
    [quote_ids, count, clock.now(), senders],
  );
  senders += count;
  await advance(server, 1_000);
  await settle(server);
  // A plan that changes in between would read other rows.
  await database.query("vacuum analyze deposits");
}

async function findOne(quote_id: string): Promise<Quote> {
  const [quote] = await findQuotes(server.core.database, [
    { account_id: server.account_id, id: quote_id },
  ]);
  return quote!;
}

/** How many deposits the database reads for this work, and how many rows it returns. */
function countRead(work: (tx: Transaction) => Promise<unknown>) {
  return server.core.database.transaction(async (tx) => {
    const readSoFar = async () => {
      const [row] = await tx.query<{ read: number }>(
        `select (seq_tup_read + idx_tup_fetch)::integer as read from pg_stat_xact_user_tables
         where relname = 'deposits'`,
      );
      return row!.read;
    };
    const before = await readSoFar();
    let returned = 0;
    const query: Transaction["query"] = async (text, values) => {
      const rows = await tx.query(text, values);
      returned += rows.length;
      return rows as never;
    };
    await work({ ...tx, query });
    return { read: (await readSoFar()) - before, returned };
  });
}

const decide = async (quote_id: string) => {
  const quote = await findOne(quote_id);
  return countRead(async (tx) => {
    const now = server.core.clock.now();
    const { decision } = await fundFromDeposits(tx, RULES, quote, now);
    expect(decision).toBe("short");
  });
};

describe("dust", () => {
  it("to a quote that is short costs the same with twice as many deposits", async () => {
    const story = await openStory(server);
    // So that the sandbox's chain does not pay automatically.
    await deposit(server, { quote_id: story.quote_id, amount: 1, token: "usdt" });
    good(await story.execute());
    await addDust([story.quote_id], 50);
    const once = await decide(story.quote_id);
    await addDust([story.quote_id], 50);
    expect((await findOne(story.quote_id)).received).toBe(100n);
    expect(await decide(story.quote_id)).toEqual(once);
  });

  it("to a quote that was paid too late checks no deposit again", async () => {
    const story = await openStory(server);
    // So that it does not pay in time.
    await deposit(server, { quote_id: story.quote_id, amount: 1, token: "usdt" });
    good(await story.execute());
    await advance(server, EXPIRY_MS + 1_000);
    await deposit(server, { quote_id: story.quote_id, amount: await story.total() });
    await addDust([story.quote_id], 50);
    const once = await decide(story.quote_id);
    await addDust([story.quote_id], 50);
    expect((await decide(story.quote_id)).returned).toBe(once.returned);
  });

  it("from twice as many senders costs a funding twice as many reads", async () => {
    const story = await openStory(server);
    const other = await story.addQuote();
    const read = async () => {
      const { account_id, user_id } = await findOne(story.quote_id);
      const money = { account_id, user_id, token: "usdc", chain: "polygon", excess: 0n };
      return countRead(async (tx) => {
        const { index_key } = server.core;
        expect(await hasGoneBack(tx, index_key, story.quote_id, money)).toBe(false);
      });
    };
    await addDust([story.quote_id, other], 40);
    const before = await read();
    await addDust([story.quote_id, other], 40);
    const twice = await read();
    // Nothing went back to them, so that what they sent elsewhere does not matter.
    expect(twice.read).toBeLessThanOrEqual(2 * before.read);
    expect(twice.returned).toBeLessThanOrEqual(80 + 5);
    await deposit(server, { quote_id: other, amount: 20, from: SENDER });
    await deposit(server, { quote_id: story.quote_id, amount: 0.01, from: SENDER });
    const refund = { token: "usdc", chain: "polygon", amount: 5, address: SENDER };
    good(await server.call("POST", `/users/${story.user_id}/refunds`, { refund }));
    const once = await read();
    expect(once.read).toBeGreaterThan(160);
    await addDust([story.quote_id, other], 80);
    expect((await read()).read).toBeLessThan(2.5 * once.read);
  });

  it("by the thousand leaves to each sender what came from them", async () => {
    const story = await openStory(server);
    await deposit(server, { quote_id: story.quote_id, amount: 20, from: SENDER });
    const [first, last] = [senders + 1, senders + 1_100];
    await addDust([story.quote_id], 1_100);
    const { account_id, user_id } = await findOne(story.quote_id);
    const money = { account_id, user_id, token: "usdc", chain: "polygon" };
    const hex = (sender: number) => `0x${sender.toString(16).padStart(40, "0")}`;
    const wanted = [SENDER, hex(first), hex(last), hex(last + 1)].map((address) => ({
      ...money,
      address,
      address_index: hashAddress(server.core.index_key, "polygon", address),
    }));
    const left = await listFromAddresses(server.core.database, wanted);
    expect(wanted.map((entry) => left.get(addressKey(entry)))).toEqual([20_000_000n, 1n, 1n, 0n]);
  });

  it("to a quote that is short changes its payouts so often, and then no more", async () => {
    const story = await openStory(server, [{ amount: 500 }, { amount: 400 }]);
    const total = await story.total();
    await deposit(server, { quote_id: story.quote_id, amount: 1 });
    good(await story.execute());
    await settle(server);
    const counted = async () => {
      const [row] = await server.core.database.query<{ events: number }>(
        "select count(*)::int as events from events where record_id = any($1::uuid[])",
        [story.offramp_ids],
      );
      return row!.events;
    };
    for (let at = 0; at < 25; at += 1) await addDust([story.quote_id], 1);
    const events = await counted();
    expect(events).toBeLessThanOrEqual(2 * 20);
    expect((await story.show()).status_message).toMatch(/is short, after many transfers.* 95 %/);
    await addDust([story.quote_id], 1);
    expect(await counted()).toBe(events);
    await deposit(server, { quote_id: story.quote_id, amount: total });
    await story.waitForStatus("fiat_sent");
    expect((await story.show()).status_message).toBeNull();
  });

  it("leaves no money unexplained", async () => {
    expect(await findFault(server)).toBeNull();
  });
});

import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { txId } from "../../harness/ramp.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import {
  advance,
  deposit,
  EXPIRY_MS,
  expectRefusal,
  findFault,
  GRACE_MS,
  good,
  openStory,
  type Story,
  settle,
} from "../story.ts";

const ADDRESS = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
});
afterAll(() => server.close());
afterEach(async () => expect(await findFault(server)).toBeNull());

const rounded = (amount: number) => Number(amount.toFixed(6));

/** An unpaid quote of a user who has `balance` from an earlier one. */
async function openFunded(balance: number) {
  const story = await openStory(server);
  await deposit(server, { quote_id: story.quote_id, amount: balance });
  const quote_id = await story.addQuote();
  const [offramp] = good(await story.add(quote_id, [{ amount: 500 }])).offramps;
  return { story, quote_id, offramp_id: offramp.id as string, total: await story.total(quote_id) };
}

async function refund(story: Story, amount: number) {
  const path = `/users/${story.user_id}`;
  const refund_address = { chain: "polygon", address: ADDRESS };
  good(await server.call("POST", `${path}/refund_addresses`, { refund_address }));
  return server.call("POST", `${path}/refunds`, {
    refund: { token: "usdc", chain: "polygon", amount, address: ADDRESS },
  });
}

it("takes the available balance; the rest, sent to the deposit address, needs no call", async () => {
  const { story, quote_id, offramp_id, total } = await openFunded(200);
  expect(good(await story.fund(quote_id)).quote).toMatchObject({ executed: true });
  const waiting = await story.waitForStatus("ongoing_checks", offramp_id);
  expect(waiting.status_message).toContain(`short by ${rounded(total - 200)} usdc`);
  await deposit(server, { quote_id, amount: rounded(total - 200) });
  await story.waitForStatus("fiat_sent", offramp_id);
  expect(await story.owed()).toBe(0);
});

it("a transfer can be named for the rest, and pays exactly the rest in sandbox", async () => {
  const { story, quote_id, offramp_id } = await openFunded(200);
  good(await story.fund(quote_id));
  const tx_id = txId("the rest");
  good(await story.execute(tx_id, quote_id));
  good(await story.execute(tx_id, quote_id));
  expectRefusal(await story.execute(txId("another"), quote_id), "quote_already_executed");
  await story.waitForStatus("fiat_sent", offramp_id);
  expect(await story.owed()).toBe(0);
});

it("takes only what is missing of a quote with a short deposit", async () => {
  const { story, quote_id, offramp_id, total } = await openFunded(1000);
  await deposit(server, { quote_id, amount: 100 });
  good(await story.execute(txId("short"), quote_id));
  await story.waitForStatus("ongoing_checks", offramp_id);
  good(await story.fund(quote_id));
  await story.waitForStatus("fiat_sent", offramp_id);
  expect(await story.owed()).toBe(rounded(1100 - total));
  expectRefusal(await story.fund(quote_id), "quote_already_executed");
});

it("a balance reserved for one quote can be neither refunded nor used by another", async () => {
  const { story, quote_id, offramp_id, total } = await openFunded(200);
  good(await story.fund(quote_id));
  const refused = await refund(story, 1);
  expectRefusal(refused, "record_invalid");
  expect(refused.body.errors[0].message).toContain("Executed quotes have reserved 200 of it.");
  const other = await story.addQuote();
  good(await story.add(other, [{ amount: 100 }]));
  expectRefusal(await story.fund(other), "record_invalid");
  expectRefusal(await story.fund(quote_id), "record_invalid");
  // After another deposit, a second call takes what is missing, and the rest stays free.
  await deposit(server, { quote_id: story.quote_id, amount: total });
  good(await story.fund(quote_id));
  await story.waitForStatus("fiat_sent", offramp_id);
  expect(await story.owed()).toBe(200);
  good(await refund(story, 200));
  await settle(server);
});

it("a quote that never receives the rest returns what it took", async () => {
  const { story, quote_id, offramp_id } = await openFunded(200);
  good(await story.fund(quote_id));
  await story.waitForStatus("ongoing_checks", offramp_id);
  await advance(server, EXPIRY_MS + 1);
  expectRefusal(await story.fund(quote_id), "quote_expired");
  expectRefusal(await story.execute(txId("late"), quote_id), "quote_expired");
  await advance(server, GRACE_MS);
  expect((await story.show(offramp_id)).status).toBe("failed");
  expect(await story.owed()).toBe(200);
  good(await refund(story, 200));
  await settle(server);
});

it("giving up the offramp releases what was taken for it, and nothing is left to fund", async () => {
  const { story, quote_id, offramp_id } = await openFunded(200);
  good(await story.fund(quote_id));
  await story.waitForStatus("ongoing_checks", offramp_id);
  good(await story.giveUp(offramp_id));
  expectRefusal(await story.fund(quote_id), "no_offramps_present");
  good(await refund(story, 200));
  await settle(server);
});

it("eight concurrent calls for two quotes share one balance, and nothing is taken twice", async () => {
  const { story, quote_id, total } = await openFunded(700);
  const other = await story.addQuote();
  const [second] = good(await story.add(other, [{ amount: 500 }])).offramps;
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, index) => story.fund(index % 2 === 0 ? quote_id : other)),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(2);
  await settle(server);
  const rows = await server.db.database.query<{ from_balance: bigint; is_funded: boolean }>(
    `select from_balance, funded_at is not null as is_funded from quotes
     where id = any($1) order by funded_at`,
    [[quote_id, other]],
  );
  expect(rows.map(({ is_funded }) => is_funded)).toEqual([true, false]);
  expect(Number(rows[1]!.from_balance) / 1e6).toBe(rounded(700 - total));
  expect(await story.owed()).toBe(rounded(700 - total));
  const forced = await server.call("PATCH", `/sandbox/offramps/${second.id}`, {
    offramp: { status: "fiat_sent" },
  });
  expect(good(forced).offramp.status).toBe("fiat_sent");
});

import { afterAll, beforeAll, expect, it } from "vitest";
import { QUOTES } from "../../src/offramps/quotes/store.ts";
import { observeStatements } from "../../src/platform/db/observe.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { vouch } from "../harness/vouch.ts";
import { deposit, openStory } from "../offramps/story.ts";

const ADDRESS = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";
const QUOTES_MANY = 300;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

type Owed = Awaited<ReturnType<typeof openOwed>>;

/** A user with a quote that waits for its deposit. */
async function openOwed() {
  const story = await openStory(server);
  await deposit(server, { quote_id: story.quote_id, amount: 1, token: "usdt" });
  const executed = await story.execute();
  if (executed.status !== 200) throw new Error(executed.text);
  return story;
}

/** Executed quotes like that one, each with a payout. */
async function addQuotes({ quote_id }: Owed, received: number): Promise<void> {
  const { database } = server.db;
  await database.query(
    `with more as (
       insert into quotes select made.* from quotes q, generate_series(1, $2::int) as n,
         lateral jsonb_populate_record(q, jsonb_build_object('id', gen_random_uuid(),
           'tx_id', 'tx ' || n || '/' || $3::int, 'received', $3::int)) as made
       where q.id = $1 returning account_id, id)
     insert into offramps select made.* from offramps o, more,
       lateral jsonb_populate_record(o, jsonb_build_object('id', gen_random_uuid(),
         'quote_id', more.id)) as made
     where o.quote_id = $1`,
    [quote_id, QUOTES_MANY, received],
  );
  await vouch(database, QUOTES);
}

/** What a refund sends to the database. */
async function countStatements({ user_id }: Owed): Promise<number> {
  let count = 0;
  observeStatements(() => {
    count += 1;
  });
  try {
    const refund = { token: "usdc", chain: "polygon", amount: 60, address: ADDRESS };
    const answer = await server.call("POST", `/users/${user_id}/refunds`, { refund });
    expect(answer.text).toMatch(/balance on polygon is/);
  } finally {
    observeStatements(undefined);
  }
  return count;
}

/*
 * With a statement for each quote, twenty refunds of a user with a thousand quotes that nobody paid
 * took 17 seconds: as long the refunds of others waited, and whoever needed the user's lock.
 */
it("a refund costs as many statements however many quotes of the user wait", async () => {
  const story = await openOwed();
  // What it sends is not counted.
  await server.app.worker.stop();
  await countStatements(story);
  const before = await countStatements(story);
  await addQuotes(story, 0);
  expect(await countStatements(story)).toBeLessThan(before + 10);
  await addQuotes(story, 1);
  expect(await countStatements(story)).toBeLessThan(before + 10);
});

import { afterAll, beforeAll, expect, it } from "vitest";
import { Sliproad } from "../../sdk/src/index.ts";
import { TOKENS } from "../../src/catalogue/chains.ts";
import { listAccountQuotes } from "../../src/dashboard/quotes/store.ts";
import { QUOTE_STATUSES } from "../../src/offramps/quotes/model.ts";
import { ONRAMP_STATUSES } from "../../src/onramps/model.ts";
import { PAYMENT_DETAIL_STATUSES } from "../../src/payment-details/model.ts";
import { HOUR_MS } from "../../src/platform/durations.ts";
import { FIRST_ID, LAST_ID } from "../../src/platform/ids.ts";
import { execute } from "../harness/ramp.ts";
import { createSampleBusiness, type SampleBusiness } from "../harness/sample-business.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { advance, deposit, good, settle } from "../offramps/story.ts";
import { type BrowserMember, signInMember } from "./dashboard-server.ts";

const SETUP_MS = 120_000;
const LONGER_THAN_A_QUOTE_MS = 3 * 24 * HOUR_MS;

type Row = { id: string; user_id: string; status: string; deposit_token: string };

let server: TestServer;
let business: SampleBusiness;
let member: BrowserMember;

beforeAll(async () => {
  server = await startTestServer();
  const { url, key, account_id } = server;
  const sliproad = new Sliproad({ baseUrl: url, apiKey: key });
  business = await createSampleBusiness(sliproad);
  const [first, second] = business.user_ids as [string, string];
  const addQuote = async (user_id: string, deposit_token: "usdc" | "usdt") =>
    (await sliproad.quotes.create(user_id, { deposit_token, deposit_token_chain: "polygon" })).quote
      .id;
  await addQuote(first, "usdt");
  const unpaid = await addQuote(second, "usdt");
  await sliproad.offramps.create(second, unpaid, [
    {
      payment_detail_id: business.payment_detail_ids[5]!,
      ...{ destination_amount: "10", destination_currency: "eur" },
    },
  ]);
  await deposit(server, { quote_id: unpaid, amount: 1, token: "usdt" });
  good(await execute(server, second, unpaid));
  await advance(server, LONGER_THAN_A_QUOTE_MS);
  await deposit(server, { quote_id: await addQuote(second, "usdc"), amount: 2 });
  await addQuote(first, "usdt");
  const onramp = await sliproad.onramps.create(second, {
    ...{ destination_amount: 70, crypto_currency: "usdc", crypto_rails: "polygon" },
    destination_address: "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed",
    ...{ fiat_currency: "usd", fiat_rails: "ach_push" },
  });
  await sliproad.sandbox.createDeposit({
    ...{ amount: onramp.deposit_amount, currency: "usd" },
    deposit_message: onramp.deposit_instructions.deposit_message,
  });
  await settle(server);
  const gone = `/users/${first}/payment_details/${business.payment_detail_ids[0]}/deactivate`;
  good(await server.call("PATCH", gone));
  member = await signInMember(server, { account_id, role: "accountant", email: "a@example.test" });
}, SETUP_MS);
afterAll(() => server.close());

/** Every row, page by page. */
async function listAll(path: string, name: string, query: Record<string, string>): Promise<Row[]> {
  const rows: Row[] = [];
  for (let has_more = true; has_more; ) {
    const text = new URLSearchParams({ ...query, limit: "2" });
    if (rows.length > 0) text.set("starting_after", rows.at(-1)!.id);
    const answer = await member.call("GET", `/dashboard/api/${path}?${text}`);
    expect(answer.statusCode, answer.body).toBe(200);
    rows.push(...answer.json()[name]);
    has_more = answer.json().has_more;
  }
  return rows;
}

it.each([
  ["quotes", "quotes", QUOTE_STATUSES],
  ["onramps", "onramps", ONRAMP_STATUSES],
  ["bank_accounts", "bank_accounts", PAYMENT_DETAIL_STATUSES],
] as const)("%s are filtered by state and person, page by page", async (path, name, statuses) => {
  const all = await listAll(path, name, {});
  const states = new Set(all.map(({ status }) => status));
  expect(states.size).toBeGreaterThan(1);
  for (const status of statuses) {
    const expected = all.filter((row) => row.status === status);
    expect(await listAll(path, name, { status }), status).toEqual(expected);
    for (const user_id of business.user_ids) {
      const own = expected.filter((row) => row.user_id === user_id);
      expect(await listAll(path, name, { status, user_id })).toEqual(own);
    }
  }
  for (const user_id of business.user_ids) {
    const own = all.filter((row) => row.user_id === user_id);
    expect(await listAll(path, name, { user_id })).toEqual(own);
  }
  const wrong = await member.call("GET", `/dashboard/api/${path}?status=nothing`);
  expect(wrong.statusCode).toBe(422);
  expect(await listAll(path, name, { user_id: "somebody" })).toEqual([]);
});

it("quotes are filtered by token as well, with all else", async () => {
  const all = await listAll("quotes", "quotes", {});
  expect(new Set(all.map(({ status }) => status))).toEqual(new Set(QUOTE_STATUSES));
  const [user_id] = business.user_ids as [string];
  for (const token of TOKENS) {
    const of_token = all.filter((row) => row.deposit_token === token);
    expect(of_token.length).toBeGreaterThan(1);
    expect(await listAll("quotes", "quotes", { token })).toEqual(of_token);
    for (const status of QUOTE_STATUSES) {
      const expected = of_token.filter((row) => row.status === status);
      expect(await listAll("quotes", "quotes", { token, status })).toEqual(expected);
      const own = expected.filter((row) => row.user_id === user_id);
      expect(await listAll("quotes", "quotes", { token, status, user_id })).toEqual(own);
    }
  }
  const newest = await listAll("quotes", "quotes", {
    created_after: new Date(server.core.clock.now().getTime() - HOUR_MS).toISOString(),
    status: "open",
  });
  expect(newest).toHaveLength(2);
});

it("coins are filtered by person", async () => {
  const all = await listAll("crypto_deposits", "crypto_deposits", {});
  expect(new Set(all.map(({ user_id }) => user_id)).size).toBeGreaterThan(1);
  for (const user_id of business.user_ids) {
    const own = all.filter((row) => row.user_id === user_id);
    expect(await listAll("crypto_deposits", "crypto_deposits", { user_id })).toEqual(own);
  }
});

/** Copies of one quote, a millisecond apart, all but a few executed. */
const COPY_QUOTES = `insert into quotes select (jsonb_populate_record(quotes, jsonb_build_object(
    'id', lpad(to_hex(one), 12, '0') || '70008000000000000000',
    'tx_id', null, 'executed_at', case when one % 1000 = 0 then null else expires_at end,
    'closed_at', null))).*
  from quotes, generate_series(1, $2) as one
  where account_id = $1 and id = $3`;

it("a filter reads about as many pages of the database however many quotes there are", {
  timeout: SETUP_MS,
}, async () => {
  const { database } = server.core;
  const [{ id }] = (await listAll("quotes", "quotes", { token: "usdc" })) as [Row];
  const page = { below_id: LAST_ID, from_id: FIRST_ID, limit: 25 };
  const filter = { account_id: server.account_id, user_id: undefined, token: undefined };
  const read = async () => {
    await database.query("vacuum analyze quotes");
    const counts: number[] = [];
    const counting = {
      query: async (sql: string, values: unknown[]) => {
        const plan = `explain (analyze, buffers, format json) ${sql}`;
        const [row] = await database.query<{ "QUERY PLAN": [{ Plan: Record<string, number> }] }>(
          plan,
          values,
        );
        const { Plan } = row!["QUERY PLAN"][0];
        counts.push(Plan["Shared Hit Blocks"]! + Plan["Shared Read Blocks"]!);
        return [];
      },
    };
    for (const status of QUOTE_STATUSES) {
      const session = counting as unknown as typeof database;
      await listAccountQuotes(session, { ...filter, status }, page, new Date(0));
    }
    return Math.max(...counts);
  };
  await database.query(COPY_QUOTES, [server.account_id, 100, id]);
  const few = await read();
  await database.query("delete from quotes where account_id = $1 and id < $2", [
    ...[server.account_id, "00000001-0000-7000-8000-000000000000"],
  ]);
  await database.query(COPY_QUOTES, [server.account_id, 10_000, id]);
  expect(await read()).toBeLessThan(few * 2 + 100);
});

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HOUR_MS } from "../../src/platform/durations.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import {
  advance,
  deposit,
  EXPIRY_MS,
  expectRefusal,
  GRACE_MS,
  good,
  openStory,
  type Story,
} from "./story.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
});
afterAll(() => server.close());

const get = async (path: string, key?: string) =>
  good(await server.call("GET", path, undefined, key ? { key } : {}));
const idsOf = (records: { id: string }[]) => records.map(({ id }) => id);

describe("the status of a quote", () => {
  const statusOf = async ({ user_id }: Story, quote_id: string) =>
    (await get(`/users/${user_id}/quotes/${quote_id}`)).quote.status;
  const listOf = async ({ user_id }: Story, status: string) =>
    idsOf((await get(`/users/${user_id}/quotes?status=${status}`)).quotes);

  it("is open, executed, expired or failed, and lists can be filtered by it", async () => {
    const story = await openStory(server);
    const short = await story.addQuote();
    good(await story.add(short, [{ amount: 100 }]));
    const idle = await story.addQuote();
    const executed = good(await story.execute());
    expect(executed.quote).toMatchObject({ status: "executed", executed: true });
    await story.waitForStatus("fiat_sent");
    await deposit(server, { quote_id: short, amount: 1 });
    good(await story.execute(undefined, short));
    expect(await statusOf(story, idle)).toBe("open");
    expect(await listOf(story, "open")).toEqual([idle]);
    expect(await listOf(story, "executed")).toEqual([short, story.quote_id]);

    await advance(server, EXPIRY_MS);
    expect(await statusOf(story, idle)).toBe("expired");
    expect(await listOf(story, "open")).toEqual([]);
    expect(await listOf(story, "expired")).toEqual([idle]);
    expectRefusal(await story.execute(undefined, idle), "quote_expired");

    await advance(server, GRACE_MS + 25 * HOUR_MS);
    expect(await statusOf(story, short)).toBe("failed");
    expect(await listOf(story, "failed")).toEqual([short]);
    expect(await listOf(story, "executed")).toEqual([story.quote_id]);
    expect(await listOf(story, "expired")).toEqual([idle]);
    const unknown = await server.call("GET", `/users/${story.user_id}/quotes?status=paid`);
    expect(unknown.body).toMatchObject({ status: 422, errors: [{ field: "status" }] });
  });

  it("is expired exactly at its expiry: it can no longer be executed", async () => {
    const story = await openStory(server);
    await advance(server, EXPIRY_MS);
    expectRefusal(await story.execute(), "quote_expired");
  });
});

describe("offramps with the largest metadata", () => {
  const PAGE_BYTES = 4.5 * 1024 * 1024;
  // Wide enough in UTF-8 that a few dozen fill an answer.
  const metadata = Object.fromEntries(
    Array.from({ length: 50 }, (_, index) => [`key ${index}`, "😀".repeat(500)]),
  );

  it("end a page early, and every one of them and of their events is on some page", async () => {
    const items = Array.from({ length: 45 }, () => ({ amount: 100, metadata }));
    const { user_id, quote_id, offramp_ids } = await openStory(server, items);
    const quote = await server.call("GET", `/users/${user_id}/quotes/${quote_id}`);
    expect(Buffer.byteLength(quote.text)).toBeLessThan(PAGE_BYTES);
    const embedded = idsOf(good(quote).offramps);
    expect(embedded).toEqual(offramp_ids.slice(0, embedded.length));
    expect(embedded.length).toBeLessThan(offramp_ids.length);
    expect(quote.body.has_more_offramps).toBe(true);
    const offramps = await readAll(`/offramps?quote_id=${quote_id}`, "offramps", "id");
    expect(offramps).toEqual(offramp_ids.toReversed());
    const events = await readAll(
      "/webhook_events?event=offramp_update",
      "webhook_events",
      "record_id",
    );
    expect(events.filter((id) => offramp_ids.includes(id))).toEqual(offramp_ids);
  });

  async function readAll(path: string, list: string, field: string): Promise<string[]> {
    const found: { id: string; [field: string]: string }[] = [];
    for (let has_more = true; has_more; ) {
      const after = found.length > 0 ? `&starting_after=${found.at(-1)!.id}` : "";
      const answer = await server.call("GET", `${path}&limit=100${after}`);
      expect(Buffer.byteLength(answer.text)).toBeLessThan(PAGE_BYTES);
      found.push(...good(answer)[list]);
      has_more = answer.body.has_more;
    }
    return found.map((record) => record[field]!);
  }
});

describe("the offramps of the whole account", () => {
  it("are those of all its users, filtered by user, quote and status, and no other account's", async () => {
    const { key } = await server.addAccount("Other list");
    const first = await openStory(server, [{ amount: 100 }, { amount: 200 }]);
    const second = await openStory(server);
    good(await second.execute());
    await second.waitForStatus("fiat_sent");
    const ids = idsOf((await get("/offramps?limit=3")).offramps);
    expect(ids).toEqual([second.offramp_id, ...first.offramp_ids.toReversed()]);
    const page = await get(`/offramps?limit=1&starting_after=${second.offramp_id}`);
    expect(page).toMatchObject({ offramps: [{ id: first.offramp_ids[1] }], has_more: true });
    const by = async (query: string) => idsOf((await get(`/offramps?${query}`)).offramps);
    expect(await by(`user_id=${first.user_id}`)).toEqual(first.offramp_ids.toReversed());
    expect(await by(`quote_id=${second.quote_id}`)).toEqual([second.offramp_id]);
    expect(await by(`user_id=${first.user_id}&status=fiat_sent`)).toEqual([]);
    expect(await by("status=fiat_sent&limit=1")).toEqual([second.offramp_id]);
    expect(await get("/offramps", key)).toEqual({ offramps: [], has_more: false });
    const wrong = await server.call("GET", "/offramps?user_id=1&quote_id=2&status=sent");
    expect(wrong.body.errors.map(({ field }: { field: string }) => field).sort()).toEqual([
      "quote_id",
      "status",
      "user_id",
    ]);
  });

  it("cost the same on every page: an index returns them in order", async () => {
    const plan = async (condition: string) => {
      const rows = await server.db.database.query<{ "QUERY PLAN": string }>(
        `explain select * from offramps where account_id = '${server.account_id}'
         and id < 'ffffffff-ffff-ffff-ffff-ffffffffffff' ${condition} order by id desc limit 26`,
      );
      return rows.map((row) => row["QUERY PLAN"]).join("\n");
    };
    expect(await plan("and status = 'bounced'")).toMatch(/offramps_account_list_by_status/);
  });
});

describe("balances and deposits", () => {
  it("balances are summed over the account, and each deposit is listed with its sender", async () => {
    const { key } = await server.addAccount("Other");
    const before = (await get("/balances")).balances;
    const amountOf = (balances: { currency: string; amount: number }[], currency: string) =>
      balances.find((balance) => balance.currency === currency)?.amount ?? 0;
    const first = await openStory(server);
    const second = await openStory(server);
    const from = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
    const mined_at = "2026-01-02T03:04:05.000Z";
    const path = "/sandbox/crypto_deposits";
    const sent = good(
      await server.call("POST", path, {
        crypto_deposit: { quote_id: first.quote_id, amount: 7, from, mined_at },
      }),
    ).crypto_deposit;
    expect(sent).toMatchObject({ from: from.toLowerCase(), mined_at });
    await deposit(server, { quote_id: second.quote_id, amount: 5 });
    await deposit(server, { quote_id: second.quote_id, amount: 3, token: "usdt" });
    const { balances } = await get("/balances");
    expect(amountOf(balances, "usdc") - amountOf(before, "usdc")).toBeCloseTo(12, 6);
    expect(amountOf(balances, "usdt") - amountOf(before, "usdt")).toBeCloseTo(3, 6);
    expect((await get("/balances", key)).balances).toEqual([]);

    const own = await get(`/users/${first.user_id}/crypto_deposits`);
    expect(own).toMatchObject({
      crypto_deposits: [
        {
          user_id: first.user_id,
          quote_id: first.quote_id,
          token: "usdc",
          chain: "polygon",
          amount: 7,
          from: from.toLowerCase(),
          tx_id: sent.tx_id,
          mined_at,
        },
      ],
      has_more: false,
    });
    const page = await get(`/users/${second.user_id}/crypto_deposits?limit=1`);
    expect(page).toMatchObject({ crypto_deposits: [{ token: "usdt" }], has_more: true });
    expect(page.crypto_deposits[0].from).toMatch(/^0x[0-9a-f]{40}$/);
    const wrong = await server.call("POST", path, {
      crypto_deposit: { quote_id: first.quote_id, amount: 1, from: "me", mined_at: "yesterday" },
    });
    expect(wrong.body.errors).toMatchObject([
      { field: "crypto_deposit.mined_at" },
      { field: "crypto_deposit.from" },
    ]);
  });

  it("refunds are listed by status; a refund address shows when it was last changed", async () => {
    const story = await openStory(server);
    await deposit(server, { quote_id: story.quote_id, amount: 20 });
    const path = `/users/${story.user_id}`;
    const refund = await story.takeOut(10);
    expect((await get(`${path}/refunds?status=sent`)).refunds).toMatchObject([{ id: refund.id }]);
    expect((await get(`${path}/refunds?status=pending`)).refunds).toEqual([]);
    expect((await get(`${path}/refunds?created_before=${refund.created_at}`)).refunds).toEqual([]);
    const wrong = await server.call("GET", `${path}/refunds?status=gone`);
    expect(wrong.body.errors).toMatchObject([{ field: "status" }]);
    const [address] = (await get(`${path}/refund_addresses`)).refund_addresses;
    expect(address.updated_at).toBe(address.created_at);
  });
});

describe("requested outcomes", () => {
  it("are one per attempt, separated by commas; attempts beyond them succeed", async () => {
    const outcomes = { sandbox_outcome: "bounced, bounced" };
    const story = await openStory(server, [{ amount: 100, metadata: outcomes }]);
    good(await story.execute());
    await story.waitForStatus("bounced");
    good(await story.reroute());
    await story.waitForStatus("bounced");
    good(await story.reroute());
    const sent = await story.waitForStatus("fiat_sent");
    expect(sent).toMatchObject({ reference: "", payout_reference: { trace_number: null } });
  });
});

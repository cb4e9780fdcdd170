import { afterAll, beforeAll, expect, test } from "vitest";
import { addApprovedUser, addPaymentDetail, addQuote, execute } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";

type Line = { ledger_account: string; currency: string; amount: string };

let server: TestServer;
let user_id: string;
let offramp_id: string;
let before: string;
beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
  user_id = await addApprovedUser(server);
  before = (await server.call("GET", "/sandbox/clock")).body.clock.now;
  await server.call("POST", "/sandbox/clock", { advance_ms: 5 });
  const payment_detail_id = await addPaymentDetail(server, user_id, "eur");
  const quote_id = await addQuote(server, user_id);
  const created = await server.call("POST", `/users/${user_id}/quotes/${quote_id}/offramps`, {
    offramps: [{ payment_detail_id, destination_amount: 100, destination_currency: "eur" }],
  });
  offramp_id = created.body.offramps[0].id;
  await execute(server, user_id, quote_id);
  await waitFor(async () => {
    const shown = await server.call("GET", `/users/${user_id}/offramps/${offramp_id}`);
    return shown.body.offramp.status === "fiat_sent" ? true : undefined;
  });
});
afterAll(() => server?.close());

const get = async (path: string) => {
  const { status, body, text } = await server.call("GET", path);
  expect(status, text).toBe(200);
  return body;
};

test("entries come newest first, page by page, each with lines that sum to zero", async () => {
  const whole = (await get("/ledger/entries?limit=100")).entries;
  const kinds = whole.map(({ kind }: { kind: string }) => kind);
  expect(kinds[0]).toBe("payout_booked");
  expect(kinds).toContain("offramp_funded");
  for (const { lines } of whole) expect(imbalanceOf(lines)).toEqual([]);
  const pages = [];
  for (let after = ""; ; ) {
    const page = await get(`/ledger/entries?limit=2${after}`);
    pages.push(...page.entries);
    if (!page.has_more) break;
    after = `&starting_after=${page.entries.at(-1).id}`;
  }
  expect(pages).toEqual(whole);
});

test("entries can be chosen by kind and by ledger account", async () => {
  const { entries } = await get("/ledger/entries?kind=payout_booked");
  expect(entries).toHaveLength(1);
  const pending = await get(`/ledger/entries?ledger_account=payout_pending:${offramp_id}`);
  expect(pending.entries.map(({ kind }: { kind: string }) => kind)).toEqual([
    "payout_booked",
    "payout_instructed",
    "offramp_funded",
  ]);
  const both = await get("/ledger/entries?ledger_account=bank&kind=payout_booked");
  expect(both.entries).toEqual(entries);
});

test("the trial balance sums to zero in each currency, now and at an earlier time", async () => {
  const { balances, at } = await get("/ledger/balances");
  expect(at).toBeNull();
  expect(imbalanceOf(balances)).toEqual([]);
  expect(balances).toContainEqual({
    ...{ ledger_account: "bank", currency: "eur", amount: "-100", side: "debit" },
  });
  const names = balances.map(({ ledger_account }: Line) => ledger_account);
  expect(names).toContain("wallet:polygon");
  expect(names.filter((name: string) => name.startsWith("payout_pending:"))).toEqual([]);
  const earlier = await get(`/ledger/balances?at=${before}`);
  expect(earlier).toEqual({ at: new Date(before).toISOString(), balances: [] });
  const one = await get(`/ledger/balances?ledger_account=payout_pending:${offramp_id}`);
  expect(one.balances.map(({ amount }: Line) => amount)).toEqual(["0", "0"]);
});

test("another account sees none of it, and bad filters are named", async () => {
  const { key } = await server.addAccount("Other");
  const { body } = await server.call("GET", "/ledger/entries", undefined, { key });
  expect(body).toEqual({ entries: [], has_more: false });
  const cases = [
    ["/ledger/entries?kind=nothing", "kind"],
    ["/ledger/entries?ledger_account=owed", "ledger_account"],
    ["/ledger/balances?at=yesterday", "at"],
    ["/ledger/balances?ledger_account=fees:1", "ledger_account"],
  ] as const;
  for (const [path, field] of cases) {
    const refused = await server.call("GET", path);
    expect(refused.status).toBe(422);
    expect(refused.body.errors).toMatchObject([{ field }]);
  }
});

/** The currencies in which the lines do not sum to zero. */
function imbalanceOf(lines: readonly Line[]): string[] {
  const sums = new Map<string, bigint>();
  for (const { currency, amount } of lines) {
    const [whole, fraction = ""] = amount.replace("-", "").split(".");
    const units = BigInt(whole + fraction.padEnd(6, "0"));
    sums.set(currency, (sums.get(currency) ?? 0n) + (amount.startsWith("-") ? -units : units));
  }
  return [...sums].filter(([, sum]) => sum !== 0n).map(([currency]) => currency);
}

import { afterAll, beforeAll, expect, test } from "vitest";
import { listDaySums, listOwedSums } from "../../src/ledger/day-sum-store.ts";
import type { Transaction } from "../../src/platform/db/database.ts";
import { DAY_MS } from "../../src/platform/durations.ts";
import { FIRST_ID, LAST_ID, newId } from "../../src/platform/ids.ts";
import { listEntryIds, listEntryPage } from "../../src/reports/store.ts";
import { sumLedger } from "../../src/reports/sum-ledger.ts";
import { addApprovedUser, addPaymentDetail, addQuote, execute } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { findFault } from "../offramps/story.ts";

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
  expect(kinds).toContain("payout_funded");
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
    "payout_funded",
  ]);
  const both = await get("/ledger/entries?ledger_account=bank:sandbox-eur&kind=payout_booked");
  expect(both.entries).toEqual(entries);
  const { entries: all } = await get("/ledger/entries?limit=100");
  for (const { id, kind, lines } of all) {
    for (const { ledger_account } of lines) {
      const found = await get(`/ledger/entries?ledger_account=${ledger_account}&kind=${kind}`);
      expect(found.entries.map((entry: { id: string }) => entry.id)).toContain(id);
    }
  }
  const none = await get("/ledger/entries?ledger_account=bank:sandbox-eur&kind=deposit_final");
  expect(none).toEqual({ entries: [], has_more: false });
});

test("the trial balance sums to zero in each currency, now and at an earlier time", async () => {
  const { balances, at } = await get("/ledger/balances");
  expect(at).toBeNull();
  expect(imbalanceOf(balances)).toEqual([]);
  expect(balances).toContainEqual({
    ...{ ledger_account: "bank:sandbox-eur", currency: "eur", amount: "-100", side: "debit" },
  });
  const names = balances.map(({ ledger_account }: Line) => ledger_account);
  expect(names).toContain("wallet:polygon");
  expect(names.filter((name: string) => name.startsWith("payout_pending:"))).toEqual([]);
  const earlier = await get(`/ledger/balances?at=${before}`);
  expect(earlier).toEqual({ at: new Date(before).toISOString(), balances: [] });
  const one = await get(`/ledger/balances?ledger_account=payout_pending:${offramp_id}`);
  expect(one.balances.map(({ amount }: Line) => amount)).toEqual(["0"]);
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

test("balances are the same once their lines are in the daily sums, and verify checks these", async () => {
  const ask = async () => {
    const { now } = (await get("/sandbox/clock")).clock;
    const paths = [
      "",
      `?at=${now}`,
      "?ledger_account=bank:sandbox-eur",
      `?ledger_account=fees&at=${now}`,
    ];
    const answers = await Promise.all(paths.map((path) => get(`/ledger/balances${path}`)));
    return answers.map(({ balances }) => balances);
  };
  const unsummed = await ask();
  expect(unsummed[1]).toEqual(unsummed[0]);
  expect(await findFault(server)).toBeNull();
  await sumLedger(server.core.database);
  const { database } = server.core;
  const [sums] = await database.query("select count(*)::int as count from ledger_day_sums");
  expect(sums!.count).toBeGreaterThan(0);
  expect(await ask()).toEqual(unsummed);
  await server.call("POST", "/sandbox/clock", { advance_ms: DAY_MS });
  expect(await ask()).toEqual(unsummed);
  const shift = (by: number) =>
    database.query(
      "update ledger_day_sums set amount = amount + $1 where ledger_account = 'bank:sandbox-eur'",
      [by],
    );
  await shift(1);
  expect(await findFault(server)).toContain("the sum of bank:sandbox-eur in eur on");
  await shift(-1);
  expect(await findFault(server)).toBeNull();
});

test("the balances of the account are the same once they are summed, and verify checks them", async () => {
  const quote_id = await addQuote(server, user_id);
  const deposit = (amount: number) =>
    server.call("POST", "/sandbox/crypto_deposits", { crypto_deposit: { quote_id, amount } });
  const ask = async () => (await get("/balances")).balances;
  await deposit(12.5);
  const users = (await get(`/users/${user_id}/balances`)).balances;
  expect(users).toMatchObject([{ currency: "usdc", chain: "polygon" }]);
  expect(await ask()).toEqual(users);
  const { database } = server.core;
  const [sum] = await waitFor(async () => {
    await sumLedger(database);
    const sums = await database.query("select amount from ledger_owed_sums where amount > 0");
    return sums.length > 0 && sums;
  });
  expect(String(sum!.amount)).toBe("12500000");
  expect(await ask()).toEqual(users);
  await deposit(1);
  expect(await ask()).toEqual((await get(`/users/${user_id}/balances`)).balances);
  const shift = (by: number) =>
    database.query("update ledger_owed_sums set amount = amount + $1", [by]);
  await shift(1);
  expect(await findFault(server)).toMatch(/what account .* owes in usdc on polygon is summed as/);
  await shift(-1);
  expect(await findFault(server)).toBeNull();
});

test("a page of one kind and the balances read no entries of other kinds", async () => {
  const { database } = server.core;
  const { account_id } = server;
  const rows = Array.from({ length: 1_000 }, () => ({ id: newId(new Date()) }));
  await database.query(
    `insert into ledger_entries (account_id, id, key, kind, created_at)
     select $1, id, 'test:' || id, 'deposit_final', $3 from unnest($2::uuid[]) as id`,
    [account_id, rows.map(({ id }) => id), new Date()],
  );
  await database.query(
    `insert into ledger_lines (account_id, entry_id, number, ledger_account, currency, amount)
     select $1, id, 1, 'bank:sandbox-eur', 'eur', 1 from unnest($2::uuid[]) as id`,
    [account_id, rows.map(({ id }) => id)],
  );
  const page = { below_id: LAST_ID, from_id: FIRST_ID, limit: 10 };
  const countRead = (work: (tx: Transaction) => Promise<unknown>) =>
    database.transaction(async (tx) => {
      const before = await readSoFar(tx);
      await work(tx);
      return (await readSoFar(tx)) - before;
    });
  for (const ledger_account of [undefined, "bank:sandbox-eur", `payout_pending:${offramp_id}`]) {
    const filter = { account_id, kind: "payout_booked", ledger_account };
    const read = await countRead(async (tx) =>
      expect((await listEntryPage(tx, filter, page)).ids).toHaveLength(1),
    );
    expect(read).toBeLessThan(20);
  }
  const rare = [
    // One line among many entries, and one entry among many lines.
    { kind: "deposit_final", ledger_account: "wallet:polygon", found: 3 },
    { kind: "payout_funded", ledger_account: "bank:sandbox-eur", found: 0 },
  ];
  for (const { found, ...filter } of rare) {
    const read = await countRead(async (tx) =>
      expect((await listEntryPage(tx, { account_id, ...filter }, page)).ids).toHaveLength(found),
    );
    expect(read).toBeLessThan(20);
  }
  const accounts = { ledger_accounts: ["bank:sandbox-eur", "fees"], keys: ["test:1"] };
  const newest = await countRead(async (tx) =>
    expect(await listEntryIds(tx, account_id, accounts, 5)).toHaveLength(5),
  );
  expect(newest).toBeLessThan(50);
  const read = await countRead((tx) =>
    listDaySums(tx, account_id, { before: null, name: "bank:sandbox-eur" }),
  );
  expect(read).toBeLessThan(50);
  // Other users' balances, which the account's sum does not read one by one.
  await database.query(
    `insert into ledger_balances (account_id, ledger_account, currency, balance)
     select $1, 'owed:' || id || ':polygon', 'usdc', 1 from unnest($2::uuid[]) as id`,
    [account_id, rows.map(({ id }) => id)],
  );
  expect(await countRead((tx) => listOwedSums(tx, account_id))).toBeLessThan(50);
});

async function readSoFar(tx: Transaction): Promise<number> {
  const [row] = await tx.query<{ read: number }>(
    `select sum(seq_tup_read + idx_tup_fetch)::integer as read from pg_stat_xact_user_tables
     where relname like 'ledger\\_%'`,
  );
  return row!.read;
}

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

test("two filters that alternate are not searched through the whole ledger", async () => {
  const { database } = server.core;
  const { account_id, key } = await server.addAccount("Alternating");
  const id = "('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid";
  // One step for every two of them; the first ten fit both filters.
  await database.query(
    `insert into ledger_entries (account_id, id, key, kind, created_at)
     select $1, ${id}, 'test:' || n,
       case when n <= 10 or n % 2 = 0 then 'payout_booked' else 'deposit_final' end, $2
     from generate_series(1, 20100) n`,
    [account_id, new Date()],
  );
  await database.query(
    `insert into ledger_lines (account_id, entry_id, number, ledger_account, currency, amount)
     select $1, ${id}, 1, 'bank:sandbox-eur', 'eur', 1
     from generate_series(1, 20100) n where n <= 10 or n % 2 = 1`,
    [account_id],
  );
  const both = "/ledger/entries?kind=payout_booked&ledger_account=bank:sandbox-eur";
  const refused = await server.call("GET", both, undefined, { key });
  expect(refused.status).toBe(422);
  expect(refused.body.errors[0]).toMatchObject({ field: "kind", code: "record_invalid" });
  const after = `${both}&starting_after=01900000-0000-7000-8000-000000000064`;
  const { body } = await server.call("GET", after, undefined, { key });
  expect(body).toMatchObject({ entries: { length: 10 }, has_more: false });
});

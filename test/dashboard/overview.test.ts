import { afterAll, beforeAll, expect, it } from "vitest";
import { Sliproad } from "../../sdk/src/index.ts";
import { createSampleBusiness } from "../harness/sample-business.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { signInMember } from "./dashboard-server.ts";

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
  await createSampleBusiness(new Sliproad({ baseUrl: server.url, apiKey: server.key }));
});
afterAll(() => server.close());

const PATH = "/dashboard/api/overview";
const ONRAMPS = "/dashboard/api/onramps";
type Waiting = { name: string; count: number; oldest_at: string | null };

function counts(waiting: readonly Waiting[]): Record<string, number> {
  return Object.fromEntries(waiting.map(({ name, count }) => [name, count]));
}

it("counts what waits for the operator, and sums payouts by day and state", async () => {
  const { account_id } = server;
  const email = "accountant@example.test";
  const member = await signInMember(server, { account_id, role: "accountant", email });
  const overview = (await member.call("GET", PATH)).json();
  expect(counts(overview.waiting)).toMatchObject({
    ...{ held_payouts: 6, returned_payouts: 3, unmatched_deposits: 2, proposals: 0 },
    ...{
      silent_payouts: 0,
      stuck_sends: 0,
      bank_exceptions: 0,
      documents_to_check: 0,
      rejected_documents: 0,
      kyc_reviews: 0,
      failing_apps: 0,
    },
  });
  const bounced = overview.volumes.filter((one: { status: string }) => one.status === "bounced");
  // The third payout of three payers, each with its own first amount.
  const amount = (3 * (820 + 137.35 * 3)).toFixed(2);
  expect(bounced).toEqual([
    { day: overview.today, currency: "eur", status: "bounced", payouts: 3, amount },
  ]);
  expect(overview.uncounted_until).toBeNull();
});

it("shows nothing of other accounts, and is not for roles that see no records", async () => {
  const { account_id } = await server.addAccount("other");
  const admin = { account_id, role: "admin", email: "admin@example.test" } as const;
  const other = (await (await signInMember(server, admin)).call("GET", PATH)).json();
  expect(Object.values(counts(other.waiting)).filter((count) => count > 0)).toEqual([]);
  expect(other.volumes).toEqual([]);
  const developer = { account_id, role: "developer", email: "dev@example.test" } as const;
  const refused = await (await signInMember(server, developer)).call("GET", PATH);
  expect(refused.statusCode).toBe(403);
});

it("sums what wallets and bank accounts gained and lost by day, in the books' own figures", async () => {
  const { account_id } = server;
  const email = "flows@example.test";
  const member = await signInMember(server, { account_id, role: "accountant", email });
  const { flows, today } = (await member.call("GET", `${PATH}/flows`)).json();
  const { balances } = (await member.call("GET", "/ledger/balances")).json();
  const held = new Map<string, number>();
  for (const { ledger_account, currency, amount } of balances) {
    if (!/^(bank|wallet)(:|$)/.test(ledger_account)) continue;
    held.set(currency, (held.get(currency) ?? 0) + Number(amount));
  }
  // Everything happened today.
  const expected = [...held]
    .filter(([, amount]) => amount !== 0)
    .map(([currency, amount]) => ({ day: today, currency, amount: amount.toFixed(2) }));
  expect(expected.length).toBeGreaterThan(1);
  const shown = flows.map((flow: { amount: string }) => {
    return { ...flow, amount: Number(flow.amount).toFixed(2) };
  });
  expect(shown).toEqual(expected.sort((a, b) => a.currency.localeCompare(b.currency)));
  expect(shown.some(({ amount }: { amount: string }) => Number(amount) < 0)).toBe(true);
});

it("lists the onramps of all users, newest first and page by page", async () => {
  const { account_id } = server;
  const email = "approver@example.test";
  const member = await signInMember(server, { account_id, role: "approver", email });
  const list = async (query: string) => (await member.call("GET", `${ONRAMPS}?${query}`)).json();
  const first = await list("limit=1");
  expect(first).toMatchObject({ onramps: [{ destination_amount: 1250 }], has_more: true });
  const second = await list(`limit=1&starting_after=${first.onramps[0].id}`);
  expect(second).toMatchObject({ onramps: [{ destination_amount: 500 }], has_more: false });
  const other = await server.addAccount("third");
  const admin = { account_id: other.account_id, role: "admin", email: "eve@example.test" } as const;
  const none = await (await signInMember(server, admin)).call("GET", ONRAMPS);
  expect(none.json()).toEqual({ onramps: [], has_more: false });
});

it("names the onramps that an unmatched deposit may be for, the likeliest first", async () => {
  const { account_id } = server;
  const email = "finance@example.test";
  const member = await signInMember(server, { account_id, role: "finance_manager", email });
  const deposits = (await member.call("GET", "/deposits?status=unmatched")).json().deposits;
  const deposit = deposits.find(({ currency }: { currency: string }) => currency === "usd");
  const path = `/dashboard/api/deposits/${deposit.id}/candidates`;
  const { candidates } = (await member.call("GET", path)).json();
  expect(candidates.length).toBeGreaterThan(1);
  const differences = candidates.map((one: { difference: string }) => Number(one.difference));
  for (const [at, { amount }] of candidates.entries()) {
    expect(differences[at]).toBeCloseTo(deposit.amount - amount, 6);
  }
  const distances = differences.map(Math.abs);
  expect(distances).toEqual([...distances].sort((one, next) => one - next));
  const other = await server.addAccount("fourth");
  const admin = { account_id: other.account_id, role: "admin", email: "o@example.test" } as const;
  const refused = await (await signInMember(server, admin)).call("GET", path);
  expect(refused.statusCode).toBe(404);
});

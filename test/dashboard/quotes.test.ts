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

const PATH = "/dashboard/api/quotes";
type Progress = { status: string; payouts: number; amount: string };

it("shows the quotes of all users, and how far the payouts of one are", async () => {
  const { account_id } = server;
  const email = "accountant@example.test";
  const member = await signInMember(server, { account_id, role: "accountant", email });
  const list = (await member.call("GET", `${PATH}?limit=100`)).json();
  expect(new Set(list.quotes.map((quote: { user_id: string }) => quote.user_id)).size).toBe(3);
  for (const { id, deposit_token_amount } of list.quotes) {
    const shown = (await member.call("GET", `${PATH}/${id}`)).json();
    expect(shown.quote).toMatchObject({ id, deposit_token_amount });
    const counts = shown.progress.map(({ payouts }: Progress) => payouts);
    const sum = counts.reduce((total: number, count: number) => total + count, 0);
    expect(sum).toBe(shown.payouts);
    const is_paid = Number(shown.received) >= deposit_token_amount;
    expect(shown.is_funded).toBe(is_paid && shown.payouts > 0);
    expect(Number(shown.missing) === 0).toBe(is_paid);
  }
});

it("shows the quotes of one payer", async () => {
  const { account_id } = server;
  const email = "manager@example.test";
  const member = await signInMember(server, { account_id, role: "finance_manager", email });
  const list = async (query: string) =>
    (await member.call("GET", `${PATH}?limit=100${query}`)).json().quotes as { user_id: string }[];
  const [{ user_id } = { user_id: "" }, ...others] = await list("");
  const own = await list(`&user_id=${user_id}`);
  expect(own.length).toBeLessThan(others.length + 1);
  expect(new Set(own.map((quote) => quote.user_id))).toEqual(new Set([user_id]));
  expect(await list("&user_id=somebody")).toEqual([]);
});

it("shows no quote of another account", async () => {
  const { account_id } = await server.addAccount("other");
  const admin = { account_id, role: "admin", email: "admin@example.test" } as const;
  const other = await signInMember(server, admin);
  expect((await other.call("GET", PATH)).json()).toEqual({ quotes: [], has_more: false });
  const email = "approver@example.test";
  const own = await signInMember(server, {
    account_id: server.account_id,
    ...{ role: "approver", email },
  } as const);
  const [quote] = (await own.call("GET", PATH)).json().quotes;
  expect((await other.call("GET", `${PATH}/${quote.id}`)).statusCode).toBe(404);
  expect((await own.call("GET", `${PATH}/no-id`)).statusCode).toBe(404);
});

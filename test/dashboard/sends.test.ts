import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { deposit, good, openStory } from "../offramps/story.ts";
import { signInMember } from "./dashboard-server.ts";

const SENDER = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_SECOND_FACTOR: "optional" } });
  const { database } = server.core;
  await database.query(
    `insert into evm_senders (chain, address, state, state_since)
     values ('polygon', $1, 'sending', $2)`,
    [SENDER, new Date()],
  );
  const hour_ago = new Date(Date.now() - 3_600_000);
  for (const [key, state] of [
    ["refund:of-somebody:1", "queued"],
    ["refund:of-somebody:2", "refused"],
  ]) {
    await database.query(
      `insert into evm_sends (key, chain, sender, action, state, state_since, created_at, problem)
       values ($1, 'polygon', $2, '{}', $3, $4, $4, 'no gas')`,
      [key, SENDER, state, hour_ago],
    );
  }
});
afterAll(() => server.close());

it("the operator's members see what is not final, and the overview counts what is stuck", async () => {
  const { account_id } = server;
  const email = "accountant@example.test";
  const member = await signInMember(server, { account_id, role: "accountant", email });
  const { sends } = (await member.call("GET", "/dashboard/api/sends")).json();
  expect(sends).toMatchObject([
    { id: "refund:of-somebody:1", purpose: "refund", chain: "polygon", problem: "no gas" },
  ]);
  const { waiting } = (await member.call("GET", "/dashboard/api/overview")).json();
  expect(waiting).toContainEqual(expect.objectContaining({ name: "stuck_sends", count: 1 }));
});

it("a refund's transaction shows for whom it is and how much, and the list goes on", async () => {
  const { account_id } = server;
  const { database } = server.core;
  const story = await openStory(server);
  await deposit(server, { quote_id: story.quote_id, amount: 100 });
  const path = `/users/${story.user_id}`;
  const refund_address = { chain: "polygon", address: SENDER };
  good(await server.call("POST", `${path}/refund_addresses`, { refund_address }));
  const refund = { token: "usdc", chain: "polygon", amount: 12.5, address: SENDER };
  const { id } = good(await server.call("POST", `${path}/refunds`, { refund })).refund;
  await database.query(
    `insert into evm_sends (key, chain, sender, action, state, state_since, created_at)
     select case n when 60 then $1 else 'sweep:' || n || ':transfer' end, 'polygon', $2, '{}',
       'queued', $3, $3 from generate_series(1, 60) n`,
    [`refund:${account_id}:${id}`, SENDER, new Date()],
  );
  const email = "operator@example.test";
  const member = await signInMember(server, { account_id, role: "admin", email });
  const first = (await member.call("GET", "/dashboard/api/sends")).json();
  expect(first).toMatchObject({ sends: { length: 50 }, has_more: true });
  const after = `?starting_after=${first.last_number}`;
  const next = (await member.call("GET", `/dashboard/api/sends${after}`)).json();
  expect(next).toMatchObject({ sends: { length: 11 }, has_more: false });
  const { company_name: person } = good(await server.call("GET", path)).user;
  expect(next.sends.at(-1)).toMatchObject({ purpose: "refund", amount: "12.5", token: "usdc" });
  expect(next.sends.at(-1)).toMatchObject({ person, account: "demo" });
  const wrong = await member.call("GET", "/dashboard/api/sends?starting_after=x");
  expect(wrong.json().errors).toMatchObject([{ field: "starting_after" }]);
});

it("members of other accounts see none, and a developer may not look", async () => {
  const { account_id } = await server.addAccount("other");
  const add = (role: "admin" | "developer") =>
    signInMember(server, { account_id, role, email: `${role}@example.test` });
  const other = await (await add("admin")).call("GET", "/dashboard/api/sends");
  expect(other.json().sends).toEqual([]);
  const refused = await (await add("developer")).call("GET", "/dashboard/api/sends");
  expect(refused.statusCode).toBe(403);
});

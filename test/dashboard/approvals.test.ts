import { afterAll, beforeAll, expect, it } from "vitest";
import { addOwedUser, REGISTERED } from "../approvals/proposal-fixture.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { type BrowserMember, signInMember } from "./dashboard-server.ts";

const PATH = "/dashboard/api/approvals";

let server: TestServer;
let maker: BrowserMember;
let checker: BrowserMember;
let accountant: BrowserMember;

beforeAll(async () => {
  server = await startTestServer({
    environment: { SLIPROAD_SECOND_FACTOR: "optional", SLIPROAD_APPROVAL_ABOVE_USD: "100" },
  });
  const { account_id } = server;
  const add = (role: "finance_manager" | "approver" | "accountant") =>
    signInMember(server, { account_id, role, email: `${role}@example.test` });
  maker = await add("finance_manager");
  checker = await add("approver");
  accountant = await add("accountant");
});
afterAll(() => server.close());

async function requestRefund(): Promise<string> {
  const { user_id } = await addOwedUser(server, 500);
  const refund = { token: "usdc", chain: "polygon", amount: 500, address: REGISTERED };
  const answer = await maker.call("POST", `/users/${user_id}/refunds`, { refund });
  return answer.json().proposal.id;
}

async function listOf(member: BrowserMember) {
  return (await member.call("GET", PATH)).json();
}

const vote = (member: BrowserMember, id: string, body: object) =>
  member.call("POST", `${PATH}/${id}/votes`, body);

it("two members confirm exactly what they were shown; who asked may not be the last", async () => {
  const id = await requestRefund();
  const [shown] = (await listOf(checker)).pending;
  expect(shown).toMatchObject({ id, may_vote: true, is_own: false, confirmations: 0 });
  expect(shown).toMatchObject({ amount_usd: "500", proposed_by: maker.email });
  expect(shown.details.map(({ label }: { label: string }) => label)).toContain("To");
  const changed = await vote(checker, id, { verdict: "confirm", digest: "0".repeat(64) });
  expect(changed.statusCode).toBe(422);
  expect(changed.json().message).toMatch(/has changed since/);
  const { digest } = shown;
  expect((await vote(checker, id, { verdict: "confirm", digest })).statusCode).toBe(200);
  const [own] = (await listOf(maker)).pending;
  expect(own).toMatchObject({ is_own: true, has_voted: false, confirmations: 1 });
  expect(own.votes).toMatchObject([{ by: checker.email, verdict: "confirm" }]);
  const last = await vote(maker, id, { verdict: "confirm", digest });
  expect(last.json().message).toMatch(/another member must confirm it last/);
});

it("a rejection needs a reason and ends it; other roles see no details and do not vote", async () => {
  const id = await requestRefund();
  const [seen] = (await listOf(accountant)).pending;
  expect(seen).toMatchObject({ id, may_vote: false, details: null, digest: null });
  expect((await vote(accountant, id, { verdict: "reject", reason: "no" })).statusCode).toBe(403);
  expect((await vote(checker, id, { verdict: "reject" })).statusCode).toBe(422);
  const reason = "not agreed";
  expect((await vote(checker, id, { verdict: "reject", reason })).statusCode).toBe(200);
  const { ended } = await decided();
  expect(ended[0]).toMatchObject({ id, status: "rejected", outcome: reason });
});

const decided = async (after = "") =>
  (await checker.call("GET", `${PATH}/decided?${after}`)).json();

it("what was decided is listed to its end, page by page", async () => {
  const { user_id } = await addOwedUser(server, 6000);
  const refund = { token: "usdc", chain: "polygon", amount: 200, address: REGISTERED };
  const ids: string[] = [];
  for (let count = 0; count < 26; count += 1) {
    const asked = await maker.call("POST", `/users/${user_id}/refunds`, { refund });
    const { id } = asked.json().proposal;
    await vote(checker, id, { verdict: "reject", reason: "once more" });
    ids.unshift(id);
  }
  const first = await decided();
  expect(first.ended).toHaveLength(25);
  const second = await decided(`starting_after=${first.last_id}`);
  const listed = [...first.ended, ...second.ended].map(({ id }: { id: string }) => id);
  expect(listed.slice(0, ids.length)).toEqual(ids);
});

it("a proposal of another account does not exist", async () => {
  const id = await requestRefund();
  const { account_id } = await server.addAccount("other");
  const email = "other@example.test";
  const other = await signInMember(server, { account_id, role: "admin", email });
  expect((await listOf(other)).pending).toEqual([]);
  expect((await vote(other, id, { verdict: "reject", reason: "x" })).statusCode).toBe(404);
});

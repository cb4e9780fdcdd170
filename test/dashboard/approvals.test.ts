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

type Shown = { id: string; is_mine: boolean; details: object[] | null };

async function listOf(member: BrowserMember, query: Record<string, string> = {}) {
  return (await member.call("GET", `${PATH}?${new URLSearchParams(query)}`)).json();
}

const idsOf = (approvals: readonly Shown[]) => approvals.map(({ id }) => id);

const vote = (member: BrowserMember, id: string, body: object) =>
  member.call("POST", `${PATH}/${id}/votes`, body);

it("two members confirm exactly what they were shown; who asked may not be the last", async () => {
  const id = await requestRefund();
  const [shown] = (await listOf(checker)).approvals;
  expect(shown).toMatchObject({ id, may_vote: true, is_own: false, confirmations: 0 });
  expect(shown).toMatchObject({ amount_usd: "500", proposed_by: maker.email });
  expect(shown.details.map(({ label }: { label: string }) => label)).toContain("To");
  const changed = await vote(checker, id, { verdict: "confirm", digest: "0".repeat(64) });
  expect(changed.statusCode).toBe(422);
  expect(changed.json().message).toMatch(/has changed since/);
  const { digest } = shown;
  expect((await vote(checker, id, { verdict: "confirm", digest })).statusCode).toBe(200);
  const [own] = (await listOf(maker)).approvals;
  expect(own).toMatchObject({ is_own: true, has_voted: false, confirmations: 1 });
  expect(own.votes).toMatchObject([{ by: checker.email, verdict: "confirm" }]);
  const last = await vote(maker, id, { verdict: "confirm", digest });
  expect(last.json().message).toMatch(/another member must confirm it last/);
});

it("a rejection needs a reason and ends it; other roles see no details and do not vote", async () => {
  const id = await requestRefund();
  const [seen] = (await listOf(accountant)).approvals;
  expect(seen).toMatchObject({ id, may_vote: false, details: null, digest: null });
  expect((await vote(accountant, id, { verdict: "reject", reason: "no" })).statusCode).toBe(403);
  expect((await vote(checker, id, { verdict: "reject" })).statusCode).toBe(422);
  const reason = "not agreed";
  expect((await vote(checker, id, { verdict: "reject", reason })).statusCode).toBe(200);
  const [rejected] = (await listOf(checker, { list: "decided" })).approvals;
  expect(rejected).toMatchObject({ id, status: "rejected", outcome: reason, is_mine: false });
  expect(rejected.details.map(({ label }: { label: string }) => label)).toContain("To");
  const [ended] = (await listOf(accountant, { list: "decided" })).approvals;
  expect(ended).toMatchObject({ id, details: null });
});

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
  const first = await listOf(checker, { list: "decided" });
  expect(first.approvals).toHaveLength(25);
  const after = { list: "decided", starting_after: first.last_id };
  const second = await listOf(checker, after);
  const listed = idsOf([...first.approvals, ...second.approvals]);
  expect(listed.slice(0, ids.length)).toEqual(ids);
});

it("what waits for a member is found behind pages of what does not, and by who asked", async () => {
  const mine = await requestRefund();
  const { user_id } = await addOwedUser(server, 6000);
  const refund = { token: "usdc", chain: "polygon", amount: 200, address: REGISTERED };
  for (let count = 0; count < 26; count += 1) {
    const asked = await server.call("POST", `/users/${user_id}/refunds`, { refund });
    const { id, digest } = (await listOf(checker)).approvals[0];
    expect(id).toBe(asked.body.proposal.id);
    await vote(checker, id, { verdict: "confirm", digest });
  }
  const first = await listOf(checker, { list: "waiting" });
  expect(idsOf(first.approvals)).not.toContain(mine);
  expect(first.approvals.some(({ is_mine }: Shown) => is_mine)).toBe(false);
  const { approvals, proposers } = await listOf(checker, { list: "mine" });
  expect(idsOf(approvals)).toContain(mine);
  expect(approvals.every(({ is_mine }: Shown) => is_mine)).toBe(true);
  expect(proposers).toEqual([
    { proposed_by: `member:${maker.person_id}`, name: maker.email, count: approvals.length },
  ]);
  const by = `member:${maker.person_id}`;
  const asked = await listOf(checker, { list: "waiting", by });
  expect(idsOf(asked.approvals)).toContain(mine);
  expect(asked.approvals.every(({ is_own }: { is_own: boolean }) => !is_own)).toBe(true);
  expect(asked.proposers.map(({ count }: { count: number }) => count)).toContain(26);
  expect((await listOf(accountant, { list: "mine" })).approvals).toEqual([]);
  const odd = await checker.call("GET", `${PATH}?by=%00`);
  expect(odd.statusCode).toBe(422);
});

it("who asked may confirm first, and has nothing more to do once somebody has", async () => {
  const id = await requestRefund();
  expect(idsOf((await listOf(maker, { list: "mine" })).approvals)).toContain(id);
  const { digest } = (await listOf(checker, { list: "mine" })).approvals[0];
  await vote(checker, id, { verdict: "confirm", digest });
  for (const member of [maker, checker]) {
    const { approvals } = await listOf(member, { list: "mine" });
    expect(idsOf(approvals)).not.toContain(id);
    const all = await listOf(member);
    expect(all.approvals.find((one: Shown) => one.id === id).is_mine).toBe(false);
  }
});

it("a proposal of another account does not exist", async () => {
  const id = await requestRefund();
  const { account_id } = await server.addAccount("other");
  const email = "other@example.test";
  const other = await signInMember(server, { account_id, role: "admin", email });
  expect((await listOf(other)).approvals).toEqual([]);
  expect((await vote(other, id, { verdict: "reject", reason: "x" })).statusCode).toBe(404);
});

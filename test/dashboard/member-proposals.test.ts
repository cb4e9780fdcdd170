import { afterAll, beforeAll, expect, it } from "vitest";
import {
  addMember,
  addOwedUser,
  REGISTERED,
  showProposal,
  type TestMember,
  waitForEnd,
} from "../approvals/proposal-fixture.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";

let server: TestServer;
let ann: TestMember;
let bob: TestMember;
let eve: TestMember;

beforeAll(async () => {
  server = await startTestServer({
    environment: { SLIPROAD_SECOND_FACTOR: "optional", SLIPROAD_APPROVAL_ABOVE_USD: "100" },
  });
  ann = await addMember(server, "finance_manager");
  bob = await addMember(server, "finance_manager");
  eve = await addMember(server, "approver");
});

afterAll(() => server.close());

/** A refund of 500 USDC that this member requests in the dashboard. */
async function requestRefund({ visitor }: TestMember): Promise<string> {
  const { user_id } = await addOwedUser(server, 500);
  const answer = await server.app.server.inject({
    method: "POST",
    url: `/users/${user_id}/refunds`,
    cookies: Object.fromEntries(visitor.cookies),
    headers: { "x-csrf-token": visitor.csrf },
    payload: { refund: { token: "usdc", chain: "polygon", amount: 500, address: REGISTERED } },
  });
  return answer.json().proposal.id;
}

it("what a member requests in the dashboard needs two members, and the request is no vote", async () => {
  const id = await requestRefund(ann);
  expect(await showProposal(server, id)).toMatchObject({ status: "pending", confirmations: 0 });
  await bob.confirm(id);
  expect((await showProposal(server, id)).status).toBe("pending");
  await eve.confirm(id);
  expect((await waitForEnd(server, id)).status).toBe("done");
});

it("who requested it may vote, but never last", async () => {
  const id = await requestRefund(ann);
  await bob.confirm(id);
  expect((await ann.confirm(id)).body).toContain("another member");
  expect((await showProposal(server, id)).status).toBe("pending");
  await eve.confirm(id);
  expect((await waitForEnd(server, id)).status).toBe("done");
});

it("a vote does not count when its session has ended before it is recorded", async () => {
  const id = await requestRefund(ann);
  const { database } = server.core;
  const call = ({ visitor }: TestMember, method: "GET" | "POST", url: string, payload?: object) =>
    server.app.server.inject({
      ...{ method, url, cookies: Object.fromEntries(visitor.cookies) },
      headers: { "x-csrf-token": visitor.csrf },
      ...(payload ? { payload } : {}),
    });
  const { approvals } = (await call(eve, "GET", "/dashboard/api/approvals")).json();
  const { digest } = approvals.find((one: { id: string }) => one.id === id);
  const votes = await database.transaction(async (tx) => {
    await tx.query("select from proposals where id = $1 for update", [id]);
    const path = `/dashboard/api/approvals/${id}/votes`;
    const voting = call(eve, "POST", path, { verdict: "confirm", digest });
    await waitFor(async () => {
      const waiting = await database.query(
        `select from pg_stat_activity where datname = current_database()
           and wait_event_type = 'Lock' and query like '%proposals%'`,
      );
      return waiting.length > 0;
    });
    await database.query("delete from sessions where person_id = $1", [eve.person_id]);
    return [voting];
  });
  expect((await votes[0]!).statusCode).toBe(401);
  expect((await showProposal(server, id)).confirmations).toBe(0);
});

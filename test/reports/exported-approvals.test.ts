import { afterAll, beforeAll, expect, it } from "vitest";
import { MINUTE_MS } from "../../src/platform/durations.ts";
import {
  addMember,
  addOwedUser,
  proposalIn,
  STRANGE,
  type TestMember,
  waitForEnd,
} from "../approvals/proposal-fixture.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { advance, good } from "../offramps/story.ts";

let server: TestServer;
let first: TestMember;
let second: TestMember;
beforeAll(async () => {
  server = await startTestServer();
  first = await addMember(server, "approver");
  second = await addMember(server, "finance_manager");
});
afterAll(() => server.close());

it("an export of approvals has what was asked, by whom, its outcome, and every vote", async () => {
  const from = server.core.clock.now();
  const user = await addOwedUser(server, 100);
  const paid = proposalIn(await user.refund(60, STRANGE));
  await first.confirm(paid.id);
  await second.confirm(paid.id);
  expect((await waitForEnd(server, paid.id)).status).toBe("done");
  const refused = proposalIn(await user.refund(30, STRANGE));
  await first.reject(refused.id);
  await advance(server, 2 * MINUTE_MS);
  const to = new Date(server.core.clock.now().getTime() - MINUTE_MS);

  const period = { from: from.toISOString(), to: to.toISOString() };
  const created = good(
    await server.call("POST", "/exports", {
      export: { kind: "approvals", format: "jsonl", ...period },
    }),
  );
  const path = `/exports/${created.export.id}`;
  await waitFor(async () => good(await server.call("GET", path)).export.status === "ready");
  const headers = { authorization: `Bearer ${server.key}`, accept: "application/jsonl" };
  const text = await (await fetch(`${server.url}${path}/file`, { headers })).text();
  const rows = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const vote = (verdict: string, { person_id }: TestMember) =>
    `${verdict} by member:${person_id} at \\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z`;
  expect(rows).toMatchObject([
    {
      proposal_id: paid.id,
      kind: "refund-balances",
      amount_usd: "60.00",
      proposed_by: expect.stringMatching(/^api_key:/),
      status: "done",
      votes: expect.stringMatching(`^${vote("confirm", first)}; ${vote("confirm", second)}$`),
    },
    {
      proposal_id: refused.id,
      amount_usd: "30.00",
      status: "rejected",
      votes: expect.stringMatching(`^${vote("reject", first)}$`),
    },
  ]);
  expect(text).not.toContain(STRANGE);
});

import { afterAll, beforeAll, expect, it } from "vitest";
import { txId } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { findFault, good, openStory, settle } from "./story.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
});
afterAll(() => server.close());

it("eight concurrent removals and executions: an executed offramp is paid in full, the rest are removed", async () => {
  const items = Array.from({ length: 5 }, () => ({ amount: 100 }));
  const story = await openStory(server, items);
  const path = `/users/${story.user_id}/quotes/${story.quote_id}`;
  const [, ...removed] = story.offramp_ids;
  const answers = await Promise.all(
    removed.flatMap((id) => [
      server.call("DELETE", `${path}/offramps/${id}`),
      story.execute(txId("one transfer")),
    ]),
  );
  const removals = answers.filter((_, index) => index % 2 === 0);
  const executions = answers.filter((_, index) => index % 2 === 1);
  expect(executions.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  for (const { status, body } of removals) {
    expect([200, 422]).toContain(status);
    if (status === 422) expect(body.error_code).toBe("quote_already_executed");
  }
  await settle(server);
  const gone = removals.filter(({ status }) => status === 200).length;
  const { quote, offramps } = good(await server.call("GET", path));
  expect(offramps).toHaveLength(5 - gone);
  for (const { status } of offramps) expect(status).toBe("fiat_sent");
  expect(quote.deposit_token_amount).toBeGreaterThan(0);
  expect(await story.owed()).toBe(0);
  expect(await findFault(server)).toBeNull();
});

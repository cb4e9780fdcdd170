import { afterAll, beforeAll, expect, it } from "vitest";
import { HOUR_MS } from "../../src/platform/durations.ts";
import { createTestRates } from "../harness/rates.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { advance, findFault, good, openStory, settle } from "./story.ts";

const rates = createTestRates({ eur: "0.8" });

let server: TestServer;
beforeAll(async () => {
  const settings = { SLIPROAD_APPROVAL_ABOVE_USD: "250", SLIPROAD_RATE_HOLD_HOURS: "3" };
  server = await startTestServer({ environment: { ...rates.environment, ...settings } });
});
afterAll(() => server.close());

it("a payout whose document comes while a proposal keeps its rate is paid", async () => {
  // 243.75 usd, and 253.25 usd at the second rate: a refund then needs approval.
  const story = await openStory(server, [{ amount: 195 }]);
  good(await story.execute());
  await settle(server);
  await story.waitForStatus("ongoing_checks");
  await advance(server, 2 * HOUR_MS);
  await rates.set(server, { eur: "0.77" });
  expect(good(await story.giveUp()).proposal.status).toBe("pending");
  await rates.set(server, { eur: "0.8" });
  await advance(server, 2 * HOUR_MS);
  expect((await story.show()).status).toBe("ongoing_checks");
  await story.upload();
  await advance(server, 2 * HOUR_MS);
  expect((await story.show()).status).toBe("fiat_sent");
  expect(await findFault(server)).toBeNull();
});

import { afterAll, beforeAll, expect, it } from "vitest";
import { HOUR_MS } from "../../src/platform/durations.ts";
import { createTestRates } from "../harness/rates.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import {
  advance,
  EXPIRY_MS,
  expectRefusal,
  findFault,
  GRACE_MS,
  good,
  openStory,
  settle,
} from "./story.ts";

const RATE = "0.8";
/** More than 5 % off: quotes in eur stop until the operator confirms it. */
const STOPPED = "0.9";
const rates = createTestRates({ eur: RATE });

let server: TestServer;
beforeAll(async () => {
  const hours = { SLIPROAD_RATE_HOLD_HOURS: "3", SLIPROAD_REROUTE_HOURS: "3" };
  server = await startTestServer({ environment: { ...rates.environment, ...hours } });
});
afterAll(() => server.close());

it("what came back waits while its rate is stopped, and is given back once there is one", async () => {
  const story = await openStory(server, [
    { amount: 200, metadata: { sandbox_outcome: "bounced" } },
  ]);
  good(await story.execute());
  await story.upload();
  await story.waitForStatus("bounced");
  await rates.set(server, { eur: STOPPED });
  expectRefusal(await story.giveUp(), "currency_not_supported");
  await advance(server, 4 * HOUR_MS);
  expect([(await story.show()).status, await story.owed()]).toEqual(["bounced", 0]);
  await rates.set(server, { eur: RATE });
  await advance(server, HOUR_MS);
  expect((await story.show()).status).toBe("failed");
  // 200 eur / 0.8: the fee stays earned.
  expect(await story.owed()).toBe(250);
});

it("a document that comes late does not let a payout proceed while its rate is stopped", async () => {
  const story = await openStory(server, [{ amount: 200 }]);
  good(await story.execute());
  await settle(server);
  await story.waitForStatus("ongoing_checks");
  await advance(server, EXPIRY_MS + GRACE_MS);
  await rates.set(server, { eur: STOPPED });
  await story.upload();
  expect(await story.show()).toMatchObject({
    status: "ongoing_checks",
    status_message: "There is no current rate for eur. The operator is notified.",
  });
  // Only the operator can act: this time does not count.
  await advance(server, 4 * HOUR_MS);
  expect((await story.show()).status).toBe("ongoing_checks");
  await rates.set(server, { eur: RATE });
  await advance(server, HOUR_MS);
  expect((await story.show()).status).toBe("fiat_sent");
});

it("sliproad verify finds no problems after these tests", async () => {
  expect(await findFault(server)).toBeNull();
});

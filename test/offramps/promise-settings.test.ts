import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createSandboxChain } from "../../src/partners/chain/sandbox.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/platform/durations.ts";
import { createTestRates } from "../harness/rates.ts";
import { createScriptedBank, type ScriptedBank } from "../harness/scripted-bank.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import {
  advance,
  deposit,
  EXPIRY_MS,
  findFault,
  GRACE_MS,
  good,
  openStory,
  type Story,
  settle,
} from "./story.ts";

const rates = createTestRates({ eur: "0.8" });
// 2000 eur cost (2000 + 8) / 0.8 usdc; a tenth of the fees is 1 usdc.
const AMOUNT = 2000;
const TOTAL = 2510;
const SETTINGS = {
  SLIPROAD_DEPOSIT_TOLERANCE: "0.5",
  SLIPROAD_DEPOSIT_IN_TIME_PERCENT: "50",
  SLIPROAD_RATE_SLIPPAGE_BASIS_POINTS: "500",
  SLIPROAD_RETURN_COST_MAX_BASIS_POINTS: "1000",
  SLIPROAD_RETURN_COST_MAX_USD: "5",
};

let server: TestServer;
let bank: ScriptedBank;
beforeAll(async () => {
  bank = createScriptedBank();
  server = await startTestServer({
    environment: { ...rates.environment, ...SETTINGS },
    partners: (core) => ({ chain: createSandboxChain(core), bank: bank.port }),
  });
});
afterAll(() => server.close());
// In two steps: more than 5 % at once would be held.
beforeEach(async () => {
  for (const eur of ["0.78", "0.8"]) await rates.set(server, { eur });
});

/** An executed quote to which this amount was sent. */
async function openExecuted(amount: number): Promise<Story> {
  const story = await openStory(server, [{ amount: AMOUNT }]);
  expect(await story.total()).toBe(TOTAL);
  await deposit(server, { quote_id: story.quote_id, amount });
  good(await story.execute());
  await settle(server);
  return story;
}

describe("what an operator sets differently", () => {
  it("SLIPROAD_DEPOSIT_TOLERANCE: how much a deposit may be short", async () => {
    const within = await openExecuted(TOTAL - 0.5);
    await within.upload();
    expect((await within.show()).status).toBe("fiat_sent");
    const beyond = await openExecuted(TOTAL - 0.500001);
    await beyond.upload();
    expect((await beyond.show()).status_message).toContain("short by 0.500001 usdc");
  });

  it("SLIPROAD_DEPOSIT_IN_TIME_PERCENT: how much must arrive before the expiry", async () => {
    const enough = await openExecuted(TOTAL / 2);
    const less = await openExecuted(TOTAL / 2 - 1);
    for (const story of [enough, less]) await story.upload();
    await advance(server, EXPIRY_MS + MINUTE_MS);
    await deposit(server, { quote_id: enough.quote_id, amount: TOTAL / 2 });
    await deposit(server, { quote_id: less.quote_id, amount: TOTAL / 2 + 1 });
    expect((await enough.show()).status).toBe("fiat_sent");
    await advance(server, GRACE_MS);
    expect((await less.show()).status).toBe("failed");
    expect(await less.owed()).toBe(TOTAL);
  });

  it("SLIPROAD_RATE_SLIPPAGE_BASIS_POINTS: how much worse the rate may be for a late document", async () => {
    const within = await openExecuted(TOTAL);
    const beyond = await openExecuted(TOTAL);
    await advance(server, EXPIRY_MS + GRACE_MS + MINUTE_MS);
    await rates.set(server, { eur: "0.76" });
    await within.upload();
    expect((await within.show()).status).toBe("fiat_sent");
    await rates.set(server, { eur: "0.7599" });
    await beyond.upload();
    expect((await beyond.show()).status).toBe("failed");
    expect(await beyond.owed()).toBe(TOTAL);
  });

  it("SLIPROAD_RETURN_COST_MAX_USD: how much a bank may keep, where it is less than the share", async () => {
    const openReturned = async (amount: bigint) => {
      const story = await openExecuted(TOTAL);
      await story.upload();
      await story.waitForStatus("fiat_sent");
      bank.say(`${story.offramp_id.replaceAll("-", "")}001`, "returned", { amount });
      await advance(server, 2_000);
      await story.waitForStatus("bounced");
      return story;
    };
    // 4 eur are 5 usd.
    const within = await openReturned(1996_00n);
    expect(good(await within.reroute()).offramp.status).toBe("sending_fiat");
    const beyond = await openReturned(1995_99n);
    expect(good(await beyond.reroute()).proposal.status).toBe("pending");
  });

  it("and sliproad verify finds no problems", async () => {
    await advance(server, HOUR_MS);
    expect(await findFault(server)).toBeNull();
  });
});

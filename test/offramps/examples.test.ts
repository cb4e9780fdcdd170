import { afterEach, beforeEach, expect, it } from "vitest";
import { createSandboxChain } from "../../src/partners/chain/sandbox.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/platform/durations.ts";
import { createTestRates } from "../harness/rates.ts";
import { createScriptedBank, type ScriptedBank } from "../harness/scripted-bank.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import {
  advance,
  deposit,
  EXPIRY_MS,
  expectRefusal,
  findFault,
  GRACE_MS,
  good,
  ledgerBalance,
  openStory,
  type Story,
  settle,
} from "./story.ts";

/**
 * Examples worked out by hand. Every one starts with a payout of 200 eur at a rate of 0.8 eur for
 * one usdc. The fee is 40 basis points of 200 = 0.80 eur, so the quote costs
 * (200 + 0.80) / 0.8 = 251 usdc, of which 0.80 / 0.8 = 1 usdc is the fee.
 */
const rates = createTestRates({ eur: "0.8" });
const TOTAL = 251;

let server: TestServer;
let bank: ScriptedBank;
// Each its own: what other tests left waiting would take turns whenever time is moved.
beforeEach(async () => {
  bank = createScriptedBank();
  server = await startTestServer({
    environment: rates.environment,
    partners: (core) => ({ chain: createSandboxChain(core), bank: bank.port }),
  });
});
afterEach(() => server.close());

const setRate = (eur: string) => rates.set(server, { eur });

async function execute(story: Story): Promise<void> {
  good(await story.execute());
  await settle(server);
}

async function pay(story: Story, amount: number): Promise<void> {
  await deposit(server, { quote_id: story.quote_id, amount });
  await execute(story);
}

async function paid(story: Story): Promise<void> {
  await pay(story, TOTAL);
  await story.upload();
  await story.waitForStatus("fiat_sent");
}

async function returned(story: Story, cents: bigint, attempt = 1): Promise<void> {
  const id = `${story.offramp_id.replaceAll("-", "")}00${attempt}`;
  bank.say(id, "returned", { amount: cents });
  await advance(server, 2_000);
  await story.waitForStatus("bounced");
}

type Example = {
  name: string;
  play: (story: Story) => Promise<void>;
  status: string;
  /** What the user holds afterwards, in usdc. */
  owed: number;
  /** What we kept, in cents of eur and millionths of usdc. */
  fees: bigint;
  return_costs: bigint;
  short_deposits: bigint;
};

const EXAMPLES: readonly Example[] = [
  {
    // 120 eur came back. At 0.82, the rate of the moment: 120 / 0.82 = 146.341463 (rounded down).
    name: "partial return, then a refund when eur is cheaper: the rate of the moment",
    play: async (story) => {
      await paid(story);
      await returned(story, 120_00n);
      await setRate("0.82");
      good(await story.giveUp());
    },
    status: "failed",
    owed: 146.341463,
    fees: 80n,
    return_costs: 0n,
    short_deposits: 0n,
  },
  {
    // At 0.78, 120 eur would be 153.846153 usdc; never better than the quote's: 120 / 0.8 = 150.
    name: "partial return, then a refund when eur is dearer: the rate of the quote",
    play: async (story) => {
      await paid(story);
      await returned(story, 120_00n);
      await setRate("0.78");
      good(await story.giveUp());
    },
    status: "failed",
    owed: 150,
    fees: 80n,
    return_costs: 0n,
    short_deposits: 0n,
  },
  {
    // 198.50 came back; 200 are paid again; 1.50 is our cost (below 1 % = 2 eur). No new fee.
    name: "bounce, then a re-route in full",
    play: async (story) => {
      await paid(story);
      await returned(story, 198_50n);
      good(await story.reroute());
      await story.waitForStatus("fiat_sent");
    },
    status: "fiat_sent",
    owed: 0,
    fees: 80n,
    return_costs: 150n,
    short_deposits: 0n,
  },
  {
    // Nobody re-routes for 72 h: it fails by itself. 200 / 0.8 = 250; the fee of 1 usdc is earned.
    name: "bounce, and no re-route within 72 hours",
    play: async (story) => {
      await paid(story);
      await returned(story, 200_00n);
      await advance(server, 72 * HOUR_MS + MINUTE_MS);
      expectRefusal(await story.reroute(), "invalid_transition");
    },
    status: "failed",
    owed: 250,
    fees: 80n,
    return_costs: 0n,
    short_deposits: 0n,
  },
  {
    // 95 % of 251 = 238.45 before the expiry, 12.55 within the hour after it. The rate is kept.
    name: "short, and topped up within the hour after the expiry",
    play: async (story) => {
      await pay(story, 238.45);
      await setRate("0.82");
      await advance(server, EXPIRY_MS);
      await deposit(server, { quote_id: story.quote_id, amount: 12.55 });
      await story.upload();
      await story.waitForStatus("fiat_sent");
    },
    status: "fiat_sent",
    owed: 0,
    fees: 80n,
    return_costs: 0n,
    short_deposits: 0n,
  },
  {
    // 250 came and nothing more: all of it stays owed, nothing is earned.
    name: "short by the fee, and never topped up",
    play: async (story) => {
      await pay(story, 250);
      await advance(server, EXPIRY_MS + GRACE_MS + MINUTE_MS);
    },
    status: "failed",
    owed: 250,
    fees: 0n,
    return_costs: 0n,
    short_deposits: 0n,
  },
  {
    // 0.01 came in time, the rest a minute after the expiry: below 95 % in time, so all stays owed.
    name: "late",
    play: async (story) => {
      await pay(story, 0.01);
      await advance(server, EXPIRY_MS + MINUTE_MS);
      await deposit(server, { quote_id: story.quote_id, amount: 250.99 });
      await advance(server, GRACE_MS);
    },
    status: "failed",
    owed: 251,
    fees: 0n,
    return_costs: 0n,
    short_deposits: 0n,
  },
  {
    // 250.99 count as 251. The payout fails without money having left: 251 - 0.01 = 250.99.
    name: "short within the tolerance, then the bank rejects the payout",
    play: async (story) => {
      bank.manner = "is_silent";
      await pay(story, 250.99);
      await story.upload();
      await story.waitForStatus("sending_fiat");
      await settle(server);
      bank.manner = "pays";
      bank.say(`${story.offramp_id.replaceAll("-", "")}001`, "rejected");
      await advance(server, 2_000);
      await story.waitForStatus("failed");
    },
    status: "failed",
    owed: 250.99,
    fees: 0n,
    return_costs: 0n,
    short_deposits: 0n,
  },
  {
    // 250.99 count as 251, and the payout is paid: 0.01 usdc stays short.
    name: "short within the tolerance, and paid: an accepted difference",
    play: async (story) => {
      await pay(story, 250.99);
      await story.upload();
      await story.waitForStatus("fiat_sent");
    },
    status: "fiat_sent",
    owed: 0,
    fees: 80n,
    return_costs: 0n,
    short_deposits: 10_000n,
  },
  {
    // 300 in the balance pay 251 of a second quote at its own rate; 49 stay.
    name: "fund from the balance",
    play: async (story) => {
      const other = await story.addQuote();
      await deposit(server, { quote_id: other, amount: 300 });
      good(await story.fund(story.quote_id));
      await settle(server);
      await story.upload();
      await story.waitForStatus("fiat_sent");
    },
    status: "fiat_sent",
    owed: 49,
    fees: 80n,
    return_costs: 0n,
    short_deposits: 0n,
  },
  {
    // The document comes after the expiry + 1 h. 0.8 x 0.995 = 0.796: at 0.797 it is still paid.
    name: "a withheld document, and the rate 0.4 % worse for us: paid",
    play: async (story) => {
      await pay(story, TOTAL);
      await advance(server, EXPIRY_MS + GRACE_MS + MINUTE_MS);
      await setRate("0.797");
      await story.upload();
      await story.waitForStatus("fiat_sent");
    },
    status: "fiat_sent",
    owed: 0,
    fees: 80n,
    return_costs: 0n,
    short_deposits: 0n,
  },
  {
    // At 0.795, below 0.796, the promise is over: it fails, and the 251 usdc are owed again.
    name: "a withheld document, and the rate 0.6 % worse for us: failed",
    play: async (story) => {
      await pay(story, TOTAL);
      await advance(server, EXPIRY_MS + GRACE_MS + MINUTE_MS);
      await setRate("0.795");
      await story.upload();
      await story.waitForStatus("failed");
    },
    status: "failed",
    owed: 251,
    fees: 0n,
    return_costs: 0n,
    short_deposits: 0n,
  },
  {
    // No document for 72 h from funding: it fails by itself, fee included.
    name: "a document withheld for 72 hours",
    play: async (story) => {
      await pay(story, TOTAL);
      await advance(server, 71 * HOUR_MS);
      await story.waitForStatus("ongoing_checks");
      await advance(server, HOUR_MS + MINUTE_MS);
    },
    status: "failed",
    owed: 251,
    fees: 0n,
    return_costs: 0n,
    short_deposits: 0n,
  },
];

it.each(EXAMPLES)("$name", async ({ name: _, play, status, owed, ...kept }) => {
  await setRate("0.8");
  const read = async () => ({
    fees: -(await ledgerBalance(server, "fees", "eur")),
    return_costs: await ledgerBalance(server, "return_costs", "eur"),
    short_deposits: await ledgerBalance(server, "short_deposits", "usdc"),
  });
  const before = await read();
  const story = await openStory(server, [{ amount: 200 }]);
  expect(await story.total()).toBe(TOTAL);
  await play(story);
  await settle(server);
  expect((await story.show()).status).toBe(status);
  expect(await story.owed()).toBe(owed);
  const after = await read();
  expect({
    fees: after.fees - before.fees,
    return_costs: after.return_costs - before.return_costs,
    short_deposits: after.short_deposits - before.short_deposits,
  }).toEqual(kept);
  expect(await findFault(server)).toBeNull();
});

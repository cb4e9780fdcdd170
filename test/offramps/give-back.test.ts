import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createSandboxChain } from "../../src/partners/chain/sandbox.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/platform/durations.ts";
import { addQuote } from "../harness/ramp.ts";
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

// 200 eur cost (200 + 0.80) / 0.8 = 251 usdc; the fee is 1 usdc of it.
const rates = createTestRates({ eur: "0.8" });
const TOTAL = 251;

let server: TestServer;
let bank: ScriptedBank;
// Each its own: what other tests left waiting would take turns whenever time is moved.
beforeEach(async () => {
  bank = createScriptedBank();
  server = await startTestServer({
    environment: { ...rates.environment, SLIPROAD_QUOTES_OPEN_MAX: "20" },
    partners: (core) => ({ chain: createSandboxChain(core), bank: bank.port }),
  });
});
afterEach(() => server.close());
afterEach(async () => expect(await findFault(server)).toBeNull());

/** A quote with payouts of 200 eur each, paid with this amount; they wait for their documents. */
async function openPaid(amount: number, count = 1): Promise<Story> {
  const story = await openStory(server, Array(count).fill({ amount: 200 }));
  expect(await story.total()).toBe(TOTAL * count);
  await deposit(server, { quote_id: story.quote_id, amount });
  good(await story.execute());
  await settle(server);
  for (const id of story.offramp_ids) await story.waitForStatus("ongoing_checks", id);
  return story;
}

describe("a deposit that is short", () => {
  it("by less than the tolerance: what was short is deducted once from what is given back", async () => {
    const story = await openPaid(2 * TOTAL - 0.01, 2);
    const before = await ledgerBalance(server, "short_deposits", "usdc");
    good(await story.giveUp(story.offramp_ids[0]));
    expect(await story.owed()).toBe(TOTAL - 0.01);
    good(await story.giveUp(story.offramp_ids[1]));
    expect(await story.owed()).toBe(2 * TOTAL - 0.01);
    expect((await ledgerBalance(server, "short_deposits", "usdc")) - before).toBe(-10_000n);
  });

  it("by its fee: it is not funded, ends an hour after the expiry, and what came is owed", async () => {
    const story = await openPaid(TOTAL - 1);
    expect((await story.show()).status_message).toContain("short by 1 usdc");
    await advance(server, EXPIRY_MS + GRACE_MS + MINUTE_MS);
    expect((await story.show()).status).toBe("failed");
    expect(await story.owed()).toBe(TOTAL - 1);
  });

  it("by nearly everything: it keeps no rate after the expiry, whatever is sent then", async () => {
    const story = await openPaid(0.000001);
    await advance(server, EXPIRY_MS + MINUTE_MS);
    await deposit(server, { quote_id: story.quote_id, amount: TOTAL });
    expect((await story.show()).status).toBe("ongoing_checks");
    await advance(server, GRACE_MS);
    expect((await story.show()).status).toBe("failed");
    expect(await story.owed()).toBe(TOTAL + 0.000001);
  });

  it("by 5 % is topped up within the hour after the expiry", async () => {
    const story = await openPaid(TOTAL * 0.95);
    await advance(server, EXPIRY_MS + GRACE_MS - 5 * MINUTE_MS);
    await deposit(server, { quote_id: story.quote_id, amount: TOTAL * 0.05 });
    expect((await story.show()).status_message).toContain("supporting document");
    expect(await story.owed()).toBe(0);
  });

  it("by half: after the expiry no offramp is given up to have the other at the old rate", async () => {
    // 2 × 251 = 502 are needed, 251 came in time: enough for one of them, if the other goes.
    const early = await openPaid(TOTAL, 2);
    good(await early.giveUp(early.offramp_ids[1]));
    await settle(server);
    expect((await early.show()).status_message).toContain("supporting document");
    const late = await openPaid(TOTAL, 2);
    await advance(server, EXPIRY_MS + MINUTE_MS);
    for (const id of late.offramp_ids) expectRefusal(await late.giveUp(id), "quote_expired");
    await advance(server, GRACE_MS);
    for (const id of late.offramp_ids) expect((await late.show(id)).status).toBe("failed");
    expect(await late.owed()).toBe(TOTAL);
    await late.takeOut(TOTAL);
  });

  it("coins that had left before the execution do not count as if they had come in time", async () => {
    const story = await openStory(server, [{ amount: 200 }]);
    await deposit(server, { quote_id: story.quote_id, amount: TOTAL });
    await story.takeOut(TOTAL);
    good(await story.execute());
    await advance(server, EXPIRY_MS + MINUTE_MS);
    await deposit(server, { quote_id: story.quote_id, amount: TOTAL });
    await advance(server, GRACE_MS);
    expect((await story.show()).status).toBe("failed");
    expect(await story.owed()).toBe(TOTAL);
  });

  it("coins that had left do not count again once late coins are in the balance", async () => {
    const story = await openStory(server, [{ amount: 200 }]);
    await deposit(server, { quote_id: story.quote_id, amount: TOTAL });
    await story.takeOut(TOTAL);
    good(await story.execute());
    await advance(server, EXPIRY_MS + MINUTE_MS);
    const quote_id = await addQuote(server, story.user_id);
    await deposit(server, { quote_id, amount: TOTAL });
    await deposit(server, { quote_id: story.quote_id, amount: 4 });
    await advance(server, GRACE_MS);
    expect((await story.show()).status).toBe("failed");
    expect(await story.owed()).toBe(TOTAL + 4);
  });
});

describe("a returned payout", () => {
  const idOf = ({ offramp_id }: Story, attempt: number) =>
    `${offramp_id.replaceAll("-", "")}00${attempt}`;

  async function openReturned(amount: bigint): Promise<Story> {
    const story = await openPaid(TOTAL);
    await story.upload();
    await story.waitForStatus("fiat_sent");
    bank.say(idOf(story, 1), "returned", { amount, reasons: [{ code: "R02", text: null }] });
    await advance(server, 2_000);
    await story.waitForStatus("bounced");
    return story;
  }

  it("says why it came back and what to do, as far as the bank gave a reason", async () => {
    const story = await openReturned(200_00n);
    expect((await story.show()).status_message).toBe(
      "The bank returned the payment because the account is closed. " +
        "Re-route it to another payment detail, or refund it.",
    );
    good(await story.reroute());
    await story.waitForStatus("fiat_sent");
    bank.say(idOf(story, 2), "returned");
    await advance(server, 2_000);
    expect((await story.waitForStatus("bounced")).status_message).toBe(
      "The bank returned the payment. Re-route it to another payment detail, or refund it.",
    );
  });

  it("of one cent gives back one cent, and the fee stays earned", async () => {
    const story = await openReturned(1n);
    const fees = await ledgerBalance(server, "fees", "eur");
    good(await story.giveUp());
    // 0.01 eur / 0.8
    expect(await story.owed()).toBe(0.0125);
    expect(await ledgerBalance(server, "fees", "eur")).toBe(fees);
  });

  it("re-routed in full: what the bank kept is a cost of ours, and not given back later", async () => {
    const story = await openReturned(199_00n);
    const costs = await ledgerBalance(server, "return_costs", "eur");
    good(await story.reroute());
    await story.waitForStatus("fiat_sent");
    expect((await ledgerBalance(server, "return_costs", "eur")) - costs).toBe(1_00n);
    bank.say(idOf(story, 2), "returned", { amount: 198_00n });
    await advance(server, 2_000);
    good(await story.giveUp());
    // 198 eur / 0.8
    expect(await story.owed()).toBe(247.5);
    expect((await ledgerBalance(server, "return_costs", "eur")) - costs).toBe(1_00n);
  });

  it("of which the bank kept more than 1 %: a re-route needs two members", async () => {
    const story = await openReturned(197_99n);
    const { proposal } = good(await story.reroute());
    expect(proposal.status).toBe("pending");
    // The open proposal stops the time.
    await advance(server, 71 * HOUR_MS);
    expect((await story.show()).status).toBe("bounced");
  });

  it("re-routed three times: the fourth needs two members", async () => {
    const story = await openReturned(200_00n);
    for (const attempt of [2, 3, 4]) {
      good(await story.reroute());
      await story.waitForStatus("fiat_sent");
      bank.say(idOf(story, attempt), "returned");
      await advance(server, 2_000);
      await story.waitForStatus("bounced");
    }
    expect(good(await story.reroute()).proposal.status).toBe("pending");
  });

  it("rejected after a re-route: the user gets what came back, and the cost is reversed", async () => {
    const story = await openReturned(199_00n);
    const costs = await ledgerBalance(server, "return_costs", "eur");
    bank.manner = "is_silent";
    good(await story.reroute());
    await settle(server);
    bank.manner = "pays";
    bank.say(idOf(story, 2), "rejected", { reasons: [{ code: "BE01", text: null }] });
    await advance(server, 2_000);
    expect((await story.waitForStatus("failed")).status_message).toBe(
      "The bank rejected the payment because the name does not belong to the account. " +
        "Its money was credited to the user's balance.",
    );
    // 199 eur / 0.8
    expect(await story.owed()).toBe(248.75);
    expect(await ledgerBalance(server, "return_costs", "eur")).toBe(costs);
  });
});

describe("open quotes", () => {
  it("a user has at most 20 of them, however many calls run at once", async () => {
    const { user_id } = await openStory(server);
    const create = () =>
      addQuote(server, user_id).then(
        () => true,
        () => false,
      );
    const created = await Promise.all(Array.from({ length: 30 }, create));
    expect(created.filter(Boolean)).toHaveLength(19);
    const quote = { deposit_token: "usdc", deposit_token_chain: "polygon" };
    const refused = await server.call("POST", `/users/${user_id}/quotes`, { quote });
    expect(refused.status).toBe(422);
    expectRefusal(refused, "limit_exceeded");
    await advance(server, HOUR_MS);
    await addQuote(server, user_id);
  });
});

import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { HOUR_MS, MINUTE_MS } from "../../../src/platform/durations.ts";
import { txId } from "../../harness/ramp.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
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
  settle,
} from "../story.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
});
afterAll(() => server.close());
// In every test no money is lost, duplicated or unexplained.
afterEach(async () => expect(await findFault(server)).toBeNull());

const forceKycStatus = (user_id: string, status: string) =>
  server.call("PATCH", `/sandbox/users/${user_id}/kycs`, { kyc: { status } });

/** To the sixth decimal: sums of JSON numbers are inexact. */
const rounded = (amount: number) => Number(amount.toFixed(6));

describe("a deposit that pays", () => {
  it("before the quote is executed waits for the execution", async () => {
    const story = await openStory(server);
    const amount = await story.total();
    await deposit(server, { quote_id: story.quote_id, amount });
    expect(await story.owed()).toBe(amount);
    expect((await story.show()).status).toBe("initiated");
    good(await story.execute());
    await story.waitForStatus("fiat_sent");
    expect(await story.owed()).toBe(0);
  });

  it("under a mistyped tx_id still pays: the address decides", async () => {
    const story = await openStory(server);
    const amount = await story.total();
    await deposit(server, { quote_id: story.quote_id, amount, tx_id: txId("real") });
    good(await story.execute(txId("mistyped")));
    await story.waitForStatus("fiat_sent");
    expect(await story.owed()).toBe(0);
    expectRefusal(await story.execute(txId("real")), "quote_already_executed");
  });

  it("passes if short by at most 0.01, and the difference is posted; otherwise it waits", async () => {
    const story = await openStory(server);
    const before = await ledgerBalance(server, "short_deposits", "usdc");
    await deposit(server, {
      quote_id: story.quote_id,
      amount: rounded((await story.total()) - 0.01),
    });
    good(await story.execute());
    await story.waitForStatus("fiat_sent");
    expect((await ledgerBalance(server, "short_deposits", "usdc")) - before).toBe(10_000n);
    const short = await openStory(server);
    await deposit(server, {
      quote_id: short.quote_id,
      amount: rounded((await short.total()) - 0.010001),
    });
    good(await short.execute());
    const { status_message } = await short.waitForStatus("ongoing_checks");
    expect(status_message).toContain("short by 0.010001 usdc");
  });

  it("waits if short by more than a tenth of the quote's fees", async () => {
    const story = await openStory(server, [{ amount: 2 }]);
    const quote = good(
      await server.call("GET", `/users/${story.user_id}/quotes/${story.quote_id}`),
    ).quote;
    const tenth = Math.floor(quote.fees * 100_000) / 1_000_000;
    expect(tenth).toBeLessThan(0.01);
    const amount = rounded(quote.deposit_token_amount - tenth - 0.000001);
    await deposit(server, { quote_id: story.quote_id, amount });
    good(await story.execute());
    await story.waitForStatus("ongoing_checks");
    await deposit(server, { quote_id: story.quote_id, amount: 0.000001 });
    await story.waitForStatus("fiat_sent");
  });

  it("in two parts needs no call for the second", async () => {
    const story = await openStory(server);
    const amount = await story.total();
    await deposit(server, { quote_id: story.quote_id, amount: 600 });
    good(await story.execute());
    const waiting = await story.waitForStatus("ongoing_checks");
    expect(waiting.status_message).toContain(`short by ${rounded(amount - 600)} usdc`);
    await advance(server, EXPIRY_MS / 2);
    await deposit(server, { quote_id: story.quote_id, amount: rounded(amount - 600) });
    await story.waitForStatus("fiat_sent");
    expect(await story.owed()).toBe(0);
  });
});

describe("a deposit that no quote can use stays owed and can be refunded or reused", () => {
  it("never executed: the offramps fail, the deposit is refunded", async () => {
    const story = await openStory(server);
    const amount = await story.total();
    await deposit(server, { quote_id: story.quote_id, amount });
    await advance(server, EXPIRY_MS + GRACE_MS + 1);
    expect((await story.show()).status).toBe("failed");
    expect(await story.owed()).toBe(amount);
    expectRefusal(await story.execute(), "quote_expired");
    await story.takeOut(amount);
    expect(await story.owed()).toBe(0);
  });

  it("execution refused: the deposit stays owed; while KYC is suspended, two people decide", async () => {
    const story = await openStory(server);
    const amount = await story.total();
    await deposit(server, { quote_id: story.quote_id, amount });
    good(await forceKycStatus(story.user_id, "suspended"));
    expectRefusal(await story.execute(), "not_yet_passed_kyc_kyb");
    expect(await story.owed()).toBe(amount);
    const { crypto_deposits } = good(
      await server.call("GET", `/users/${story.user_id}/crypto_deposits`),
    );
    const refund = { token: "usdc", chain: "polygon", amount, address: crypto_deposits[0].from };
    const path = `/users/${story.user_id}/refunds`;
    const { proposal } = good(await server.call("POST", path, { refund }));
    expect(proposal.status).toBe("pending");
    expect(await story.owed()).toBe(amount);
  });

  it("short: the offramp is given up and the deposit funds a smaller quote", async () => {
    const story = await openStory(server);
    await deposit(server, { quote_id: story.quote_id, amount: 600 });
    good(await story.execute());
    await story.waitForStatus("ongoing_checks");
    good(await story.giveUp());
    expect(await story.owed()).toBe(600);
    const smaller = await story.addQuote();
    const created = good(await story.add(smaller, [{ amount: 100 }]));
    good(await story.fund(smaller));
    await story.waitForStatus("fiat_sent", created.offramps[0].id);
    expect(await story.owed()).toBe(rounded(600 - (await story.total(smaller))));
  });

  it("short: giving up one offramp lets the deposit suffice for the others", async () => {
    const story = await openStory(server, [{ amount: 1000 }, { amount: 200 }, { amount: 300 }]);
    const [large, ...small] = story.offramp_ids;
    await deposit(server, { quote_id: story.quote_id, amount: 700 });
    good(await story.execute());
    for (const id of story.offramp_ids) await story.waitForStatus("ongoing_checks", id);
    good(await story.giveUp(large!));
    for (const id of small) await story.waitForStatus("fiat_sent", id);
    expect((await story.show(large!)).status).toBe("failed");
    expect(await findFault(server)).toBeNull();
    expect(await story.owed()).toBeGreaterThan(0);
    await story.takeOut(await story.owed());
  });

  it("short and never topped up: after a day it fails and the deposit is owed", async () => {
    const story = await openStory(server);
    const amount = await story.total();
    await deposit(server, { quote_id: story.quote_id, amount: 600 });
    good(await story.execute());
    await story.waitForStatus("ongoing_checks");
    await advance(server, 25 * HOUR_MS);
    expect((await story.show()).status).toBe("failed");
    await deposit(server, { quote_id: story.quote_id, amount: rounded(amount - 600) });
    expect(await story.owed()).toBe(amount);
    await story.takeOut(amount);
  });

  it("over: the excess is owed and funds another quote at that quote's rate", async () => {
    const story = await openStory(server);
    const amount = await story.total();
    await deposit(server, { quote_id: story.quote_id, amount: rounded(amount * 2) });
    good(await story.execute());
    await story.waitForStatus("fiat_sent");
    expect(await story.owed()).toBe(amount);
    const next = await story.addQuote();
    const created = good(await story.add(next, [{ amount: 1000 }]));
    expect(good(await story.fund(next)).quote.executed).toBe(true);
    await story.waitForStatus("fiat_sent", created.offramps[0].id);
    expect(await story.owed()).toBe(0);
    expectRefusal(await story.fund(next), "quote_already_executed");
  });

  it("twice: the second transfer is owed", async () => {
    const story = await openStory(server);
    const amount = await story.total();
    good(await story.execute());
    await story.waitForStatus("fiat_sent");
    await deposit(server, { quote_id: story.quote_id, amount });
    expect(await story.owed()).toBe(amount);
    await story.takeOut(amount);
    expect(await story.owed()).toBe(0);
  });

  it("late: the offramps fail, and a quote at today's rate pays them", async () => {
    const story = await openStory(server, [{ amount: 1000 }, { amount: 500 }]);
    const amount = await story.total();
    // So that the sandbox's chain does not pay automatically, in time.
    await deposit(server, { quote_id: story.quote_id, amount: 1, token: "usdt" });
    good(await story.execute());
    await advance(server, EXPIRY_MS + MINUTE_MS);
    await deposit(server, { quote_id: story.quote_id, amount });
    for (const id of story.offramp_ids) {
      const { status_message } = await story.waitForStatus("ongoing_checks", id);
      expect(status_message).toContain("too late");
    }
    await advance(server, GRACE_MS);
    for (const id of story.offramp_ids) expect((await story.show(id)).status).toBe("failed");
    expect(await story.owed()).toBe(amount);
    expectRefusal(await story.giveUp(), "invalid_transition");
    const next = await story.addQuote();
    const created = good(await story.add(next, [{ amount: 1000 }, { amount: 500 }]));
    good(await story.fund(next));
    await story.waitForStatus("fiat_sent", created.offramps[1].id);
    await story.waitForStatus("fiat_sent", created.offramps[0].id);
  });

  it("mined in time, but the quote was not executed before its expiry: owed", async () => {
    const story = await openStory(server);
    const amount = await story.total();
    await deposit(server, { quote_id: story.quote_id, amount });
    await advance(server, EXPIRY_MS);
    expectRefusal(await story.execute(), "quote_expired");
    await advance(server, GRACE_MS);
    expect((await story.show()).status).toBe("failed");
    expect(await story.owed()).toBe(amount);
  });

  it("to an expired quote: owed", async () => {
    const story = await openStory(server);
    const amount = await story.total();
    await advance(server, EXPIRY_MS + GRACE_MS + 1);
    await deposit(server, { quote_id: story.quote_id, amount });
    expect(await story.owed()).toBe(amount);
    expect((await story.show()).status).toBe("failed");
    await story.takeOut(amount);
    expect(await story.owed()).toBe(0);
  });

  it("with the wrong token: owed in that token, and the quote stays unpaid", async () => {
    const story = await openStory(server);
    const amount = await story.total();
    await deposit(server, { quote_id: story.quote_id, amount, token: "usdt" });
    good(await story.execute());
    await settle(server);
    expect((await story.show()).status).toBe("initiated");
    expect(await story.owed("usdt")).toBe(amount);
    await advance(server, EXPIRY_MS + GRACE_MS + 1);
    expect((await story.show()).status).toBe("failed");
    await story.takeOut(amount, "usdt");
    expect(await story.owed("usdt")).toBe(0);
  });
});

describe("one transfer and two quotes", () => {
  it("a transfer that paid one cannot be named for the other", async () => {
    const story = await openStory(server);
    const other = await story.addQuote();
    good(await story.add(other, [{ amount: 50 }]));
    const tx_id = txId("one");
    const bare = tx_id.slice(2);
    await deposit(server, { quote_id: story.quote_id, amount: 5, tx_id: bare.toUpperCase() });
    for (const spelling of [tx_id, bare, `0X${bare.toUpperCase()}`]) {
      expectRefusal(await story.execute(spelling, other), "record_not_unique");
    }
    expect(good(await story.execute(bare)).crypto_transfer.tx_id).toBe(tx_id);
    for (const spelling of [tx_id, bare, bare.toUpperCase()]) {
      expectRefusal(await story.execute(spelling, other), "record_not_unique");
    }
  });

  it("one transaction that pays both: one is executed, the other funded from the balance", async () => {
    const story = await openStory(server);
    const other = await story.addQuote();
    const created = good(await story.add(other, [{ amount: 50 }]));
    const tx_id = txId("both");
    const second = await story.total(other);
    await deposit(server, { quote_id: story.quote_id, amount: await story.total(), tx_id });
    await deposit(server, { quote_id: other, amount: second, tx_id });
    good(await story.execute(tx_id));
    await story.waitForStatus("fiat_sent");
    expectRefusal(await story.execute(tx_id, other), "record_not_unique");
    expect(await story.owed()).toBe(second);
    good(await story.fund(other));
    await story.waitForStatus("fiat_sent", created.offramps[0].id);
    expect(await story.owed()).toBe(0);
  });
});

describe("naming a transfer", () => {
  it("again with the same id returns the same response; another id is refused until the first was not found for ten minutes", async () => {
    const story = await openStory(server);
    await deposit(server, { quote_id: story.quote_id, amount: 1, token: "usdt" });
    const tx_id = txId("first");
    const second = txId("second");
    const first = good(await story.execute(tx_id));
    for (const spelling of [tx_id, tx_id.slice(2), tx_id.slice(2).toUpperCase()]) {
      const { status: _, ...named } = first.crypto_transfer;
      expect(good(await story.execute(spelling)).crypto_transfer).toMatchObject(named);
    }
    expectRefusal(await story.execute(second), "quote_already_executed");
    await advance(server, 10 * MINUTE_MS);
    expect(good(await story.execute(second)).crypto_transfer.tx_id).toBe(second);
    expectRefusal(await story.add(story.quote_id, [{ amount: 10 }]), "quote_already_executed");
  });

  it("on another chain, or with a malformed id, is refused", async () => {
    const story = await openStory(server);
    const path = `/users/${story.user_id}/quotes/${story.quote_id}/execute`;
    const name = (tx_id: string, blockchain: string) =>
      server.call("POST", path, {
        quote: { crypto_transfer: { tx_id, blockchain, network: "amoy" } },
      });
    const onBase = await name(txId("other chain"), "base");
    expect(onBase.body.errors).toMatchObject([{ field: "quote.crypto_transfer.blockchain" }]);
    for (const none of ["hello", "0xaa", `${txId("x")}0`, `0x:${txId("x").slice(3)}`]) {
      const refused = await name(none, "polygon");
      expectRefusal(refused, "record_invalid");
      expect(refused.body.errors).toMatchObject([{ field: "quote.crypto_transfer.tx_id" }]);
    }
    expectRefusal(await name(" ", "polygon"), "parameter_missing");
    const deposits = "/sandbox/crypto_deposits";
    const crypto_deposit = { quote_id: story.quote_id, amount: 1, tx_id: "hello" };
    expect((await server.call("POST", deposits, { crypto_deposit })).body.errors).toMatchObject([
      { field: "crypto_deposit.tx_id", code: "record_invalid" },
    ]);
  });
});

describe("a refund", () => {
  it("of more than is owed is refused, and to an unregistered address becomes a proposal", async () => {
    const story = await openStory(server);
    await deposit(server, { quote_id: story.quote_id, amount: 10 });
    const refund = (amount: number) =>
      server.call("POST", `/users/${story.user_id}/refunds`, {
        refund: { token: "usdc", chain: "polygon", amount, address: `0x${"1".repeat(40)}` },
      });
    expect((await refund(10)).body.proposal).toMatchObject({ status: "pending", amount_usd: 10 });
    expect((await refund(10.000001)).body.errors).toMatchObject([{ field: "refund.amount" }]);
    expect(await story.owed()).toBe(10);
  });
});

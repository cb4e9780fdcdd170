import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSandboxBank } from "../../src/partners/bank/sandbox.ts";
import { type ChainPort, SendPending } from "../../src/partners/chain/port.ts";
import { createSandboxChain } from "../../src/partners/chain/sandbox.ts";
import { MINUTE_MS } from "../../src/platform/durations.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import {
  advance,
  expectRefusal,
  findFault,
  good,
  ledgerBalance,
  settle,
} from "../offramps/story.ts";
import { act, openOnramp, receive, showDeposit } from "./story.ts";

/** A chain that may fail before or after it has sent; it counts real transfers. */
function createFailingChain(chain: ChainPort) {
  const state = {
    fails: null as "before" | "after" | "refuses" | "pending" | null,
    /** What became of a send that was pending. */
    found: null as Awaited<ReturnType<ChainPort["findSend"]>>,
    calls: [] as string[],
    sent: new Map<string, bigint>(),
    onSend: async () => {},
  };
  const port: ChainPort = {
    ...chain,
    send: async (request) => {
      state.calls.push(request.key);
      await state.onSend();
      if (state.fails === "pending") throw new SendPending("it waits for its turn");
      if (state.fails === "before") throw new Error("the chain cannot be reached");
      if (state.fails === "refuses") return { refused: "the address is blocked" };
      if (!state.sent.has(request.key)) state.sent.set(request.key, request.amount);
      const answer = await chain.send(request);
      if (state.fails === "after") throw new Error("the answer was lost");
      return answer;
    },
    findSend: async (...asked) => state.found ?? (await chain.findSend(...asked)),
  };
  return { state, port };
}

let server: TestServer;
let chain: ReturnType<typeof createFailingChain>;
beforeAll(async () => {
  server = await startTestServer({
    partners: (core) => {
      chain = createFailingChain(createSandboxChain(core));
      return { chain: chain.port, bank: createSandboxBank(core) };
    },
  });
});
afterAll(() => server.close());

const setKyc = async (user_id: string, status: string) =>
  good(await server.call("PATCH", `/sandbox/users/${user_id}/kycs`, { kyc: { status } }));

describe("a chain that fails", () => {
  it.each(["before", "after"] as const)(
    "%s sending: the coins are sent exactly once",
    async (when) => {
      const onramp = await openOnramp(server);
      chain.state.fails = when;
      const key = `onramp:${server.account_id}:${onramp.id}`;
      await receive(server, { amount: 1004, deposit_message: onramp.code });
      expect((await onramp.show()).status).toBe("sending_fiat");
      expect(await findFault(server)).toBeNull();
      await advance(server, 60_000);
      chain.state.fails = null;
      await advance(server, 10 * MINUTE_MS);
      expect(await onramp.show()).toMatchObject({ status: "crypto_sent" });
      expect(chain.state.calls.filter((call) => call === key).length).toBeGreaterThan(1);
      expect(chain.state.sent.get(key)).toBe(1_000_000_000n);
      expect(await findFault(server)).toBeNull();
    },
  );

  it("that takes its time is asked again, which is no failure", async () => {
    const onramp = await openOnramp(server);
    const key = `onramp:${server.account_id}:${onramp.id}`;
    chain.state.fails = "pending";
    const deposit = await receive(server, { amount: 1004, deposit_message: onramp.code });
    for (let asked = 0; asked < 3; asked += 1) await advance(server, 6_000);
    expect(await onramp.show()).toMatchObject({ status: "sending_fiat", status_message: null });
    expectRefusal(await act(server, deposit.id, "return"), "invalid_transition");
    expect(chain.state.calls.filter((call) => call === key).length).toBeGreaterThan(3);
    const tasks = await server.db.database.query(
      "select attempts, last_error from tasks where record_id = $1 and kind = 'deliver-onramp'",
      [onramp.id],
    );
    expect(tasks).toEqual([{ attempts: 0, last_error: null }]);
    chain.state.fails = null;
    await advance(server, 6_000);
    expect((await onramp.show()).status).toBe("crypto_sent");
    expect(await findFault(server)).toBeNull();
  });

  it("refuses for good: the onramp keeps its fiat, and the deposit can be returned", async () => {
    const before = await ledgerBalance(server, "bank:sandbox-usd", "usd");
    const onramp = await openOnramp(server);
    chain.state.fails = "refuses";
    const deposit = await receive(server, { amount: 1004, deposit_message: onramp.code });
    chain.state.fails = null;
    const refused = await onramp.show();
    expect(refused.status).toBe("sending_fiat");
    expect(refused.status_message).toContain("the address is blocked");
    expect(await ledgerBalance(server, `onramp:${onramp.id}`, "usd")).toBe(-100_400n);
    expect(await ledgerBalance(server, `onramp:${onramp.id}`, "usdc")).toBe(0n);
    expect(await findFault(server)).toBeNull();
    good(await act(server, deposit.id, "return"));
    await settle(server);
    expect((await onramp.show()).status).toBe("failed");
    expect((await showDeposit(server, deposit.id)).status).toBe("returned");
    expect(await ledgerBalance(server, "bank:sandbox-usd", "usd")).toBe(before);
    expect(await findFault(server)).toBeNull();
  });

  it("a deposit whose coins may have been sent cannot be returned", async () => {
    const onramp = await openOnramp(server);
    chain.state.fails = "after";
    const deposit = await receive(server, { amount: 1004, deposit_message: onramp.code });
    expectRefusal(await act(server, deposit.id, "return"), "invalid_transition");
    chain.state.fails = null;
    await advance(server, 10 * MINUTE_MS);
    expect((await onramp.show()).status).toBe("crypto_sent");
  });
});

describe("gates at delivery", () => {
  it("a user who lost approval gets no delivery; once approved again, delivery continues", async () => {
    const onramp = await openOnramp(server);
    await setKyc(onramp.user_id, "suspended");
    await receive(server, { amount: 1004, deposit_message: onramp.code });
    const held = await onramp.show();
    expect(held.status).toBe("sending_fiat");
    expect(held.status_message).toContain("identity verification");
    expect([...chain.state.sent.keys()].join()).not.toContain(onramp.id);
    expect(await findFault(server)).toBeNull();
    await setKyc(onramp.user_id, "approved");
    await settle(server);
    expect(await onramp.show()).toMatchObject({ status: "crypto_sent", status_message: null });
    expect(await findFault(server)).toBeNull();
  });

  it("a held deposit can be returned: the onramp fails, the payer is repaid, nothing is left", async () => {
    const before = await ledgerBalance(server, "bank:sandbox-usd", "usd");
    const onramp = await openOnramp(server);
    await setKyc(onramp.user_id, "suspended");
    const deposit = await receive(server, { amount: 1004, deposit_message: onramp.code });
    good(await act(server, deposit.id, "return"));
    await settle(server);
    expect((await showDeposit(server, deposit.id)).status).toBe("returned");
    expect(await onramp.show()).toMatchObject({
      status: "failed",
      status_message: "The deposit was returned to its payer.",
    });
    expect(await ledgerBalance(server, "bank:sandbox-usd", "usd")).toBe(before);
    expect(await ledgerBalance(server, `onramp:${onramp.id}`, "usd")).toBe(0n);
    await setKyc(onramp.user_id, "approved");
    await settle(server);
    expect((await onramp.show()).status).toBe("failed");
    expect([...chain.state.sent.keys()].join()).not.toContain(onramp.id);
    expect(await findFault(server)).toBeNull();
  });

  it("approval lost after the coins were sent: they are found, and nothing is sent again", async () => {
    const onramp = await openOnramp(server);
    const key = `onramp:${server.account_id}:${onramp.id}`;
    chain.state.fails = "after";
    await receive(server, { amount: 1004, deposit_message: onramp.code });
    await setKyc(onramp.user_id, "suspended");
    chain.state.fails = null;
    const calls = () => chain.state.calls.filter((call) => call === key).length;
    const before = calls();
    await advance(server, 10 * MINUTE_MS);
    expect(calls()).toBe(before);
    expect((await onramp.show()).status).toBe("crypto_sent");
    expect(chain.state.sent.get(key)).toBe(1_000_000_000n);
    expect(await findFault(server)).toBeNull();
  });

  it("approval lost while the coins wait for their turn: once cancelled, they can be returned", async () => {
    const onramp = await openOnramp(server);
    chain.state.fails = "pending";
    const deposit = await receive(server, { amount: 1004, deposit_message: onramp.code });
    await setKyc(onramp.user_id, "suspended");
    await advance(server, 10_000);
    chain.state.found = { refused: "The operator cancelled it." };
    await advance(server, 61 * MINUTE_MS);
    Object.assign(chain.state, { fails: null, found: null });
    expect((await onramp.show()).status_message).toContain("The operator cancelled it.");
    good(await act(server, deposit.id, "return"));
    await settle(server);
    expect((await showDeposit(server, deposit.id)).status).toBe("returned");
    expect(await findFault(server)).toBeNull();
  });

  it("approval lost before anything was sent holds the delivery until it is restored", async () => {
    const onramp = await openOnramp(server);
    const key = `onramp:${server.account_id}:${onramp.id}`;
    chain.state.fails = "before";
    await receive(server, { amount: 1004, deposit_message: onramp.code });
    await setKyc(onramp.user_id, "suspended");
    chain.state.fails = null;
    await advance(server, 10 * MINUTE_MS);
    expect((await onramp.show()).status).toBe("sending_fiat");
    expect(chain.state.sent.has(key)).toBe(false);
    await setKyc(onramp.user_id, "approved");
    await settle(server);
    expect((await onramp.show()).status).toBe("crypto_sent");
    expect(await findFault(server)).toBeNull();
  });
});

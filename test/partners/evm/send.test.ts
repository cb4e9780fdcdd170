import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { insertSend, updateRefused } from "../../../src/partners/chain/evm/send/send-store.ts";
import { createPayments, type TestPayments } from "../../harness/evm/payments.ts";
import { TEST_TREASURY } from "../../harness/evm/signer.ts";
import { openTestEvm, type TestEvm } from "../../harness/evm/test-evm.ts";

const TEN = 10_000_000n;
const MINUTE_MS = 60_000;
let evm: TestEvm;
let pay: TestPayments;

beforeAll(async () => {
  evm = await openTestEvm({ rpcs: 2, sends: true });
  pay = createPayments(evm);
  // As on a real chain: a transaction waits for the next block.
  await evm.node.ask("evm_setAutomine", false);
});
afterAll(() => evm.close());

beforeEach(() => pay.fund());
afterEach(async () => {
  for (const rpc of evm.rpcs) {
    Object.assign(rpc, { status: 200, is_hanging: false, finalized_depth: 0, change: null });
  }
  Object.assign(evm.signer, { fault: null, beforeSign: null });
  // Whatever a test did: no nonce has two actions.
  expect(evm.signer.doubles).toEqual([]);
});

describe("a payment", () => {
  it("is sent once, however often it is asked for, and its transaction is told when final", async () => {
    const one = pay.next();
    for (const rpc of evm.rpcs) rpc.finalized_depth = 2;
    expect(await pay.ask(one)).toBe("queued");
    expect(await pay.ask(one)).toBe("queued");
    await evm.runSender();
    expect(await pay.ask(one)).toBe("broadcast");
    await evm.node.mine();
    await evm.runSender();
    expect(await pay.ask(one)).toBe("mined");
    expect(await evm.port.findSend("polygon", one.key)).toBeNull();
    await evm.node.mine(2);
    await evm.runSender();
    const outcome = await pay.ask(one);
    expect(outcome).toEqual({ tx_id: pay.transactionsOf(one)[0]!.tx_id });
    expect(await evm.port.findSend("polygon", one.key)).toEqual(outcome);
    expect(await pay.balanceOf(one.address)).toBe(TEN);
    expect((await evm.sendOf(one.key))!.gas_cost).toBeGreaterThan(0n);
    await expect(evm.port.send({ ...one, amount: TEN + 1n })).rejects.toThrow(
      /was used for another transfer/,
    );
  });

  it("waits its turn: nonces follow the order, without a gap, and at most eight are unmined", async () => {
    const many = Array.from({ length: 10 }, () => pay.next());
    for (const one of many) await pay.ask(one);
    await evm.runSender();
    const states = async () => Promise.all(many.map(pay.ask));
    expect((await states()).filter((state) => state === "broadcast")).toHaveLength(8);
    const nonces = await Promise.all(
      many.slice(0, 8).map(async ({ key }) => (await evm.sendOf(key))!.nonce!),
    );
    expect(nonces).toEqual(nonces.map((_, at) => nonces[0]! + at));
    for (const one of many) expect(await pay.settle(one)).toHaveProperty("tx_id");
  });

  it("to an address that the token's issuer has blocked is refused before it is signed", async () => {
    const one = pay.next();
    await evm.tokens.usdc.setBlocked(one.address, true);
    await evm.node.mine();
    expect(await pay.settle(one)).toEqual({ refused: expect.stringMatching(/refuses a transfer/) });
    expect(pay.transactionsOf(one)).toEqual([]);
  });

  it("that fails when it is mined is refused once that block is final", async () => {
    const one = pay.next();
    await pay.ask(one);
    await evm.runSender();
    // Blocked after it was signed, and before it is mined.
    await pay.drop(one);
    await evm.tokens.usdc.setBlocked(one.address, true);
    await evm.node.mine();
    for (const rpc of evm.rpcs) rpc.finalized_depth = 1;
    evm.wait(30_000);
    await evm.runSender();
    await evm.node.mine();
    await evm.runSender();
    expect(await pay.ask(one)).toBe("mined");
    await evm.node.mine();
    await evm.runSender();
    expect(await pay.ask(one)).toEqual({ refused: expect.stringMatching(/failed on polygon/) });
    expect(await pay.balanceOf(one.address)).toBe(0n);
    expect(pay.transactionsOf(one)).toHaveLength(1);
  });

  it("waits while the token is paused or the treasury has too few of it, and is sent then", async () => {
    const one = pay.next();
    await evm.tokens.usdc.setPaused(true);
    await evm.node.mine();
    await pay.ask(one);
    await evm.runSender();
    expect(await evm.sender()).toMatchObject({
      state: "waiting",
      problem: expect.stringContaining("may be paused"),
    });
    await evm.tokens.usdc.setPaused(false);
    await evm.node.mine();
    evm.wait(MINUTE_MS);
    expect(await pay.settle(one)).toHaveProperty("tx_id");
    const large = pay.next(5_000_000_000_000n);
    await pay.ask(large);
    await evm.runSender();
    expect((await evm.sender())!.problem).toMatch(/has too few usdc/);
    // It blocks nobody else.
    expect(await pay.settle(pay.next())).toHaveProperty("tx_id");
    await evm.tokens.usdc.transfer(TEST_TREASURY, 5_000_000_000_000n);
    await evm.node.mine();
    expect(await pay.settle(large)).toHaveProperty("tx_id");
    expect(await evm.sender()).toMatchObject({ state: "sending", problem: null });
  });

  it("of one token does not wait for any number of payments of another that is missing", async () => {
    const missing = Array.from({ length: 120 }, () => ({ ...pay.next(), token: "usdt" as const }));
    for (const one of missing) await evm.port.send(one).catch(() => {});
    expect(await pay.settle(pay.next())).toHaveProperty("tx_id");
    for (const { key } of missing) await updateRefused(evm.database, key, "not wanted", new Date());
  });

  it("does not wait for any number of sends that the treasury's coins cannot pay", async () => {
    const address = await evm.issue();
    const action = { kind: "gas_top_up", address_index: 0, address, amount: 10n ** 24n } as const;
    const dear = Array.from({ length: 25 }, (_, at) => `test:dear:${at}`);
    for (const key of dear) {
      const send = {
        key,
        chain: "polygon",
        sender: TEST_TREASURY,
        action,
        asked_at: null,
      } as const;
      await insertSend(evm.database, send, new Date());
    }
    expect(await pay.settle(pay.next())).toHaveProperty("tx_id");
    // They wait, and are tried in turn.
    for (const key of dear) expect((await evm.sendOf(key))!.problem).toMatch(/too little native/);
    for (const key of dear) await updateRefused(evm.database, key, "not wanted", new Date());
  });

  it("does not wait for a top-up that is more than the treasury has", async () => {
    const amount = 10n ** 24n;
    const action = {
      kind: "gas_top_up",
      address_index: 0,
      address: await evm.issue(),
      amount,
    } as const;
    const dear = { key: "test:dear", chain: "polygon", sender: TEST_TREASURY, action } as const;
    await insertSend(evm.database, { ...dear, asked_at: null }, new Date());
    // As nodes answer on real chains; the test node does not look at the balance.
    for (const rpc of evm.rpcs) {
      rpc.change = ({ method, params }) => {
        if (method !== "eth_call" || !Object(params[0]).value) return undefined;
        throw new Error("insufficient funds for gas * price + value");
      };
    }
    expect(await pay.settle(pay.next())).toHaveProperty("tx_id");
    const { state, problem } = (await evm.sendOf(dear.key))!;
    expect({ state, problem }).toMatchObject({
      state: "queued",
      problem: expect.stringMatching(/insufficient funds/),
    });
    await updateRefused(evm.database, dear.key, "not wanted", new Date());
  });

  it("that may not leave is not signed, keeps nobody waiting, and is sent when it may", async () => {
    const one = pay.next();
    evm.held.add(one.key);
    await pay.ask(one);
    await evm.runSender();
    expect(await pay.ask(one)).toBe("queued");
    expect(await evm.sender()).toMatchObject({ state: "sending", problem: null });
    expect(await pay.settle(pay.next())).toHaveProperty("tx_id");
    expect(pay.transactionsOf(one)).toEqual([]);
    evm.held.clear();
    evm.wait(MINUTE_MS);
    expect(await pay.settle(one)).toHaveProperty("tx_id");
  });

  it("that may not leave any more while the signer is away is not signed; its nonce is free", async () => {
    const one = pay.next();
    await pay.ask(one);
    evm.signer.fault = "unavailable";
    await evm.runSender();
    const { state, nonce } = (await evm.sendOf(one.key))!;
    expect(state).toBe("planned");
    evm.held.add(one.key);
    evm.signer.fault = null;
    const next = pay.next();
    expect(await pay.settle(next)).toHaveProperty("tx_id");
    expect((await evm.sendOf(next.key))!.nonce).toBe(nonce);
    expect(pay.transactionsOf(one)).toEqual([]);
    evm.held.clear();
    evm.wait(MINUTE_MS);
    expect(await pay.settle(one)).toHaveProperty("tx_id");
  });

  it("to the treasury itself is refused at once", async () => {
    const one = { ...pay.next(), address: TEST_TREASURY };
    expect(await pay.ask(one)).toEqual({ refused: expect.stringMatching(/treasury/) });
  });
});

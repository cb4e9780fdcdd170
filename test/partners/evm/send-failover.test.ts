import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { resumeSender } from "../../../src/partners/chain/evm/send/resume-sender.ts";
import { createPayments, type TestPayments } from "../../harness/evm/payments.ts";
import { TEST_TREASURY } from "../../harness/evm/signer.ts";
import { openTestEvm, type TestEvm } from "../../harness/evm/test-evm.ts";

const TEN = 10_000_000n;
const GWEI = 10n ** 9n;
const MINUTE_MS = 60_000;
let evm: TestEvm;
let pay: TestPayments;

beforeAll(async () => {
  evm = await openTestEvm({ rpcs: 2, sends: true });
  pay = createPayments(evm);
  await evm.node.ask("evm_setAutomine", false);
});
afterAll(() => evm.close());

beforeEach(() => pay.fund());
afterEach(async () => {
  for (const rpc of evm.rpcs) Object.assign(rpc, { change: null, blocks_max: 1_000_000 });
  await evm.node.ask("hardhat_setNextBlockBaseFeePerGas", `0x${GWEI.toString(16)}`);
  await evm.node.mine();
  // Whatever a test did: no nonce has two actions, and no payment two nonces.
  expect(evm.signer.doubles).toEqual([]);
});

/** A payment that was replaced by one with higher fees, both of which a node has. */
async function bumped() {
  const one = pay.next();
  await pay.ask(one);
  await evm.runSender();
  for (let block = 0; block < 3; block += 1) {
    await evm.node.ask("hardhat_setNextBlockBaseFeePerGas", `0x${(50n * GWEI).toString(16)}`);
    await evm.node.mine();
  }
  evm.wait(3 * MINUTE_MS);
  await evm.runSender();
  expect(pay.transactionsOf(one)).toHaveLength(2);
  return { one, replacement: pay.transactionsOf(one)[1]!.tx_id };
}

/** The database fails over to a standby that did not have the replacement yet. */
async function loseReplacement(key: string): Promise<void> {
  await evm.database.query("delete from evm_attempts where key = $1 and attempt > 1", [key]);
}

/** As the operator does. */
function resume() {
  const { chain, rpcs } = evm.watcher();
  return resumeSender(evm.database, { chain, rpcs }, TEST_TREASURY, new Date(), () => {});
}

describe("a replacement that the signer has signed and the database has lost", () => {
  it("is found on the chain when it was mined: paid once, and nothing stops", async () => {
    const { one, replacement } = await bumped();
    await loseReplacement(one.key);
    await evm.node.mine();
    await evm.runSender();
    expect(await pay.ask(one)).toEqual({ tx_id: replacement });
    expect(await evm.sender()).toMatchObject({ state: "sending", problem: null });
    expect(await pay.balanceOf(one.address)).toBe(TEN);
    expect((await evm.sendOf(one.key))!.gas_cost).toBeGreaterThan(0n);
    expect(pay.transactionsOf(one)).toHaveLength(2);
    expect(await pay.settle(pay.next())).toHaveProperty("tx_id");
  });

  it("is found after many blocks, in ranges as small as the nodes allow", async () => {
    const { one, replacement } = await bumped();
    await loseReplacement(one.key);
    await evm.node.mine(1_000);
    for (const rpc of evm.rpcs) rpc.blocks_max = 100;
    await evm.runSender();
    expect(await pay.ask(one)).toEqual({ tx_id: replacement });
  });

  it("is planned and signed again while no block has it, and one of them is mined", async () => {
    const { one } = await bumped();
    await loseReplacement(one.key);
    evm.wait(3 * MINUTE_MS);
    await evm.runSender();
    await evm.node.ask("hardhat_setNextBlockBaseFeePerGas", `0x${GWEI.toString(16)}`);
    expect(await pay.settle(one)).toHaveProperty("tx_id");
    expect(await pay.balanceOf(one.address)).toBe(TEN);
  });

  it("is not given up where the queue was stopped for another reason and is resumed", async () => {
    const { one, replacement } = await bumped();
    const next = pay.next();
    await pay.ask(next);
    await evm.runSender();
    // The standby does not have the next payment's nonce either.
    await loseReplacement(one.key);
    await evm.database.query("delete from evm_attempts where key = $1", [next.key]);
    await evm.database.query(
      "update evm_sends set state = 'queued', nonce = null, gas = null where key = $1",
      [next.key],
    );
    await evm.database.query("update evm_senders set next_nonce = next_nonce - 1");
    await evm.node.mine();
    await evm.runSender();
    expect(await evm.sender()).toMatchObject({ state: "stopped" });
    expect(await resume()).toMatchObject({ lost: [] });
    expect(await pay.ask(one)).toEqual({ tx_id: replacement });
    expect(await pay.balanceOf(one.address)).toBe(TEN);
    expect(await pay.balanceOf(next.address)).toBe(TEN);
    await evm.database.query("update evm_sends set state = 'refused' where key = $1", [next.key]);
  });

  it("that only one of two nodes has is not believed yet", async () => {
    const { one, replacement } = await bumped();
    await loseReplacement(one.key);
    await evm.node.mine();
    evm.rpcs[1]!.change = ({ method }) => (method === "eth_getLogs" ? [] : undefined);
    await evm.runSender();
    expect(await evm.sender()).toMatchObject({ state: "disagreeing" });
    expect(await pay.ask(one)).toBe("broadcast");
    evm.rpcs[1]!.change = null;
    await evm.runSender();
    expect(await pay.ask(one)).toEqual({ tx_id: replacement });
  });
});

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { SendPending } from "../../../src/partners/chain/port.ts";
import { TEST_TREASURY } from "../../harness/evm/counting-signer.ts";
import { openTestEvm, type TestEvm } from "../../harness/evm/test-evm.ts";

const TEN = 10_000_000n;
const MINUTE_MS = 60_000;
let evm: TestEvm;
let count = 0;

beforeAll(async () => {
  evm = await openTestEvm({ rpcs: 2, sends: true });
  // As on a real chain: a transaction waits for the next block.
  await evm.node.ask("evm_setAutomine", false);
});
afterAll(() => evm.close());

beforeEach(async () => {
  await evm.node.ask("hardhat_setBalance", TEST_TREASURY, `0x${(10n ** 18n).toString(16)}`);
});
afterEach(async () => {
  for (const rpc of evm.rpcs) {
    Object.assign(rpc, { status: 200, is_hanging: false, finalized_depth: 0, change: null });
  }
  Object.assign(evm.signer, { fault: null, beforeSign: null });
  // Whatever a test did: no nonce has two actions.
  expect(evm.signer.doubles).toEqual([]);
});

/** A new payment of ten usdc to a new address. */
function payment(amount = TEN) {
  count += 1;
  const address = `0x${count.toString(16).padStart(40, "a")}`;
  const key = `refund:account:${count}`;
  return { key, chain: "polygon", token: "usdc", amount, address } as const;
}

type Payment = ReturnType<typeof payment>;

/** The outcome, or the state while it is pending. */
async function ask(one: Payment) {
  return evm.port.send(one).catch(async (error: unknown) => {
    if (!(error instanceof SendPending)) throw error;
    return (await evm.sendOf(one.key))!.state;
  });
}

async function balanceOf(address: string): Promise<bigint> {
  const data = `0x70a08231${address.slice(2).padStart(64, "0")}`;
  return BigInt((await evm.node.ask("eth_call", { to: evm.tokens.usdc.address, data })) as string);
}

/** Runs and mines until the payment has an outcome. */
async function settle(one: Payment) {
  for (let round = 0; round < 10; round += 1) {
    const outcome = await ask(one);
    if (typeof outcome !== "string") return outcome;
    await evm.runSender();
    await evm.node.mine();
    evm.wait(6_000);
  }
  return ask(one);
}

function transactionsOf(one: Payment) {
  return evm.signer.signed.filter(
    ({ action }) => action.kind === "token_transfer" && action.to === one.address,
  );
}

describe("a payment", () => {
  it("is sent once, however often it is asked for, and its transaction is told when final", async () => {
    const one = payment();
    for (const rpc of evm.rpcs) rpc.finalized_depth = 2;
    expect(await ask(one)).toBe("queued");
    expect(await ask(one)).toBe("queued");
    await evm.runSender();
    expect(await ask(one)).toBe("broadcast");
    await evm.node.mine();
    await evm.runSender();
    expect(await ask(one)).toBe("mined");
    expect(await evm.port.findSend("polygon", one.key)).toBeNull();
    await evm.node.mine(2);
    await evm.runSender();
    const outcome = await ask(one);
    expect(outcome).toEqual({ tx_id: transactionsOf(one)[0]!.tx_id });
    expect(await evm.port.findSend("polygon", one.key)).toEqual(outcome);
    expect(await balanceOf(one.address)).toBe(TEN);
    expect((await evm.sendOf(one.key))!.gas_cost).toBeGreaterThan(0n);
    await expect(evm.port.send({ ...one, amount: TEN + 1n })).rejects.toThrow(
      /was used for another transfer/,
    );
  });

  it("waits its turn: nonces follow the order, without a gap, and at most eight are unmined", async () => {
    const many = Array.from({ length: 10 }, () => payment());
    for (const one of many) await ask(one);
    await evm.runSender();
    const states = async () => Promise.all(many.map(ask));
    expect((await states()).filter((state) => state === "broadcast")).toHaveLength(8);
    const nonces = await Promise.all(
      many.slice(0, 8).map(async ({ key }) => (await evm.sendOf(key))!.nonce!),
    );
    expect(nonces).toEqual(nonces.map((_, at) => nonces[0]! + at));
    for (const one of many) expect(await settle(one)).toHaveProperty("tx_id");
  });

  it("to an address that the token's issuer has blocked is refused before it is signed", async () => {
    const one = payment();
    await evm.tokens.usdc.setBlocked(one.address, true);
    await evm.node.mine();
    expect(await settle(one)).toEqual({ refused: expect.stringMatching(/refuses a transfer/) });
    expect(transactionsOf(one)).toEqual([]);
  });

  it("that fails when it is mined is refused once that block is final", async () => {
    const one = payment();
    await ask(one);
    await evm.runSender();
    // Blocked after it was signed, and before it is mined.
    await drop(one);
    await evm.tokens.usdc.setBlocked(one.address, true);
    await evm.node.mine();
    for (const rpc of evm.rpcs) rpc.finalized_depth = 1;
    evm.wait(30_000);
    await evm.runSender();
    await evm.node.mine();
    await evm.runSender();
    expect(await ask(one)).toBe("mined");
    await evm.node.mine();
    await evm.runSender();
    expect(await ask(one)).toEqual({ refused: expect.stringMatching(/failed on polygon/) });
    expect(await balanceOf(one.address)).toBe(0n);
    expect(transactionsOf(one)).toHaveLength(1);
  });

  it("waits while the token is paused or the treasury has too few of it, and is sent then", async () => {
    const one = payment();
    await evm.tokens.usdc.setPaused(true);
    await evm.node.mine();
    await ask(one);
    await evm.runSender();
    expect(await evm.sender()).toMatchObject({
      state: "waiting",
      problem: expect.stringContaining("may be paused"),
    });
    await evm.tokens.usdc.setPaused(false);
    await evm.node.mine();
    evm.wait(MINUTE_MS);
    expect(await settle(one)).toHaveProperty("tx_id");
    const large = payment(5_000_000_000_000n);
    await ask(large);
    await evm.runSender();
    expect((await evm.sender())!.problem).toMatch(/has too few usdc/);
    // It blocks nobody else.
    expect(await settle(payment())).toHaveProperty("tx_id");
    await evm.tokens.usdc.transfer(TEST_TREASURY, 5_000_000_000_000n);
    await evm.node.mine();
    expect(await settle(large)).toHaveProperty("tx_id");
    expect(await evm.sender()).toMatchObject({ state: "sending", problem: null });
  });
});

/** The pool of the node forgets its last transaction. */
async function drop(one: Payment): Promise<void> {
  const { tx_id } = transactionsOf(one).at(-1)!;
  expect(await evm.node.ask("hardhat_dropTransaction", tx_id)).toBe(true);
}

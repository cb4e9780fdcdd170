import { mnemonicToAccount } from "viem/accounts";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { gasNotices, sendReadiness } from "../../../src/partners/chain/evm/send/health.ts";
import type { Sender } from "../../../src/partners/chain/evm/send/model.ts";
import { resumeSender } from "../../../src/partners/chain/evm/send/resume-sender.ts";
import { listInFlight, updateCancelled } from "../../../src/partners/chain/evm/send/send-store.ts";
import { TEST_WORDS } from "../../harness/evm/chains-file.ts";
import { createPayments, type TestPayments } from "../../harness/evm/payments.ts";
import { TEST_TREASURY } from "../../harness/evm/signer.ts";
import { openTestEvm, type TestEvm } from "../../harness/evm/test-evm.ts";
import { atEveryCommit } from "../../harness/mortal.ts";
import { Crash } from "../../harness/steps.ts";

const TEN = 10_000_000n;
const GWEI = 10n ** 9n;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
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
  for (const rpc of evm.rpcs) {
    Object.assign(rpc, { status: 200, is_hanging: false, finalized_depth: 0 });
    Object.assign(rpc, { change: null, instead: null });
  }
  Object.assign(evm.signer, { fault: null, beforeSign: null });
  // Whatever a test did: no nonce has two actions.
  expect(evm.signer.doubles).toEqual([]);
});

/** One that a node has, but that is not mined. */
async function unmined() {
  const one = pay.next();
  await pay.ask(one);
  await evm.runSender();
  expect(await pay.ask(one)).toBe("broadcast");
  return one;
}

async function attemptsOf(key: string) {
  const queue = { chain: "polygon", address: TEST_TREASURY } as const;
  return (await listInFlight(evm.database, queue, 100)).find((one) => one.key === key)!.attempts;
}

describe("a transaction that is not mined", () => {
  /** Mines blocks whose base fee is far above what was offered. */
  const mineDear = async (gwei: bigint, blocks: number) => {
    for (let block = 0; block < blocks; block += 1) {
      const fee = `0x${(gwei * GWEI).toString(16)}`;
      await evm.node.ask("hardhat_setNextBlockBaseFeePerGas", fee);
      await evm.node.mine();
    }
  };

  it("because fees rose is replaced by one with higher fees; exactly one of them is mined", async () => {
    const one = await unmined();
    await mineDear(50n, 2);
    evm.wait(3 * MINUTE_MS);
    await evm.runSender();
    // On a chain that hardly moves, a higher fee changes nothing.
    expect(await attemptsOf(one.key)).toHaveLength(1);
    await mineDear(50n, 1);
    await evm.runSender();
    const [first, second, ...more] = await attemptsOf(one.key);
    expect(more).toEqual([]);
    expect(second!.max_fee).toBeGreaterThan(50n * GWEI);
    expect(second!.priority_fee * 10n).toBeGreaterThanOrEqual(first!.priority_fee * 11n);
    expect(await pay.settle(one)).toEqual({ tx_id: second!.tx_id });
    expect(await pay.balanceOf(one.address)).toBe(TEN);
    expect(new Set(pay.transactionsOf(one).map(({ nonce }) => nonce)).size).toBe(1);
    await evm.node.ask("hardhat_setNextBlockBaseFeePerGas", `0x${GWEI.toString(16)}`);
    await evm.node.mine();
  });

  it("is not replaced above the limit of the file; the operator is told", async () => {
    const one = await unmined();
    await mineDear(600n, 3);
    evm.wait(3 * MINUTE_MS);
    await evm.runSender();
    await mineDear(600n, 3);
    evm.wait(3 * MINUTE_MS);
    await evm.runSender();
    const attempts = await attemptsOf(one.key);
    expect(attempts.every(({ max_fee }) => max_fee <= 500n * GWEI)).toBe(true);
    expect(await evm.sender()).toMatchObject({
      state: "waiting",
      problem: expect.stringMatching(/max_fee_gwei does not allow a higher fee/),
    });
    await evm.node.ask("hardhat_setNextBlockBaseFeePerGas", `0x${GWEI.toString(16)}`);
    await evm.node.mine();
    expect(await pay.settle(one)).toHaveProperty("tx_id");
    expect(await evm.sender()).toMatchObject({ state: "sending", problem: null });
  });

  it("because the node lost it is sent again, the same bytes", async () => {
    const one = await unmined();
    await pay.drop(one);
    await evm.node.mine();
    evm.wait(30_000);
    await evm.runSender();
    expect(await pay.settle(one)).toEqual({ tx_id: pay.transactionsOf(one)[0]!.tx_id });
    expect(pay.transactionsOf(one)).toHaveLength(1);
  });

  it("because a lower nonce was lost waits for that, which is sent again", async () => {
    const first = await unmined();
    const second = await unmined();
    await pay.drop(first);
    await evm.node.mine();
    await evm.runSender();
    expect([await pay.ask(first), await pay.ask(second)]).toEqual(["broadcast", "broadcast"]);
    evm.wait(30_000);
    await evm.runSender();
    await evm.node.mine();
    await evm.runSender();
    for (const one of [first, second]) {
      expect(await pay.ask(one)).toEqual({ tx_id: pay.transactionsOf(one)[0]!.tx_id });
    }
  });

  it("can be cancelled: a transfer of nothing takes its nonce, and it is refused then", async () => {
    const one = await unmined();
    await updateCancelled(evm.database, one.key, "cancelled", new Date());
    await evm.runSender();
    expect(await pay.ask(one)).toBe("broadcast");
    await evm.node.mine();
    await evm.runSender();
    expect(await pay.ask(one)).toEqual({ refused: "The operator cancelled it." });
    expect(await pay.balanceOf(one.address)).toBe(0n);
    expect(await pay.settle(pay.next())).toHaveProperty("tx_id");
  });

  it("and was cancelled while the signer was away is never signed", async () => {
    const one = pay.next();
    await pay.ask(one);
    evm.signer.fault = "unavailable";
    await evm.runSender();
    expect(await pay.ask(one)).toBe("planned");
    await updateCancelled(evm.database, one.key, "cancelled", new Date());
    evm.signer.fault = null;
    expect(await pay.settle(one)).toEqual({ refused: "The operator cancelled it." });
    expect(pay.transactionsOf(one)).toEqual([]);
    expect(await pay.settle(pay.next())).toHaveProperty("tx_id");
  });

  it("and was cancelled before a node had it is never sent to one", async () => {
    const one = pay.next();
    await pay.ask(one);
    for (const rpc of evm.rpcs) {
      rpc.instead = ({ method }) => {
        if (method === "eth_sendRawTransaction") throw new Error("internal error");
        return undefined;
      };
    }
    await evm.runSender();
    expect(await pay.ask(one)).toBe("signed");
    await updateCancelled(evm.database, one.key, "cancelled", new Date());
    const told: unknown[] = [];
    for (const rpc of evm.rpcs) {
      rpc.instead = ({ method, params }) => {
        if (method === "eth_sendRawTransaction") told.push(params[0]);
        return undefined;
      };
    }
    evm.wait(6_000);
    const payment = (await attemptsOf(one.key))[0]!.raw;
    expect(await pay.settle(one)).toEqual({ refused: "The operator cancelled it." });
    expect(told.length).toBeGreaterThan(0);
    expect(told).not.toContain(payment);
  });
});

describe("a reorganisation", () => {
  it("that removes our transaction returns it to the queue of the node, not to ours", async () => {
    for (const rpc of evm.rpcs) rpc.finalized_depth = 3;
    const one = pay.next();
    await evm.node.undo(async () => {
      await pay.ask(one);
      await evm.runSender();
      await evm.node.mine();
      await evm.runSender();
      expect(await pay.ask(one)).toBe("mined");
    });
    await evm.node.mine(2);
    evm.wait(30_000);
    await evm.runSender();
    expect(await pay.ask(one)).toBe("broadcast");
    await evm.node.mine(4);
    await evm.runSender();
    expect(await pay.ask(one)).toEqual({ tx_id: pay.transactionsOf(one)[0]!.tx_id });
    expect(await pay.balanceOf(one.address)).toBe(TEN);
  });
});

describe("a node", () => {
  it.each([
    ["is down", { status: 503 }],
    ["limits the rate", { status: 429 }],
    ["hangs", { is_hanging: true }],
  ])("that %s stops the sending; it goes on where it was", async (_name, fault) => {
    const sent = await unmined();
    const one = pay.next();
    await pay.ask(one);
    Object.assign(evm.rpcs[0]!, fault);
    await evm.runSender();
    expect(await evm.sender()).toMatchObject({ state: "unreachable" });
    expect(await pay.ask(one)).toBe("queued");
    Object.assign(evm.rpcs[0]!, { status: 200, is_hanging: false });
    for (const each of [sent, one]) expect(await pay.settle(each)).toHaveProperty("tx_id");
    expect(await evm.sender()).toMatchObject({ state: "sending", problem: null });
  });

  it("that takes the bytes and does not answer is asked again with the same bytes", async () => {
    const one = pay.next();
    await pay.ask(one);
    const fail = ({ method }: { method: string }) => {
      if (method === "eth_sendRawTransaction") throw new Error("internal error");
      return undefined;
    };
    evm.rpcs[0]!.change = fail;
    evm.rpcs[1]!.instead = fail;
    await evm.runSender();
    expect(await pay.ask(one)).toBe("signed");
    // Nothing else is signed before a node has it.
    const next = pay.next();
    await pay.ask(next);
    await evm.runSender();
    expect(await pay.ask(next)).toBe("queued");
    for (const rpc of evm.rpcs) Object.assign(rpc, { change: null, instead: null });
    for (const each of [one, next]) expect(await pay.settle(each)).toHaveProperty("tx_id");
    expect(pay.transactionsOf(one)).toHaveLength(1);
  });

  it("that says yes and forgets the bytes gets them again", async () => {
    const one = pay.next();
    await pay.ask(one);
    for (const rpc of evm.rpcs) {
      rpc.instead = ({ method }) =>
        method === "eth_sendRawTransaction" ? `0x${"12".repeat(32)}` : undefined;
    }
    await evm.runSender();
    expect(await pay.ask(one)).toBe("broadcast");
    for (const rpc of evm.rpcs) rpc.instead = null;
    await evm.node.mine();
    expect(await pay.ask(one)).toBe("broadcast");
    evm.wait(30_000);
    expect(await pay.settle(one)).toHaveProperty("tx_id");
  });

  it("that invents a receipt is not believed alone", async () => {
    const one = await unmined();
    const { tx_id } = pay.transactionsOf(one)[0]!;
    const latest = (await evm.node.ask("eth_getBlockByNumber", "latest", false)) as {
      number: string;
      hash: string;
    };
    evm.rpcs[1]!.change = ({ method, params }) =>
      method === "eth_getTransactionReceipt" && params[0] === tx_id
        ? {
            ...{ status: "0x1", blockNumber: latest.number, blockHash: latest.hash, logs: [] },
            ...{ gasUsed: "0x1", effectiveGasPrice: "0x1" },
          }
        : undefined;
    await evm.runSender();
    expect(await pay.ask(one)).toBe("mined");
    await evm.node.mine();
    await evm.runSender();
    // The nodes say different things about a final block.
    expect(await evm.sender()).toMatchObject({ state: "disagreeing" });
    evm.rpcs[1]!.change = null;
    expect(await pay.settle(one)).toEqual({ tx_id });
  });

  it("that counts more transactions than the other stops new ones until they agree", async () => {
    evm.rpcs[1]!.change = ({ method, params }) =>
      method === "eth_getTransactionCount" && params[1] === "latest" ? "0xffff" : undefined;
    const one = pay.next();
    await pay.ask(one);
    await evm.runSender();
    expect(await evm.sender()).toMatchObject({ state: "disagreeing" });
    expect(await pay.ask(one)).toBe("queued");
    evm.rpcs[1]!.change = null;
    expect(await pay.settle(one)).toHaveProperty("tx_id");
  });
});

describe("gas", () => {
  it("below the floor is a warning, while payments go on", async () => {
    const { chain } = evm.watcher();
    const of = { chain, treasury: TEST_TREASURY, settings: chain.sending! } as Sender;
    const notices = () => gasNotices([of])(evm.database);
    await pay.fund(5n * 10n ** 15n);
    expect(await pay.settle(pay.next())).toHaveProperty("tx_id");
    expect(await notices()).toEqual(["The treasury on polygon has little native coin for gas."]);
    await pay.fund();
    expect(await pay.settle(pay.next())).toHaveProperty("tx_id");
    expect(await notices()).toEqual([]);
  });

  it("that is missing keeps payments queued, and the operator is told", async () => {
    await pay.fund(10n ** 9n);
    const one = pay.next();
    await pay.ask(one);
    await evm.runSender();
    expect(await evm.sender()).toMatchObject({
      state: "waiting",
      problem: expect.stringMatching(/too little native coin for gas/),
    });
    expect(pay.transactionsOf(one)).toEqual([]);
    await pay.fund();
    expect(await pay.settle(one)).toHaveProperty("tx_id");
  });

  it("that is missing after it was signed keeps the signed bytes, which are sent then", async () => {
    const one = pay.next();
    await pay.ask(one);
    evm.signer.beforeSign = () => pay.fund(1n);
    await evm.runSender();
    expect(await pay.ask(one)).toBe("signed");
    expect((await evm.sender())!.problem).toMatch(/too little native coin for gas/);
    evm.signer.beforeSign = null;
    await pay.fund();
    expect(await pay.settle(one)).toHaveProperty("tx_id");
    expect(pay.transactionsOf(one)).toHaveLength(1);
  });
});

describe("the signer", () => {
  it("that refuses leaves no gap: the nonce goes to the next payment", async () => {
    const one = pay.next();
    await pay.ask(one);
    evm.signer.fault = "refuses";
    await evm.runSender();
    expect(await pay.ask(one)).toBe("queued");
    expect(await evm.sender()).toMatchObject({
      state: "waiting",
      problem: expect.stringContaining("the limit of a day is used up"),
    });
    evm.signer.fault = null;
    const next = pay.next();
    expect(await pay.settle(next)).toHaveProperty("tx_id");
    evm.wait(5 * MINUTE_MS);
    expect(await pay.settle(one)).toHaveProperty("tx_id");
  });

  it("that has used a nonce for what the database lost signs a transfer of nothing for it", async () => {
    await pay.settle(pay.next());
    const { next_nonce } = (await evm.sender())!;
    evm.signer.lost = new Set([next_nonce!, next_nonce! + 1]);
    const one = pay.next();
    for (let round = 0; round < 4; round += 1) {
      await pay.ask(one);
      await evm.runSender();
      await evm.node.mine();
      evm.wait(5 * MINUTE_MS);
    }
    expect(await pay.settle(one)).toHaveProperty("tx_id");
    expect((await evm.sendOf(one.key))!.nonce).toBe(next_nonce! + 2);
    expect(pay.transactionsOf(one)).toHaveLength(1);
    expect(await evm.sender()).toMatchObject({ state: "sending", problem: null });
  });

  it("that refuses what was cancelled meanwhile ends it", async () => {
    const one = pay.next();
    await pay.ask(one);
    evm.signer.fault = "unavailable";
    await evm.runSender();
    await updateCancelled(evm.database, one.key, "cancelled", new Date());
    evm.signer.fault = "refuses";
    await evm.runSender();
    expect(await pay.ask(one)).toEqual({ refused: "The operator cancelled it." });
  });

  it.each(["unavailable", "answer_lost"] as const)(
    "that is %s is asked again for the same transaction",
    async (fault) => {
      const one = pay.next();
      await pay.ask(one);
      evm.signer.fault = fault;
      await evm.runSender();
      expect(await pay.ask(one)).toBe("planned");
      expect(await evm.sender()).toMatchObject({ state: "unreachable" });
      evm.signer.fault = null;
      evm.wait(2 * MINUTE_MS);
      expect(await pay.settle(one)).toHaveProperty("tx_id");
      expect(pay.transactionsOf(one)).toHaveLength(1);
    },
  );
});

it("a crash before or after any commit sends one transaction, signed once", async () => {
  const commits = await atEveryCommit(evm.database, async (run, round) => {
    const one = pay.next();
    await pay.ask(one);
    const work = () =>
      run(async (database) => {
        await evm.runSender(database);
      });
    await work().catch(async (error: unknown) => {
      if (!(error instanceof Crash)) throw error;
      evm.wait(6_000);
      await work();
    });
    expect(await pay.settle(one), round).toHaveProperty("tx_id");
    expect(await pay.balanceOf(one.address), round).toBe(TEN);
    expect(pay.transactionsOf(one), round).toHaveLength(1);
  });
  expect(commits).toBeGreaterThanOrEqual(3);
});

it("two workers at once send each payment once", async () => {
  const many = Array.from({ length: 6 }, () => pay.next());
  for (const one of many) await pay.ask(one);
  for (let round = 0; round < 4; round += 1) {
    await Promise.all([evm.runSender(), evm.runSender(), evm.runSender()]);
    await evm.node.mine();
  }
  for (const one of many) {
    expect(await pay.settle(one)).toHaveProperty("tx_id");
    expect(await pay.balanceOf(one.address)).toBe(TEN);
    expect(pay.transactionsOf(one)).toHaveLength(1);
  }
});

it("a clock that was a day ahead and is set back delays no payment by a day", async () => {
  const [held, sent] = [pay.next(), pay.next()];
  evm.held.add(held.key);
  evm.wait(DAY_MS);
  for (const one of [held, sent]) await pay.ask(one);
  await evm.runSender();
  expect(await pay.ask(sent)).toBe("broadcast");
  expect(await evm.sendOf(held.key)).toMatchObject({ state: "queued", retry_at: expect.any(Date) });
  evm.wait(-DAY_MS);
  evm.held.delete(held.key);
  await pay.drop(sent);
  await evm.runSender();
  expect(await pay.ask(held)).toBe("broadcast");
  for (const one of [held, sent]) expect(await pay.settle(one)).toHaveProperty("tx_id");
});

it("a payment that nobody asks for any more is not signed", async () => {
  const one = pay.next();
  await pay.ask(one);
  evm.wait(3 * MINUTE_MS);
  await evm.runSender();
  expect((await evm.sendOf(one.key))!.state).toBe("queued");
  expect(await pay.settle(one)).toHaveProperty("tx_id");
});

/** As the operator does. */
function resume() {
  const { chain, rpcs } = evm.watcher();
  return resumeSender(evm.database, { chain, rpcs }, TEST_TREASURY, new Date(), () => {});
}

describe("a row that somebody changed in the database", () => {
  const change = (key: string, to: string) =>
    evm.database.query(`update evm_sends set action = ${to} where key = $1`, [key]);

  it.each([
    ["an amount that is no number", `action || '{"amount": "a lot"}'`],
    ["an amount below zero", `action || '{"amount": "-5"}'`],
    ["a JSON number as the amount", `action || '{"amount": 5.5}'`],
    ["an address that is none", `action || '{"to": "0x12"}'`],
    ["another kind", `action || '{"kind": "burn"}'`],
    ["no fields", "'{}'"],
    ["a list", "'[1]'"],
  ])("is set aside while it is queued, and the others go on: %s", async (_name, to) => {
    const [one, other] = [pay.next(), pay.next()];
    await pay.ask(one);
    await change(one.key, to);
    await pay.ask(other);
    await evm.runSender();
    expect(await pay.settle(other)).toHaveProperty("tx_id");
    expect(await evm.sender()).toMatchObject({
      state: "waiting",
      problem: `${one.key} is not an action that can be sent: its row was not written by Sliproad`,
    });
    expect(await evm.sendOf(one.key)).toMatchObject({ state: "queued", nonce: null });
    expect(pay.transactionsOf(one)).toEqual([]);
    await updateCancelled(evm.database, one.key, "cancelled", new Date());
    evm.wait(MINUTE_MS);
    await evm.runSender();
    expect(await evm.sender()).toMatchObject({ state: "sending", problem: null });
  });

  it("after it got its nonce gives the nonce back", async () => {
    const [one, other] = [pay.next(), pay.next()];
    await pay.ask(one);
    evm.signer.fault = "unavailable";
    await evm.runSender();
    evm.signer.fault = null;
    expect(await evm.sendOf(one.key)).toMatchObject({ state: "planned" });
    await change(one.key, `action || '{"amount": "x"}'`);
    await pay.ask(other);
    expect(await pay.settle(other)).toHaveProperty("tx_id");
    expect(pay.transactionsOf(one)).toEqual([]);
    await updateCancelled(evm.database, one.key, "cancelled", new Date());
  });

  it("after it was sent is followed, but never called paid until it can be read again", async () => {
    const one = await unmined();
    const [stored] = await evm.database.query<{ action: object }>(
      "select action from evm_sends where key = $1",
      [one.key],
    );
    await change(one.key, `action || '{"amount": "x"}'`);
    await evm.database.query("update evm_attempts set max_fee = max_fee + 0.5 where key = $1", [
      one.key,
    ]);
    await evm.node.mine();
    const other = pay.next();
    expect(await pay.settle(other)).toHaveProperty("tx_id");
    expect(await evm.sendOf(one.key)).toMatchObject({ state: "mined" });
    expect((await evm.sender())!.problem).toContain(one.key);
    await change(one.key, `'${JSON.stringify(stored!.action)}'`);
    expect(await pay.settle(one)).toHaveProperty("tx_id");
    expect(await evm.sender()).toMatchObject({ state: "sending", problem: null });
  });
});

it("a transaction that succeeds without its transfer stops the sending; it ends when resumed", async () => {
  const one = await unmined();
  for (const rpc of evm.rpcs) {
    rpc.change = ({ method }, answer) =>
      method === "eth_getTransactionReceipt" && answer ? { ...answer, logs: [] } : undefined;
  }
  await evm.node.mine();
  await evm.runSender();
  expect(await evm.sender()).toMatchObject({
    state: "stopped",
    problem: expect.stringMatching(/its log does not have the transfer/),
  });
  expect(await pay.ask(one)).toBe("mined");
  await resume();
  expect(await pay.ask(one)).toHaveProperty("tx_id");
});

describe("somebody else with the key", () => {
  const foreign = async (nonce: number) => {
    const account = mnemonicToAccount(TEST_WORDS, { accountIndex: 1 });
    const raw = await account.signTransaction({
      ...{ type: "eip1559", chainId: 31_337, nonce, gas: 21_000n, to: account.address },
      ...{ maxFeePerGas: 500n * GWEI, maxPriorityFeePerGas: 400n * GWEI },
    });
    await evm.node.ask("eth_sendRawTransaction", raw);
    await evm.node.mine();
  };
  it("stops the sending loudly, until the operator resumes it", async () => {
    const { next_nonce } = (await evm.sender())!;
    await foreign(next_nonce!);
    const one = pay.next();
    await pay.ask(one);
    await evm.runSender();
    expect(await evm.sender()).toMatchObject({
      state: "stopped",
      problem: expect.stringMatching(/somebody else has its key, or this database is an old copy/),
    });
    await evm.runSender();
    expect(await pay.ask(one)).toBe("queued");
    expect(await resume()).toEqual({ next_nonce: next_nonce! + 1, lost: [] });
    expect(await pay.settle(one)).toHaveProperty("tx_id");
    await expect(resume()).rejects.toThrow(/is not stopped/);
  });

  it("is noticed while nothing is mined yet: nothing new is signed", async () => {
    const { next_nonce } = (await evm.sender())!;
    const pending = `0x${(next_nonce! + 1).toString(16)}`;
    evm.rpcs[0]!.change = ({ method, params }) =>
      method === "eth_getTransactionCount" && params[1] === "pending" ? pending : undefined;
    const one = pay.next();
    await pay.ask(one);
    await evm.runSender();
    expect(await evm.sender()).toMatchObject({
      state: "disagreeing",
      problem: expect.stringMatching(/on their way that are not known here/),
    });
    expect(await pay.ask(one)).toBe("queued");
    evm.rpcs[0]!.change = null;
    expect(await pay.settle(one)).toHaveProperty("tx_id");
  });

  it("may be an old copy of the database: it stops at the first look, and /readyz fails", async () => {
    await evm.database.query("update evm_senders set next_nonce = next_nonce - 1");
    evm.wait(MINUTE_MS);
    await evm.runSender();
    expect(await evm.sender()).toMatchObject({ state: "stopped" });
    const { chain } = evm.watcher();
    const sender = { chain, treasury: TEST_TREASURY } as Sender;
    const ready = sendReadiness([sender]);
    expect(await ready(evm.database, { real_now: new Date() })).toEqual([
      "polygon does not send (stopped); see sliproad sends list.",
    ]);
    await resume();
    expect(await ready(evm.database, { real_now: new Date() })).toEqual([]);
    expect(await pay.settle(pay.next())).toHaveProperty("tx_id");
  });

  it("is not seen in our own payment whose bytes the database has lost: it is signed again", async () => {
    const one = await unmined();
    await evm.node.mine();
    const lost = "raw = null, tx_id = null, tried_at = null, accepted_at = null, answer = null";
    await evm.database.query(`update evm_attempts set ${lost} where key = $1`, [one.key]);
    await evm.database.query("update evm_sends set state = 'planned' where key = $1", [one.key]);
    evm.wait(MINUTE_MS);
    await evm.runSender();
    expect((await evm.sender())!.state).not.toBe("stopped");
    expect(await pay.settle(one)).toHaveProperty("tx_id");
    expect(await evm.sender()).toMatchObject({ state: "sending", problem: null });
  });

  it("who takes the nonce of our payment stops it too; that payment is refused then", async () => {
    const one = await unmined();
    await foreign((await evm.sendOf(one.key))!.nonce!);
    await evm.runSender();
    expect(await evm.sender()).toMatchObject({
      state: "stopped",
      problem: expect.stringMatching(/was used by a transaction that is not known here/),
    });
    expect(await pay.ask(one)).toBe("broadcast");
    expect(await resume()).toMatchObject({ lost: [one.key] });
    expect(await pay.ask(one)).toEqual({ refused: expect.stringMatching(/has used its nonce/) });
    expect(await pay.balanceOf(one.address)).toBe(0n);
    expect(await pay.settle(pay.next())).toHaveProperty("tx_id");
  });
});

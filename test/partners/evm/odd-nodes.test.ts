import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createWatcher, watchChain } from "../../../src/partners/chain/evm/watch-chain.ts";
import { openTestEvm, type TestEvm } from "../../harness/evm/test-evm.ts";

const TEN = 10_000_000n;

type TestLog = { address: string; blockNumber: string; logIndex: string; removed: boolean };
type Filter = { fromBlock: string; toBlock: string };

let evm: TestEvm;
beforeAll(async () => {
  evm = await openTestEvm();
});
afterAll(() => evm.close());
beforeEach(async () => {
  Object.assign(evm.rpcs[0]!, { finalized_depth: 0, change: null, instead: null });
  expect(await evm.watch()).toBe("current");
});

/** Changes the logs that the node answers with. */
function changeLogs(change: (logs: TestLog[], filter: Filter) => unknown[]): void {
  evm.rpcs[0]!.change = ({ method, params }, answer) =>
    method === "eth_getLogs" ? change(answer as TestLog[], params[0] as Filter) : undefined;
}

async function paid(): Promise<string> {
  const address = await evm.issue();
  await evm.tokens.usdc.transfer(address, TEN);
  return address;
}

async function amounts(address: string): Promise<bigint[]> {
  return (await evm.credited(address)).map(({ amount }) => amount);
}

describe("a node alone", () => {
  it("that sends each log twice has it credited once, at its amount", async () => {
    const address = await paid();
    changeLogs((logs) => [...logs, ...logs]);
    expect(await evm.watch()).toBe("current");
    expect(await amounts(address)).toEqual([TEN]);
    expect(await evm.findings(address)).toEqual([]);
  });

  it("that sends logs of other blocks is not believed about them; they are read in their turn", async () => {
    const address = await paid();
    await evm.node.mine(2);
    const all = (await evm.node.ask("eth_getLogs", {
      ...{ fromBlock: "0x0", toBlock: "latest", address: evm.tokens.usdc.address },
    })) as TestLog[];
    // As if the range were that of the last block only.
    const latest = Number(await evm.node.ask("eth_blockNumber"));
    evm.rpcs[0]!.finalized_depth = 2;
    changeLogs(() => all);
    expect(await evm.watch()).toBe("current");
    expect(await amounts(address)).toEqual([TEN]);
    evm.rpcs[0]!.finalized_depth = 0;
    expect(await evm.watch()).toBe("current");
    expect(await evm.state()).toMatchObject({ scanned_block: BigInt(latest) });
    expect(await amounts(address)).toEqual([TEN]);
  });

  it("that says a log was removed stops the reading", async () => {
    const address = await paid();
    changeLogs((logs) => logs.map((log) => ({ ...log, removed: true })));
    expect(await evm.watch()).toBe("unreachable");
    expect((await evm.state()).problem).toContain("a log that was removed");
    expect(await amounts(address)).toEqual([]);
    evm.rpcs[0]!.change = null;
    expect(await evm.watch()).toBe("current");
    expect(await amounts(address)).toEqual([TEN]);
  });

  it("that silently leaves out what exceeds its limit is asked for fewer blocks", async () => {
    const address = await paid();
    await evm.node.mine(40);
    const stranger = { address: `0x${"77".repeat(20)}`, topics: [], data: "0x" };
    const hash = `0x${"7".repeat(64)}`;
    const foreign = { ...stranger, blockNumber: "0x1", blockHash: hash, transactionHash: hash };
    changeLogs((logs, { fromBlock, toBlock }) =>
      Number(toBlock) - Number(fromBlock) < 5
        ? logs
        : Array.from({ length: 1_000 }, (_, at) => ({
            ...{ ...foreign, logIndex: `0x${at.toString(16)}` },
          })),
    );
    expect(await evm.watch()).toBe("current");
    expect(await amounts(address)).toEqual([TEN]);
  });

  it("whose head is old, as after a restart, changes nothing until it is back", async () => {
    const address = await paid();
    await evm.node.mine(5);
    expect(await evm.watch()).toBe("current");
    const before = await evm.state();
    const old = (await evm.node.ask("eth_getBlockByNumber", "0x3", false)) as object;
    evm.rpcs[0]!.change = ({ method, params }) =>
      method === "eth_getBlockByNumber" && !String(params[0]).startsWith("0x") ? old : undefined;
    await evm.restart();
    expect(await evm.watch()).toBe("current");
    expect(await evm.state()).toMatchObject({ scanned_block: before.scanned_block });
    evm.rpcs[0]!.change = null;
    const next = await paid();
    expect(await evm.watch()).toBe("current");
    expect(await amounts(address)).toEqual([TEN]);
    expect(await amounts(next)).toEqual([TEN]);
  });

  it.each([
    [-32_005, "project ID request rate exceeded"],
    [429, "Your app has exceeded its capacity"],
    [-32_005, "daily request count exceeded"],
  ])("that limits the rate with %i %s is not asked for fewer blocks", async (code, message) => {
    await evm.node.mine(50);
    changeLogs(() => {
      throw Object.assign(new Error(message), { code });
    });
    const before = evm.rpcs[0]!.count("eth_getLogs");
    expect(await evm.watch()).toBe("unreachable");
    expect(evm.rpcs[0]!.count("eth_getLogs") - before).toBe(1);
  });
});

it("two watchers at once store each transfer once, and nobody misses one", async () => {
  const addresses: string[] = [];
  for (let count = 0; count < 6; count += 1) {
    addresses.push(await paid());
    await evm.node.mine(20);
  }
  const { chain, rpcs, proofs } = evm.watcher();
  const clock = { now: () => new Date(), difference_ms: () => 0, refresh: async () => {} };
  const watch = async () => {
    const watcher = { ...createWatcher({ chain, rpcs }, proofs), range_blocks: 7 };
    for (;;) {
      const state = await watchChain({ database: evm.database, clock }, watcher);
      if (state === "current") return;
    }
  };
  await Promise.all([watch(), watch(), watch()]);
  let cursor: string | null = null;
  const listed: string[] = [];
  for (;;) {
    const page = await evm.port.listTransfers("polygon", cursor, 2);
    if (page.cursor === cursor) break;
    listed.push(...page.transfers.map(({ address }) => address));
    cursor = page.cursor;
  }
  expect(listed.filter((address) => addresses.includes(address))).toEqual(addresses);
});

it("a clock that was ahead and is set back does not stop the reading", async () => {
  const watcher = { ...evm.watcher(), next_at_ms: 0 };
  let ahead_ms = 86_400_000;
  const clock = {
    now: () => new Date(Date.now() + ahead_ms),
    difference_ms: () => ahead_ms,
    refresh: async () => {},
  };
  const watch = () => watchChain({ database: evm.database, clock }, watcher);
  expect(await watch()).toBe("current");
  ahead_ms = 0;
  const address = await paid();
  // The chain is asked without a pause (poll_seconds is 0).
  expect(await watch()).toBe("current");
  expect(await amounts(address)).toEqual([TEN]);
});

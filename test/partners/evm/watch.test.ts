import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { noticesOf, readinessOf } from "../../../src/partners/chain/evm/health.ts";
import { HOUR_MS } from "../../../src/platform/durations.ts";
import { settingsOf } from "../../harness/evm/chains-file.ts";
import { openTestEvm, type TestEvm } from "../../harness/evm/test-evm.ts";

const TEN = 10_000_000n;

let evm: TestEvm;
beforeAll(async () => {
  evm = await openTestEvm({ rpcs: 2 });
});
afterAll(() => evm.close());
beforeEach(async () => {
  for (const rpc of evm.rpcs) {
    Object.assign(rpc, {
      finalized_depth: 0,
      status: 200,
      is_hanging: false,
      blocks_max: 1_000_000,
      refusal_status: 200,
      change: null,
    });
  }
  expect(await evm.watch()).toBe("current");
});

/** The node keeps no state of old blocks. */
const forget = (call: { method: string; params: unknown[] }) => {
  if (call.method !== "eth_call" || call.params[1] === "latest") return undefined;
  throw Object.assign(new Error("missing trie node"), { code: -32_000 });
};

/** Until all is read twice: what was read before, then the last blocks. */
async function readAllAgain(): Promise<void> {
  for (let hour = 0; hour < 3; hour += 1) {
    evm.wait(HOUR_MS);
    for (let range = 0; range < 10; range += 1) await evm.watch();
  }
}

function finalAfter(blocks: number): void {
  for (const rpc of evm.rpcs) rpc.finalized_depth = blocks;
}

describe("a deposit", () => {
  it("is credited when its block is final, not before", async () => {
    finalAfter(5);
    const address = await evm.issue();
    const tx_id = await evm.tokens.usdc.transfer(address, TEN);
    await evm.node.mine(4);
    await evm.watch();
    expect(await evm.credited(address)).toEqual([]);
    const named = { tx_id, address, token: "usdc" as const };
    expect(await evm.port.findStatus("polygon", named)).toBe("pending");
    await evm.node.mine();
    await evm.watch();
    expect(await evm.credited(address)).toEqual([{ tx_id, amount: TEN, token: "usdc" }]);
    expect(await evm.port.findStatus("polygon", named)).toBe("final");
  });

  it("that a reorganisation removes before it is final is never credited", async () => {
    finalAfter(5);
    const address = await evm.issue();
    await evm.node.undo(async () => {
      await evm.tokens.usdc.transfer(address, TEN);
      await evm.node.mine(2);
      expect(await evm.watch()).toBe("current");
    });
    await evm.node.mine(20);
    expect(await evm.watch()).toBe("current");
    expect(await evm.credited(address)).toEqual([]);
  });

  it("that a reorganisation moves to another block is credited once", async () => {
    finalAfter(5);
    const address = await evm.issue();
    await evm.node.undo(async () => {
      await evm.tokens.usdc.transfer(address, TEN);
      await evm.watch();
    });
    await evm.node.mine();
    const tx_id = await evm.tokens.usdc.transfer(address, TEN);
    await evm.node.mine(5);
    await evm.watch();
    expect(await evm.credited(address)).toEqual([{ tx_id, amount: TEN, token: "usdc" }]);
  });

  it("of several in one transaction is credited to each address", async () => {
    const addresses = [await evm.issue(), await evm.issue()] as const;
    await evm.tokens.usdt.transferMany([...addresses, addresses[0]], 3_000_000n);
    await evm.watch();
    expect(await evm.credited(addresses[0])).toHaveLength(2);
    expect(await evm.credited(addresses[1])).toHaveLength(1);
    expect(await evm.findings(addresses[0])).toEqual([]);
  });

  it("is found after weeks without reading, in ranges as small as the node allows", async () => {
    const first = await evm.issue();
    await evm.tokens.usdc.transfer(first, TEN);
    await evm.node.mine(3_000);
    const last = await evm.issue();
    await evm.tokens.usdc.transfer(last, TEN);
    for (const rpc of evm.rpcs) rpc.blocks_max = 100;
    await evm.restart();
    expect(await evm.watch()).toBe("current");
    expect(await evm.credited(first)).toHaveLength(1);
    expect(await evm.credited(last)).toHaveLength(1);
  });
});

describe("what is no deposit", () => {
  it("is never credited: a fake token of the same symbol, a transfer of zero", async () => {
    const address = await evm.issue();
    await evm.tokens.fake.transfer(address, TEN);
    await evm.tokens.usdc.transfer(address, 0n);
    await evm.watch();
    expect(await evm.credited(address)).toEqual([]);
    expect(await evm.findings(address)).toEqual([]);
  });

  it("a failed transaction is not credited, and its status is failed", async () => {
    const address = await evm.issue();
    const too_much = 10n ** 40n;
    await evm.tokens.usdc.transfer(address, too_much).catch(() => {});
    const latest = (await evm.node.ask("eth_getBlockByNumber", "latest", false)) as {
      transactions: string[];
    };
    const tx_id = latest.transactions[0]!;
    await evm.watch();
    expect(await evm.credited(address)).toEqual([]);
    const named = { tx_id, address, token: "usdc" as const };
    expect(await evm.port.findStatus("polygon", named)).toBe("failed");
  });

  it("a log without a movement of tokens is shown to the operator, not credited", async () => {
    const address = await evm.issue();
    await evm.tokens.usdc.pretend(address, TEN);
    const tx_id = await evm.tokens.usdc.transfer(address, TEN);
    await evm.watch();
    expect(await evm.credited(address)).toEqual([{ tx_id, amount: TEN, token: "usdc" }]);
    expect(await evm.findings(address)).toEqual(["balance_mismatch"]);
  });

  it.each([
    ["in a later range", true],
    ["in the same range", false],
  ])("also if the node has forgotten the state of that block, %s", async (_name, is_later) => {
    for (const rpc of evm.rpcs) rpc.change = forget;
    const address = await evm.issue();
    const tx_id = await evm.tokens.usdc.transfer(address, TEN);
    if (is_later) await evm.watch();
    await evm.tokens.usdc.pretend(address, TEN);
    await evm.watch();
    expect(await evm.credited(address)).toEqual([{ tx_id, amount: TEN, token: "usdc" }]);
    expect(await evm.findings(address)).toEqual(["balance_mismatch"]);
  });

  it("a known token that is not accepted is shown to the operator, not credited", async () => {
    const address = await evm.issue();
    await evm.tokens.other.transfer(address, TEN);
    await evm.watch();
    expect(await evm.credited(address)).toEqual([]);
    expect(await evm.findings(address)).toEqual(["other_token"]);
  });
});

it("a transfer to an address of another chain is shown to the operator, not credited", async () => {
  const [address] = await evm.port.issueAddresses(evm.database, ["base"], new Date());
  await evm.tokens.usdc.transfer(address!, TEN);
  expect(await evm.watch()).toBe("current");
  expect(await evm.credited(address!)).toEqual([]);
  expect(await evm.findings(address!)).toEqual(["other_chain"]);
});

describe("a node", () => {
  it("that leaves out a transfer is found out by the other, and nothing is credited", async () => {
    const address = await evm.issue();
    await evm.tokens.usdc.transfer(address, TEN);
    evm.rpcs[1]!.change = ({ method }) => (method === "eth_getLogs" ? [] : undefined);
    const before = await evm.state();
    expect(await evm.watch()).toBe("disagreeing");
    expect(await evm.state()).toMatchObject({
      scanned_block: before.scanned_block,
      problem: expect.stringContaining("have different transfers or blocks"),
    });
    expect(await evm.credited(address)).toEqual([]);
    evm.rpcs[1]!.change = null;
    expect(await evm.watch()).toBe("current");
    expect(await evm.state()).toMatchObject({ problem: null });
    expect(await evm.credited(address)).toHaveLength(1);
  });

  it("that invents a transfer, on its own receipt, is found out too", async () => {
    const address = await evm.issue();
    await evm.tokens.usdc.transfer(address, TEN);
    const raise = (log: { data: string }) => ({ ...log, data: `0x${"0".repeat(62)}ff` });
    for (const rpc of evm.rpcs) {
      rpc.change = ({ method }, answer) =>
        method === "eth_getLogs" ? (answer as { data: string }[]).map(raise) : undefined;
    }
    expect(await evm.watch()).toBe("disagreeing");
    expect(await evm.credited(address)).toEqual([]);
    for (const rpc of evm.rpcs) rpc.change = null;
    expect(await evm.watch()).toBe("current");
    expect((await evm.credited(address)).map(({ amount }) => amount)).toEqual([TEN]);
  });

  it.each([
    ["is down", { status: 503 }],
    ["limits the rate", { status: 429 }],
    ["hangs", { is_hanging: true }],
  ])("that %s stops the reading; it goes on where it was", async (_name, fault) => {
    const address = await evm.issue();
    await evm.tokens.usdc.transfer(address, TEN);
    Object.assign(evm.rpcs[0]!, fault);
    expect(await evm.watch()).toBe("unreachable");
    const { problem } = await evm.state();
    expect(problem).toContain(new URL(evm.rpcs[0]!.url).host);
    expect(await evm.credited(address)).toEqual([]);
    Object.assign(evm.rpcs[0]!, { status: 200, is_hanging: false });
    expect(await evm.watch()).toBe("current");
    expect(await evm.credited(address)).toHaveLength(1);
  });

  it("that is behind the other delays the reading and loses nothing", async () => {
    const address = await evm.issue();
    await evm.tokens.usdc.transfer(address, TEN);
    evm.rpcs[1]!.finalized_depth = 3;
    expect(await evm.watch()).toBe("current");
    expect(await evm.credited(address)).toEqual([]);
    await evm.node.mine(3);
    await evm.watch();
    expect(await evm.credited(address)).toHaveLength(1);
  });

  it("that has forgotten the state of a block agrees with one that has not", async () => {
    const address = await evm.issue();
    evm.rpcs[1]!.change = forget;
    await evm.tokens.usdc.pretend(address, TEN);
    const tx_id = await evm.tokens.usdc.transfer(address, TEN);
    expect(await evm.watch()).toBe("current");
    await readAllAgain();
    expect(await evm.state()).toMatchObject({ state: "current", problem: null });
    expect(await evm.credited(address)).toEqual([{ tx_id, amount: TEN, token: "usdc" }]);
    expect(await evm.findings(address)).toEqual(["balance_mismatch"]);
  });

  it("that refuses a range with HTTP 400 is asked for fewer blocks", async () => {
    const address = await evm.issue();
    await evm.tokens.usdc.transfer(address, TEN);
    await evm.node.mine(300);
    for (const rpc of evm.rpcs) Object.assign(rpc, { blocks_max: 50, refusal_status: 400 });
    await evm.restart();
    expect(await evm.watch()).toBe("current");
    expect(await evm.credited(address)).toHaveLength(1);
  });

  it("that limits the rate in its answer is not asked for fewer blocks", async () => {
    await evm.node.mine(300);
    evm.rpcs[0]!.change = ({ method }) => {
      if (method === "eth_getLogs") throw Object.assign(new Error("rate limit"), { code: -32_005 });
    };
    const before = evm.rpcs[0]!.count("eth_getLogs");
    await evm.restart();
    expect(await evm.watch()).toBe("unreachable");
    expect(evm.rpcs[0]!.count("eth_getLogs") - before).toBe(1);
  });

  it.each([
    ["a list", [{ a: 1 }]],
    ["an index beyond 31 bits", (log: object) => ({ ...log, logIndex: "0x80000000" })],
  ])("that answers nonsense is not believed: %s", async (_name, wrong) => {
    await evm.tokens.usdc.transfer(await evm.issue(), TEN);
    evm.rpcs[0]!.change = ({ method }, answer) => {
      if (method !== "eth_getLogs") return undefined;
      return typeof wrong === "function" ? (answer as object[]).map(wrong) : wrong;
    };
    expect(await evm.watch()).toBe("unreachable");
    expect((await evm.state()).problem).toContain("answered eth_getLogs with");
  });

  it("that answers what cannot be stored is reported like one that does not answer", async () => {
    await evm.node.mine();
    evm.rpcs[0]!.change = ({ method }) => {
      if (method !== "eth_getLogs") return undefined;
      throw Object.assign(new Error("no\u0000 \u001b[2J"), { code: -32_000 });
    };
    expect(await evm.watch()).toBe("unreachable");
    expect((await evm.state()).problem).not.toMatch(/\p{Cc}/u);
    const timestamp = `0x${Number.MAX_SAFE_INTEGER.toString(16)}`;
    evm.rpcs[0]!.change = ({ method }) =>
      method === "eth_getBlockByNumber"
        ? { number: "0x1", hash: `0x${"1".repeat(64)}`, timestamp }
        : undefined;
    expect(await evm.watch()).toBe("unreachable");
    expect((await evm.state()).problem).toContain("a number that is too large");
  });
});

it.each([
  ["keep", null],
  ["forget", forget],
])(
  "blocks are read again after an hour, in case that nodes, which %s old states, left something out",
  async (_name, change) => {
    const address = await evm.issue();
    evm.wait(2 * HOUR_MS);
    await evm.watch();
    const first = await evm.tokens.usdc.transfer(address, TEN);
    await evm.watch();
    const second = await evm.tokens.usdc.transfer(address, TEN);
    for (const rpc of evm.rpcs) {
      rpc.change = ({ method }) => (method === "eth_getLogs" ? [] : undefined);
    }
    await evm.watch();
    expect((await evm.credited(address)).map(({ tx_id }) => tx_id)).toEqual([first]);
    for (const rpc of evm.rpcs) rpc.change = change;
    await readAllAgain();
    expect((await evm.credited(address)).map(({ tx_id }) => tx_id)).toEqual([first, second]);
    expect(await evm.findings(address)).toEqual([]);
  },
);

it("/readyz says how old the last final block is, once it is too old", async () => {
  const { chains } = settingsOf({ polygon: evm.entry });
  const ask = (minutes: number) =>
    readinessOf(chains)(evm.database, { real_now: new Date(Date.now() + minutes * 60_000) });
  await evm.node.mine();
  await evm.watch();
  expect(await ask(59)).toEqual([]);
  expect(await ask(90)).toEqual([
    expect.stringMatching(/^polygon has had no new final block for (89|90) minutes\.$/),
  ]);
});

it("a node that answers slowly is read on, and /readyz says so", async () => {
  const { chains } = settingsOf({ polygon: evm.entry });
  const address = await evm.issue();
  await evm.tokens.usdc.transfer(address, TEN);
  evm.rpcs[1]!.delay_ms = 1_100;
  expect(await evm.watch()).toBe("current");
  expect(await evm.credited(address)).toHaveLength(1);
  const notices = noticesOf(chains);
  expect(await notices(evm.database)).toEqual([
    expect.stringMatching(/^A node of polygon takes 1\.\d seconds to answer\.$/),
  ]);
  evm.rpcs[1]!.delay_ms = 0;
  await evm.watch();
  expect(await notices(evm.database)).toEqual([]);
});

describe("a final block that is replaced", () => {
  it("stops the reading until somebody looks; then nothing is credited twice", async () => {
    const [kept, gone, later] = [await evm.issue(), await evm.issue(), await evm.issue()];
    const pay = () => evm.tokens.usdc.transfer(kept, TEN);
    let tx_id = "";
    await evm.node.undo(async () => {
      tx_id = await pay();
      await evm.tokens.usdc.transfer(gone, TEN);
      await evm.watch();
      expect(await evm.credited(gone)).toHaveLength(1);
    });
    await expect(evm.resume()).rejects.toThrow("polygon is current: only a reorganised chain");
    // The same transaction in another block, and one that was not there before.
    await evm.node.ask("evm_increaseTime", 5);
    expect(await pay()).toBe(tx_id);
    await evm.tokens.usdc.transfer(later, TEN);
    await evm.node.mine(2);
    expect(await evm.watch()).toBe("reorganised");
    expect((await evm.state()).problem).toContain("deposits up to it may not exist any more");
    const named = { tx_id, address: kept, token: "usdc" as const };
    await expect(evm.port.findStatus("polygon", named)).rejects.toThrow("polygon is reorganised");

    const { vanished } = await evm.resume();
    expect(vanished.map(({ address }) => address)).toEqual([gone]);
    expect(await evm.watch()).toBe("current");
    expect(await evm.credited(kept)).toEqual([{ tx_id, amount: TEN, token: "usdc" }]);
    expect(await evm.findings(kept)).toEqual(["reorganised"]);
    expect(await evm.credited(gone)).toEqual([]);
    expect(await evm.findings(gone)).toEqual(["vanished"]);
    expect(await evm.credited(later)).toHaveLength(1);
    expect(await evm.port.findStatus("polygon", named)).toBe("final");
  });

  it("is resumed from a block that was not replaced, whatever the operator says", async () => {
    const address = await evm.issue();
    await evm.node.undo(async () => {
      await evm.tokens.usdc.transfer(address, TEN);
      await evm.node.mine(3);
      await evm.watch();
    });
    const before = Number(await evm.node.ask("eth_blockNumber"));
    await evm.node.mine(6);
    expect(await evm.watch()).toBe("reorganised");
    await expect(evm.resume(before + 100)).rejects.toThrow("can be at most");
    const { after_block } = await evm.resume(before + 3);
    expect(after_block).toBe(before);
    expect(await evm.watch()).toBe("current");
    expect(await evm.findings(address)).toEqual(["vanished"]);
  });
});

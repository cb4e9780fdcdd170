import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadChains } from "../../../src/partners/chain/evm/load-chains.ts";
import { openWallet } from "../../../src/partners/chain/evm/wallet.ts";
import { chainsFile, TEST_XPUB } from "../../harness/evm/chains-file.ts";
import { openTestEvm, type TestEvm } from "../../harness/evm/test-evm.ts";

const TOKEN = { address: "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359", decimals: 6 };
const ENTRY = { rpc_urls: ["https://rpc.example"], tokens: { usdc: TOKEN } };

describe("the chains file", () => {
  it("names chain id, nodes, finality and tokens; the rest has defaults", () => {
    const [chain] = loadChains(chainsFile({ polygon: ENTRY })).chains;
    expect(chain).toMatchObject({
      name: "polygon",
      final_tag: "finalized",
      confirmations: 0,
      first_block: null,
      tokens: [{ name: "usdc", address: TOKEN.address.toLowerCase(), decimals: 6 }],
      other_tokens: [],
      lag_max_minutes: 60,
    });
  });

  it.each([
    ["tron", ENTRY, /has tron; it can have polygon, ethereum, arbitrum, base/],
    ["base", { ...ENTRY, chain_id: 0 }, /chains\.base\.chain_id must be a whole number/],
    ["base", { ...ENTRY, rpc_urls: [] }, /rpc_urls must list one or two different/],
    ["base", { ...ENTRY, rpc_urls: ["ftp://secret"] }, /rpc_urls must list one or two different/],
    ["base", { ...ENTRY, final_tag: null }, /must have a final_tag, a number of confirmations/],
    ["base", { ...ENTRY, final_tag: "latest" }, /final_tag must be finalized or safe/],
    ["base", { ...ENTRY, tokens: {} }, /tokens must name at least one token/],
    ["base", { ...ENTRY, tokens: { dai: TOKEN } }, /tokens has dai; it can have usdc, usdt/],
    ["base", { ...ENTRY, tokens: { usdc: TOKEN, usdt: TOKEN } }, /has the contract 0x3c49.* twice/],
    ["base", { ...ENTRY, other_tokens: { x: TOKEN } }, /has the contract 0x3c49.* twice/],
    [
      "base",
      { ...ENTRY, tokens: { usdc: { ...TOKEN, address: `${TOKEN.address.slice(0, -1)}8` } } },
      /tokens\.usdc\.address is not an address\. The EIP-55 checksum/,
    ],
    ["base", { ...ENTRY, confirmation: 3 }, /has the unknown key confirmation/],
    ["base", { ...ENTRY, sweeping: { minimum: "5" } }, /sweeping needs sending/],
    ["base", { ...ENTRY, sending: {}, sweeping: { minimum: 5 } }, /minimum must be an amount of/],
    ["base", { ...ENTRY, sending: {}, sweeping: { minimum: "0" } }, /minimum must be an amount of/],
  ])("is refused with one sentence: %s %#", (name, entry, message) => {
    expect(() => loadChains(chainsFile({ [name]: entry as typeof ENTRY }))).toThrow(message);
  });

  it("two chains cannot have one id, and the key must be right", () => {
    const both = chainsFile({ polygon: ENTRY, base: ENTRY });
    expect(() => loadChains(both)).toThrow("has two chains with chain_id 31337");
    const typo = chainsFile({ polygon: ENTRY }, TEST_XPUB.slice(0, -1));
    expect(() => loadChains(typo)).toThrow("xpub is not an extended public key");
  });
});

describe("opening the chains", () => {
  let evm: TestEvm;
  beforeAll(async () => {
    evm = await openTestEvm();
  });
  afterAll(() => evm.close());
  const usdc = (change: object) => ({
    tokens: { usdc: { address: evm.tokens.usdc.address, decimals: 6, ...change } },
  });

  it("compares the decimals with the contract's", async () => {
    await expect(evm.restart(usdc({ decimals: 18 }))).rejects.toThrow(
      /the contract of usdc on polygon, 0x.*, has 6 decimals; the chains file says 18 decimals/,
    );
    const nobody = `0x${"77".repeat(20)}`;
    await expect(evm.restart(usdc({ address: nobody }))).rejects.toThrow("is no token contract");
  });

  it("compares the chain id with the node's, and with that of the database", async () => {
    await expect(evm.restart({ chain_id: 137 })).rejects.toThrow(
      "polygon has the chain_id 137, but this database was used with 31337",
    );
    const other = await openTestEvm({ entry: { chain_id: 80_002 } }).then(
      () => null,
      (error: Error) => error.message,
    );
    expect(other).toMatch(/is a node of chain 31337, but chains\.polygon\.chain_id is 80002/);
  });

  it("needs its nodes the first time; later it starts without them and waits", async () => {
    evm.rpcs[0]!.status = 503;
    await evm.restart();
    expect(await evm.watch()).toBe("unreachable");
    const first = await openTestEvm({ entry: { rpc_urls: [evm.rpcs[0]!.url] } }).then(
      () => null,
      (error: Error) => error.message,
    );
    expect(first).toMatch(/^SLIPROAD_CHAINS_FILE: 127\.0\.0\.1.*HTTP 503/);
    evm.rpcs[0]!.status = 200;
    expect(await evm.watch()).toBe("current");
  });

  it("amounts of a token with 18 decimals are in millionths, rounded down", async () => {
    const token = await evm.node.deploy({ decimals: 18 });
    await evm.restart({ tokens: { usdc: { address: token.address, decimals: 18 } } });
    const address = await evm.issue();
    // What is too little to be credited does not make the rest suspect.
    await evm.node.inOneBlock(async () => {
      await token.transfer(address, 1_500_000_999_999_999_999n);
      await token.transfer(address, 999_999_999_999n);
    });
    await evm.watch();
    expect((await evm.credited(address)).map(({ amount }) => amount)).toEqual([1_500_000n]);
    expect(await evm.findings(address)).toEqual([]);
    await evm.restart();
  });

  it("a token without decimals is multiplied, and an amount of any size is stored", async () => {
    const token = await evm.node.deploy({ decimals: 0 });
    await evm.restart({ tokens: { usdc: { address: token.address, decimals: 0 } } });
    const address = await evm.issue();
    await token.transfer(address, 7n);
    await token.transfer(address, 10n ** 29n);
    expect(await evm.watch()).toBe("current");
    const amounts = (await evm.credited(address)).map(({ amount }) => amount);
    expect(amounts).toEqual([7_000_000n, 10n ** 35n]);
    await evm.restart();
  });

  it("reads from first_block on, itself included; it must not be ahead of the chain", async () => {
    const latest = async () => Number(await evm.node.ask("eth_blockNumber"));
    const address = await evm.issue();
    await evm.tokens.usdc.transfer(address, 1_000_000n);
    const tx_id = await evm.tokens.usdc.transfer(address, 2_000_000n);
    const first_block = await latest();
    await evm.database.query("delete from evm_chains");
    await expect(evm.restart({ first_block: first_block + 2 })).rejects.toThrow(
      `chains.polygon.first_block is ${first_block + 2}, but block ${first_block} is the last`,
    );
    await evm.restart({ first_block });
    await evm.watch();
    expect((await evm.credited(address)).map((one) => one.tx_id)).toEqual([tx_id]);
  });

  it("credits after as many confirmations as the file says, with and without a tag", async () => {
    for (const final_tag of ["finalized", null]) {
      await evm.restart({ final_tag, confirmations: 3 });
      const address = await evm.issue();
      await evm.tokens.usdc.transfer(address, 1_000_000n);
      await evm.node.mine(2);
      expect(await evm.watch()).toBe("current");
      expect(await evm.credited(address)).toEqual([]);
      await evm.node.mine();
      await evm.watch();
      expect(await evm.credited(address)).toHaveLength(1);
    }
    await evm.restart();
  });

  it("a node that limits the rate is no wrong configuration", async () => {
    evm.rpcs[0]!.change = ({ method }) => {
      if (method !== "eth_call") return undefined;
      throw Object.assign(new Error("too many requests"), { code: -32_005 });
    };
    await evm.restart();
    expect(await evm.watch()).toBe("unreachable");
    evm.rpcs[0]!.change = null;
    expect(await evm.watch()).toBe("current");
  });

  it("notices that it is older than its wallet: the next addresses were used already", async () => {
    const { addressAt } = openWallet(TEST_XPUB);
    const issued = await evm.issue();
    const last = Array.from({ length: 30 }, (_, at) => addressAt(at)).indexOf(issued);
    await evm.tokens.usdt.transfer(addressAt(last + 5), 1n);
    await expect(evm.restart()).rejects.toThrow(
      `the address of index ${last + 5} was used on polygon, but this database has issued only ` +
        `those below ${last + 1}. Is it a restored backup?`,
    );
    for (let skipped = 0; skipped < 5; skipped += 1) await evm.issue();
    await evm.restart();
  });

  it("what a node says of the URL's key is not stored", async () => {
    const key = "0123456789abcdef";
    await evm.restart({ rpc_urls: [`${evm.rpcs[0]!.url}/v2/${key}`] });
    evm.rpcs[0]!.change = () => {
      throw Object.assign(new Error(`project ${key} is unknown`), { code: -32_600 });
    };
    expect(await evm.watch()).toBe("unreachable");
    expect((await evm.state()).problem).toContain("project … is unknown");
    evm.rpcs[0]!.change = null;
  });
});

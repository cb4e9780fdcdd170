import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkAddress } from "../../../src/partners/chain/check-address.ts";
import { uncreditedContracts } from "../../../src/partners/chain/evm/known-tokens.ts";
import { reconcileChain } from "../../../src/reconcile/reconcile-chain.ts";
import { settingsOf, TEST_XPUB } from "../../harness/evm/chains-file.ts";
import { TEST_TREASURY } from "../../harness/evm/signer.ts";
import { openTestEvm, type TestEvm } from "../../harness/evm/test-evm.ts";

const TEN = 10_000_000n;
let evm: TestEvm;

beforeAll(async () => {
  evm = await openTestEvm({ rpcs: 2 });
});
afterAll(() => evm.close());

const at = (address: string) => ({ address, decimals: 6 });

/** The file also has another chain, on which `contract` is usdc. */
function fileWith(contract: string) {
  const base = { ...evm.entry, chain_id: 31_338, other_tokens: {}, tokens: { usdc: at(contract) } };
  return settingsOf({ polygon: evm.entry, base }, TEST_XPUB, TEST_TREASURY);
}

async function reconcile(contract = evm.tokens.usdc.address) {
  const clock = {
    now: () => new Date(),
    difference_ms: () => 0,
    refresh: async () => {},
  };
  return reconcileChain({ database: evm.database, clock }, evm.watcher(), fileWith(contract));
}

describe("sliproad reconcile names tokens that lie at our addresses and are credited to nobody", () => {
  it("of a token that the file only recognises", async () => {
    expect((await reconcile()).uncredited).toEqual([]);
    const address = await evm.issue();
    await evm.tokens.other.transfer(address, TEN);
    await evm.watch();
    const { uncredited, compared } = await reconcile();
    const contract = evm.tokens.other.address;
    expect(uncredited).toEqual([{ token: "usdc.e", contract, address, amount: TEN, decimals: 6 }]);
    expect(compared.every(({ unexplained }) => unexplained === 0n)).toBe(true);
  });

  it("of a token that the file has on another chain, where this chain has it too", async () => {
    const address = await evm.issue();
    await evm.tokens.fake.transfer(address, TEN);
    await evm.tokens.fake.transfer(TEST_TREASURY, TEN);
    await evm.watch();
    expect(await evm.credited(address)).toEqual([]);
    const contract = evm.tokens.fake.address;
    const { uncredited } = await reconcile(contract);
    const named = uncredited.filter((one) => one.contract === contract);
    expect(named.map((one) => one.address).toSorted()).toEqual([address, TEST_TREASURY].toSorted());
    expect(named[0]).toMatchObject({ token: "usdc of base", amount: TEN });
    // Where the chain has no such contract, there is nothing to name.
    expect((await reconcile(`0x${"77".repeat(20)}`)).uncredited).toHaveLength(1);
  });
});

describe("known stablecoins", () => {
  const contractsOf = (
    chain_id: number,
    tokens: Record<string, { address: string; decimals: number }>,
  ) => {
    const entry = { rpc_urls: ["https://rpc.example"], chain_id, tokens };
    const settings = settingsOf({ polygon: entry });
    return uncreditedContracts(settings, settings.chains[0]!);
  };
  const USDC = "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359";

  it("are looked for where the file does not list them", () => {
    const found = contractsOf(137, { usdc: at(USDC) });
    expect(found.map(({ name }) => name)).toEqual(["usdc.e", "usdt"]);
    expect(contractsOf(31_337, { usdc: at(USDC) })).toEqual([]);
  });

  it.each([1, 137, 8453, 42161])("of chain %i are addresses", (chain_id) => {
    const unused = `0x${"77".repeat(20)}`;
    const found = contractsOf(chain_id, { usdc: at(unused) });
    expect(found.length).toBeGreaterThanOrEqual(2);
    for (const { address } of found)
      expect(checkAddress("ethereum", address)).toHaveProperty("value");
  });
});

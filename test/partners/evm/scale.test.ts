import { afterAll, beforeAll, expect, it } from "vitest";
import { insertAddresses } from "../../../src/partners/chain/evm/address-store.ts";
import { openWallet, xpubOf } from "../../../src/partners/chain/evm/wallet.ts";
import { openTestEvm, type TestEvm } from "../../harness/evm/test-evm.ts";

const ADDRESSES = 10_000;
const PAID_EVERY = 100;
const MANY_XPUB = xpubOf(Buffer.alloc(32, 7));
const MANY = openWallet(MANY_XPUB);

let evm: TestEvm;
beforeAll(async () => {
  evm = await openTestEvm({ earlier_xpubs: [MANY_XPUB] });
});
afterAll(() => evm.close());

/** Only those that are paid are derived: all would take 13 seconds. */
async function issueMany(count: number): Promise<string[]> {
  const addresses = Array.from({ length: count }, (_, at) =>
    at % PAID_EVERY === 0
      ? MANY.addressAt(at)
      : `0x${at.toString(16).padStart(8, "0").padStart(40, "e")}`,
  );
  await insertAddresses(
    evm.database,
    addresses.map((address, at) => ({
      ...{
        address,
        wallet: MANY.fingerprint,
        address_index: at,
        chain: "polygon",
        created_at: new Date(),
      },
    })),
  );
  return addresses;
}

it("10 000 addresses are watched with as few requests as one", async () => {
  const addresses = await issueMany(ADDRESSES);
  const paid = addresses.filter((_, at) => at % PAID_EVERY === 0);
  await evm.tokens.usdc.transferMany(paid, 1_000_000n);
  const before = evm.rpcs[0]!.count("eth_getLogs");
  expect(await evm.watch()).toBe("current");
  expect(evm.rpcs[0]!.count("eth_getLogs") - before).toBe(1);
  const { transfers } = await evm.port.listTransfers("polygon", null, ADDRESSES);
  expect(transfers.map(({ address }) => address).sort()).toEqual(paid.toSorted());
});

it("the node can filter as well: 500 addresses in a request", async () => {
  await evm.restart({ filtered_addresses_max: ADDRESSES });
  const address = await evm.issue();
  await evm.restart({ filtered_addresses_max: ADDRESSES + 1 });
  await evm.tokens.usdc.transfer(address, 5_000_000n);
  const before = evm.rpcs[0]!.count("eth_getLogs");
  expect(await evm.watch()).toBe("current");
  expect(evm.rpcs[0]!.count("eth_getLogs") - before).toBe(21);
  expect(await evm.credited(address)).toHaveLength(1);
});

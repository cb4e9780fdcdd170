import { afterAll, beforeAll, expect, it } from "vitest";
import { insertAddresses } from "../../../src/partners/chain/evm/address-store.ts";
import { openWallet, xpubOf } from "../../../src/partners/chain/evm/wallet.ts";
import { HOUR_MS } from "../../../src/platform/durations.ts";
import { openTestEvm, type TestEvm } from "../../harness/evm/test-evm.ts";

const TEN = 10_000_000n;
const EARLIER_XPUB = xpubOf(Buffer.alloc(32, 5));

let evm: TestEvm;
beforeAll(async () => {
  evm = await openTestEvm({ rpcs: 2, earlier_xpubs: [EARLIER_XPUB] });
});
afterAll(() => evm.close());

/** Reads the chain twice: what was found unproven meanwhile is looked for in the second run. */
async function watchTwice(): Promise<void> {
  for (let run = 0; run < 2; run += 1) expect(await evm.watch()).toBe("current");
}

function change(address: string, assignments: string) {
  return evm.database.query(`update evm_transfers set ${assignments} where address = $1`, [
    address,
  ]);
}

async function deposit(): Promise<{ address: string; tx_id: string }> {
  const address = await evm.issue();
  const tx_id = await evm.tokens.usdc.transfer(address, TEN);
  await evm.watch();
  return { address, tx_id };
}

it("a row that somebody invented is never credited, whatever it says", async () => {
  const { address } = await deposit();
  const forged = await evm.issue();
  const columns =
    "chain, log_index, block_number, block_hash, sender, token, amount, mined_at, mac";
  await evm.database.query(
    `insert into evm_transfers (tx_id, address, ${columns})
     select $2, $3, ${columns} from evm_transfers where address = $1`,
    [address, `0x${"cd".repeat(32)}`, forged],
  );
  expect(await evm.credited(forged)).toEqual([]);
  expect(await evm.findings(forged)).toEqual(["unproven"]);
  await watchTwice();
  evm.wait(2 * HOUR_MS);
  await watchTwice();
  expect(await evm.credited(forged)).toEqual([]);
  expect(await evm.findings(forged)).toEqual(["unproven"]);
  expect(await evm.credited(address)).toHaveLength(1);
});

it.each([
  ["amount", "amount = amount * 1000"],
  ["amount, not a whole number", "amount = 1.5"],
  ["token", "token = 'usdt'"],
  ["sender", `sender = '0x${"1".repeat(40)}'`],
  ["time", "mined_at = mined_at - interval '1 day'"],
  ["MAC", "mac = null"],
])("a row whose %s was changed is read from the chain again", async (_name, assignments) => {
  const { address, tx_id } = await deposit();
  await change(address, assignments);
  expect(await evm.credited(address)).toEqual([]);
  expect(await evm.findings(address)).toEqual(["unproven"]);
  await watchTwice();
  expect(await evm.credited(address)).toEqual([{ tx_id, amount: TEN, token: "usdc" }]);
  expect(await evm.findings(address)).toEqual([]);
});

it("a finding that somebody removed comes back", async () => {
  const address = await evm.issue();
  await evm.tokens.other.transfer(address, TEN);
  await evm.watch();
  expect(await evm.findings(address)).toEqual(["other_token"]);
  await change(address, "finding = null, token = 'usdc'");
  expect(await evm.credited(address)).toEqual([]);
  await watchTwice();
  expect(await evm.credited(address)).toEqual([]);
  expect(await evm.findings(address)).toEqual(["other_token"]);
});

it("a row of a block that no node can read stops nothing", async () => {
  const { address } = await deposit();
  await change(address, "mac = null, block_number = 1");
  const [first] = await evm.database.query<{ block_number: bigint }>(
    "select block_number from evm_transfers where address = $1",
    [address],
  );
  expect(first!.block_number).toBe(1n);
  expect(await evm.credited(address)).toEqual([]);
  for (const rpc of evm.rpcs) {
    rpc.change = ({ method, params }) => {
      if (method !== "eth_getBlockByNumber" || params[0] !== "0x1") return undefined;
      throw Object.assign(new Error("pruned history unavailable"), { code: 4_444 });
    };
  }
  await watchTwice();
  const next = await deposit();
  expect(await evm.credited(next.address)).toHaveLength(1);
  for (const rpc of evm.rpcs) rpc.change = null;
});

it("an address that somebody wrote into the database receives no deposits", async () => {
  const [known] = await evm.database.query<{ wallet: string }>(
    "select wallet from evm_addresses limit 1",
  );
  const stranger = `0x${"5e".repeat(20)}`;
  const row = { address: stranger, address_index: 77_777, chain: "polygon" };
  for (const wallet of [known!.wallet, "unknown"]) {
    await insertAddresses(evm.database, [{ ...row, wallet, created_at: new Date() }]);
    await evm.tokens.usdc.transfer(stranger, TEN);
    await watchTwice();
    expect(await evm.credited(stranger)).toEqual([]);
    expect(new Set(await evm.findings(stranger))).toEqual(new Set(["unproven"]));
    await evm.database.query("delete from evm_addresses where address = $1", [stranger]);
  }
});

it("an address of an earlier key is proven by the chains file", async () => {
  const { addressAt, fingerprint: wallet } = openWallet(EARLIER_XPUB);
  const row = { address: addressAt(3), address_index: 3, chain: "polygon" };
  await insertAddresses(evm.database, [{ ...row, wallet, created_at: new Date() }]);
  const tx_id = await evm.tokens.usdc.transfer(row.address, TEN);
  await evm.watch();
  expect(await evm.credited(row.address)).toEqual([{ tx_id, amount: TEN, token: "usdc" }]);
});

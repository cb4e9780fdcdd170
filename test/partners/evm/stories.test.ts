import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HOUR_MS } from "../../../src/platform/durations.ts";
import { runCommand } from "../../harness/command-line.ts";
import { chainsFile, TEST_XPUB } from "../../harness/evm/chains-file.ts";
import { compareChain, expectSameAtRest, waitUntilRead } from "../../harness/evm/compare.ts";
import { type EvmNode, startEvmNode, type TestToken } from "../../harness/evm/node.ts";
import { type RpcServer, startRpcServer } from "../../harness/evm/rpc-server.ts";
import {
  createSignerFiles,
  type SignerFiles,
  signerFile,
  TEST_PASSPHRASE,
  TEST_TREASURY,
} from "../../harness/evm/signer.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { advance, findFault, good, ledgerBalance, openStory } from "../../offramps/story.ts";
import { openOnramp, receive } from "../../onramps/story.ts";

const COIN = 10n ** 18n;
/** Several transactions, one after the other, on a busy machine. */
const MOVED_MS = 60_000;
const PAYEE = `0x${"9a".repeat(20)}`;

let node: EvmNode;
let usdc: TestToken;
let rpc: RpcServer;
let signer: SignerFiles;
let environment: Record<string, string>;
let server: TestServer;

beforeAll(async () => {
  node = await startEvmNode();
  usdc = await node.deploy();
  rpc = await startRpcServer(node);
  signer = await createSignerFiles();
  const signer_file = join(signer.directory, "signer.json");
  await writeFile(signer_file, signerFile([usdc.address], { per_transaction_max: "5000" }));
  const chains_file = join(signer.directory, "chains.json");
  const tokens = { usdc: { address: usdc.address, decimals: 6 } };
  const moving = { sending: {}, sweeping: { minimum: "10" } };
  const polygon = { rpc_urls: [rpc.url], tokens, ...moving, lag_max_minutes: 10_080 };
  await writeFile(chains_file, chainsFile({ polygon }, TEST_XPUB, TEST_TREASURY));
  server = await startTestServer({
    environment: {
      ...{ SLIPROAD_CHAINS_FILE: chains_file, SLIPROAD_SIGNER_FILE: signer_file },
      ...{ SLIPROAD_SIGNER_PASSPHRASE: TEST_PASSPHRASE, SLIPROAD_DOCUMENTS: "never" },
    },
  });
  environment = {
    ...{ DATABASE_URL: server.db.url, SLIPROAD_DATA_DIR: server.data_dir },
    SLIPROAD_CHAINS_FILE: chains_file,
  };
});
afterAll(async () => {
  expect(await findFault(server)).toBeNull();
  await server.close();
  await rpc.close();
  await node.close();
  await signer.close();
});

async function compareNow() {
  const found = await compareChain(server.core);
  const amounts = new Map(found.compared.map((one) => [one.currency, one]));
  const ok = found.compared.every(({ unexplained }) => unexplained === 0n);
  const { candidates, unproven } = found;
  return { ok, usdc: amounts.get("usdc")!, candidates, unproven };
}

type Amounts = { currency: string; ledger: string; on_chain: string; unexplained: string };
type Document = {
  ok: boolean;
  chains: { compared: Amounts[] }[];
};

async function reconcile(...more: string[]) {
  const args = ["reconcile", "--chain", "polygon", "--json", ...more];
  const { code, stdout, stderr } = await runCommand(args, environment);
  expect(stderr).toBe("");
  const { ok, chains } = JSON.parse(stdout) as Document;
  const amounts = Object.fromEntries(chains[0]!.compared.map((one) => [one.currency, one]));
  return { code, ok, amounts };
}

describe("money on a real chain", { timeout: 120_000 }, () => {
  it("that the operator moved to the treasury is a difference until it is booked", async () => {
    expect((await compareNow()).ok).toBe(true);
    await node.ask("hardhat_setBalance", TEST_TREASURY, `0x${COIN.toString(16)}`);
    await usdc.transfer(TEST_TREASURY, 5_000_000_000n);
    await waitUntilRead(server.core, node);
    const found = await reconcile();
    expect(found).toMatchObject({ ok: false, code: 1 });
    expect(found.amounts.usdc).toMatchObject({ ledger: "0", unexplained: "5000" });
    expect(found.amounts.pol).toMatchObject({ unexplained: "1" });
    const metric = async () => {
      const text = await (await fetch(`${server.url}/metrics`)).text();
      return /^sliproad_chain_difference\{chain="polygon"\} (.*)$/m.exec(text)?.[1];
    };
    await waitFor(async () => (await metric()) === "1");

    expect(await reconcile("--book", "--reason", "funded")).toMatchObject({ ok: true, code: 0 });
    expect(await ledgerBalance(server, "treasury", "usdc")).toBe(-5_000_000_000n);
    expect((await compareNow()).ok).toBe(true);
    await waitFor(async () => (await metric()) === "0");
  });

  it("comes in, pays out, is refunded, delivered and swept: ledger and chain agree", async () => {
    const story = await openStory(server, [{ amount: 100 }]);
    const quote_path = `/users/${story.user_id}/quotes/${story.quote_id}`;
    const { deposit_address, quote } = good(await server.call("GET", quote_path));
    const needed = BigInt(Math.round(quote.deposit_token_amount * 1e6));
    const tx_id = await usdc.transfer(deposit_address.address, needed + 50_000_000n);
    good(await story.execute(tx_id));
    await story.waitForStatus("fiat_sent");
    await waitFor(async () => (await story.owed()) === 50);

    const address = node.account;
    const refund = { token: "usdc", chain: "polygon", amount: 50, address };
    const before = await usdc.balanceOf(address);
    good(await server.call("POST", `/users/${story.user_id}/refunds`, { refund }));
    const sent = await waitFor(async () => {
      const { refunds } = good(await server.call("GET", `/users/${story.user_id}/refunds`));
      return refunds[0].status === "sent" && refunds[0];
    }, MOVED_MS);
    expect(sent.tx_id).toMatch(/^0x[0-9a-f]{64}$/);
    expect((await usdc.balanceOf(address)) - before).toBe(50_000_000n);

    const onramp = await openOnramp(server, { destination_address: PAYEE });
    await receive(server, { amount: onramp.amount, deposit_message: onramp.code });
    await waitFor(async () => (await onramp.show()).status === "crypto_sent", MOVED_MS);
    expect(await usdc.balanceOf(PAYEE)).toBe(1_000_000_000n);

    await waitFor(async () => (await usdc.balanceOf(deposit_address.address)) === 0n, MOVED_MS);
    await expectSameAtRest(server.core, node);
    const { usdc: compared } = await compareNow();
    const held = 5_000_000_000n + needed - 1_000_000_000n;
    expect(await ledgerBalance(server, "wallet:polygon", "usdc")).toBe(held);
    expect(compared).toMatchObject({ on_chain: held, ledger: held });
    const gas = await ledgerBalance(server, "network_costs", "pol");
    const coins = async (address: string) =>
      BigInt((await node.ask("eth_getBalance", address, "latest")) as string);
    const left = (await coins(TEST_TREASURY)) + (await coins(deposit_address.address));
    const transactions = 4n;
    expect(gas).toBeGreaterThan(0n);
    expect(gas - (COIN - left) / 10n ** 9n).toBeLessThanOrEqual(transactions);
  });

  it("counts as mined in business time, after the sandbox's clock was moved", async () => {
    await advance(server, 5 * HOUR_MS);
    const story = await openStory(server, [{ amount: 100 }]);
    const quote_path = `/users/${story.user_id}/quotes/${story.quote_id}`;
    const { deposit_address, quote } = good(await server.call("GET", quote_path));
    const needed = BigInt(Math.round(quote.deposit_token_amount * 1e6));
    good(await story.execute(await usdc.transfer(deposit_address.address, needed)));
    await story.waitForStatus("fiat_sent");
    const path = `/users/${story.user_id}/crypto_deposits`;
    const [deposit] = good(await server.call("GET", path)).crypto_deposits;
    const now_ms = server.core.clock.now().getTime();
    expect(Math.abs(Date.parse(deposit.mined_at) - now_ms)).toBeLessThan(HOUR_MS);
  });

  it("at an address that somebody wrote into the database is not taken for ours", async () => {
    const { database } = server.core;
    const address = `0x${"5e".repeat(20)}`;
    await usdc.transfer(address, 3_000_000n);
    await waitUntilRead(server.core, node);
    expect((await compareNow()).unproven).toEqual([]);
    await database.query(
      `insert into evm_addresses (address, wallet, address_index, chain, created_at)
       select $1, wallet, 77777, 'polygon', created_at from evm_addresses limit 1`,
      [address],
    );
    await expect(compareNow()).rejects.toThrow(/is address 77777 in the database, but not of/);
    await database.query("update evm_addresses set wallet = 'earlier' where address = $1", [
      address,
    ]);
    expect((await compareNow()).unproven).toMatchObject([{ currency: "usdc", amount: 3_000_000n }]);
    await database.query("delete from evm_addresses where address = $1", [address]);
    expect((await compareNow()).unproven).toEqual([]);
  });

  it("at an address that was issued for another chain is listed as the likely reason", async () => {
    const { user_id, quote_id } = await openStory(server, [{ amount: 100 }]);
    const quote = good(await server.call("GET", `/users/${user_id}/quotes/${quote_id}`));
    const { address } = quote.deposit_address;
    await server.core.database.query("update evm_addresses set chain = 'base' where address = $1", [
      address,
    ]);
    await usdc.transfer(address, 7_000_000n);
    await waitUntilRead(server.core, node);
    const found = await compareNow();
    expect(found.usdc.unexplained).toBe(7_000_000n);
    expect(found.candidates).toMatchObject([{ kind: "finding", amount: 7_000_000n }]);
  });

  it("that was only written into the database is not credited, and the operator is told", async () => {
    const { database, clock } = server.core;
    const { user_id, quote_id } = await openStory(server, [{ amount: 100 }]);
    const quote = good(await server.call("GET", `/users/${user_id}/quotes/${quote_id}`));
    const before = (await compareNow()).usdc;
    const { address } = quote.deposit_address;
    await database.query(
      `insert into evm_transfers (chain, tx_id, log_index, block_number, block_hash, address,
         sender, token, amount, mined_at)
       select chain, $1, 0, scanned_block, scanned_hash, $2, $3, 'usdc', 50000000, $4
       from evm_chains`,
      [`0x${"ab".repeat(32)}`, address, node.account, clock.now()],
    );
    const { stdout } = await waitFor(async () => {
      const found = await runCommand(["chains", "findings"], environment);
      return found.stdout.includes("unproven") && found;
    });
    expect(stdout).toContain(`50 usdc to ${address}  unproven: no node has it as it is stored`);
    const ready = (await (await fetch(`${server.url}/readyz`)).json()) as { notices: string[] };
    expect(ready.notices).toContainEqual(expect.stringContaining("see sliproad chains findings"));
    // What really comes afterwards is credited.
    await usdc.transfer(address, 20_000_000n);
    const ledger = before.ledger + 20_000_000n;
    await waitFor(async () => (await ledgerBalance(server, "wallet:polygon", "usdc")) === ledger);
    expect((await compareNow()).usdc).toMatchObject({ ledger, unexplained: before.unexplained });
  });
});

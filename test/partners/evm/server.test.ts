import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mnemonicToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "../../harness/command-line.ts";
import { chainsFile, TEST_WORDS, TEST_XPUB } from "../../harness/evm/chains-file.ts";
import { type EvmNode, startEvmNode, type TestToken } from "../../harness/evm/node.ts";
import { type RpcServer, startRpcServer } from "../../harness/evm/rpc-server.ts";
import { addApprovedUser, addPaymentDetail, addQuote } from "../../harness/ramp.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { addBilledAccount, change, sendInvoice, show } from "../../invoices/invoice-fixture.ts";
import { good, settle } from "../../offramps/story.ts";

let node: EvmNode;
let rpc: RpcServer;
let usdc: TestToken;
let server: TestServer;
let directory: string;
let chains_file: string;
let user_id: string;
let detail_id: string;

beforeAll(async () => {
  node = await startEvmNode();
  usdc = await node.deploy();
  rpc = await startRpcServer(node);
  directory = await mkdtemp(join(tmpdir(), "sliproad-chains-"));
  chains_file = join(directory, "chains.json");
  const tokens = { usdc: { address: usdc.address, decimals: 6 } };
  const text = chainsFile({ polygon: { rpc_urls: [rpc.url], tokens, lag_max_minutes: 10_080 } });
  await writeFile(chains_file, text);
  const environment = { SLIPROAD_CHAINS_FILE: chains_file, SLIPROAD_DOCUMENTS: "never" };
  server = await startTestServer({ environment });
  user_id = await addApprovedUser(server);
  detail_id = await addPaymentDetail(server, user_id, "usd");
});
afterAll(async () => {
  await server.close();
  await rpc.close();
  await node.close();
  await rm(directory, { recursive: true, force: true });
});

/** A quote with one payout of 100 usd. */
async function newQuote() {
  const quote_id = await addQuote(server, user_id);
  const path = `/users/${user_id}/quotes/${quote_id}`;
  const added = await server.call("POST", `${path}/offramps`, {
    offramps: [
      {
        payment_detail_id: detail_id,
        destination_amount: 100,
        destination_currency: "usd",
        supporting_document_attributes: { submitted_url: "https://files.test/invoice.pdf" },
      },
    ],
  });
  expect(added.status).toBe(200);
  const { body } = await server.call("GET", path);
  const amount = BigInt(Math.round(body.quote.deposit_token_amount * 1e6));
  return { path, quote_id, address: body.deposit_address.address as string, amount };
}

function execute(path: string, tx_id: string) {
  const crypto_transfer = { tx_id, blockchain: "polygon", network: "local" };
  return server.call("POST", `${path}/execute`, { quote: { crypto_transfer } });
}

async function statusOf(path: string): Promise<string> {
  const { body } = await server.call("GET", path);
  return body.offramps[0].status;
}

describe("a crypto-to-crypto invoice on a real chain", () => {
  // Of the words that every development node uses for its accounts.
  const payer = mnemonicToAccount(`${"test ".repeat(11)}junk`);
  const wallet = `0x${"5e".repeat(20)}`;
  const paymentInformation = { paymentAddress: wallet, chain: "matic" };
  const payable = {
    invoiceItems: [{ name: "Sample work", currency: "USD", quantity: 1, unitPrice: "100000" }],
    paymentOptions: [{ type: "wallet", value: { currencies: ["USDC-matic"], paymentInformation } }],
  };

  it("is paid by a final transfer of its payer; others are shown, or dropped", async () => {
    const seller = await addBilledAccount(server, "Seller");
    const buyer = await addBilledAccount(server, "Buyer");
    const claim = (id: string, input: Record<string, string>) =>
      change(server, id, "declareSentPayment", buyer.key, { chain: "matic", ...input });
    const invoice = () => sendInvoice(server, seller, buyer, payable);
    const [proved, unproved, short] = [await invoice(), await invoice(), await invoice()];

    const pays = await usdc.transferMany([wallet, wallet], 1_000_000_000n);
    const too_little = await usdc.transfer(wallet, 999_999_999n);
    await waitUntilRead();
    const signature = await payer.signMessage({ message: proved.id });
    good(await claim(proved.id, { txHash: pays, signature }));
    // The other claim then finds one of the two transfers taken.
    await waitFor(async () => (await show(server, proved.id, seller.key)).status === "paid");
    good(await claim(unproved.id, { txHash: pays }));
    good(await claim(short.id, { txHash: too_little }));
    await settle(server);

    const from = node.account.toLowerCase();
    const tracked = { txHash: pays, chain: "polygon", amount: "1000000000", from, to: wallet };
    expect(await show(server, proved.id, seller.key)).toMatchObject({
      status: "paid",
      trackedTransactions: [tracked],
    });
    const waiting = await show(server, unproved.id, seller.key);
    expect(waiting).toMatchObject({ status: "declaredPaid", trackedTransactions: [tracked] });
    const dropped = await show(server, short.id, seller.key);
    expect(dropped.status).toBe("open");
    expect(dropped.events.at(-1).note).toBe("The transfer is less than the invoice's total.");

    good(await change(server, unproved.id, "declareReceivedPayment", seller.key));
    await settle(server);
    const paid = await show(server, unproved.id, seller.key);
    expect(paid.status).toBe("paid");
    // Two transfers of one transaction: each pays one invoice.
    const used = [await show(server, proved.id, seller.key), paid].map(
      ({ trackedTransactions }) => trackedTransactions[0].logIndex,
    );
    expect(new Set(used).size).toBe(2);
  });
});

describe("a sandbox on a real chain", () => {
  it("pays out what a real transfer to the quote's address pays for", async () => {
    const { path, address, amount } = await newQuote();
    const tx_id = await usdc.transfer(address, amount);
    const answer = await execute(path, tx_id);
    expect(answer.status).toBe(200);
    expect(answer.body.crypto_transfer).toMatchObject({ tx_id, status: "unknown" });
    await waitFor(async () => (await statusOf(path)) === "fiat_sent");
    const { body } = await server.call("GET", `/users/${user_id}/crypto_deposits`);
    expect(body.crypto_deposits[0]).toMatchObject({ tx_id, from: node.account.toLowerCase() });
  });

  it("pays nothing out for a short transfer until a second one brings the rest", async () => {
    const { path, address, amount } = await newQuote();
    const first = await usdc.transfer(address, amount / 2n);
    expect((await execute(path, first)).status).toBe(200);
    await waitFor(async () => {
      const { body } = await server.call("GET", `/users/${user_id}/crypto_deposits`);
      return body.crypto_deposits.some((one: { tx_id: string }) => one.tx_id === first);
    });
    expect(await statusOf(path)).toBe("initiated");
    await usdc.transfer(address, amount - amount / 2n);
    await waitFor(async () => (await statusOf(path)) === "fiat_sent");
  });

  it("does not believe a tx_id: one that pays somebody else pays nothing", async () => {
    const { path, address, amount } = await newQuote();
    const elsewhere = await usdc.transfer(`0x${"99".repeat(20)}`, amount);
    expect((await execute(path, elsewhere)).status).toBe(200);
    const named = async () => (await server.call("GET", path)).body.crypto_transfer;
    await waitFor(async () => (await named()).status === "failed");
    // Once the chain says whom it pays, the right one can be named.
    const tx_id = `0x${"77".repeat(32)}`;
    expect((await execute(path, tx_id)).status).toBe(200);
    expect(await named()).toMatchObject({ tx_id, status: "unknown" });
    expect(["initiated", "ongoing_checks"]).toContain(await statusOf(path));
    await usdc.transfer(address, amount);
    await waitFor(async () => (await statusOf(path)) === "fiat_sent");
    expect(await named()).toMatchObject({ tx_id, status: "unknown" });
  });

  it("shows on the quote that the named transfer is final and pays it", async () => {
    const { path, address, amount } = await newQuote();
    // Less than the quote costs, so that it waits and nothing ends the check.
    const tx_id = await usdc.transfer(address, amount / 2n);
    expect((await execute(path, tx_id)).status).toBe(200);
    const named = async () => (await server.call("GET", path)).body.crypto_transfer;
    await waitFor(async () => (await named()).status === "final");
    await usdc.transfer(address, amount - amount / 2n);
    await waitFor(async () => (await statusOf(path)) === "fiat_sent");
  });

  it("simulates the other chains, and refuses to simulate a transfer on the real one", async () => {
    const { quote_id, path } = await newQuote();
    const refused = await server.call("POST", "/sandbox/crypto_deposits", {
      crypto_deposit: { quote_id, amount: 100 },
    });
    expect(refused.status).toBe(422);
    expect(refused.body.errors).toEqual([
      expect.objectContaining({
        field: "crypto_deposit.quote_id",
        message: expect.stringContaining("polygon is a real network in this sandbox"),
      }),
    ]);
    const { body } = await server.call("GET", path);
    const forced = await server.call("PATCH", `/sandbox/offramps/${body.offramps[0].id}`, {
      offramp: { status: "fiat_sent" },
    });
    expect(forced.status).toBe(422);
    expect(forced.body.error_code).toBe("invalid_transition");
    const simulated = await addQuote(server, user_id, { deposit_token_chain: "tron" });
    const paid = await server.call("POST", "/sandbox/crypto_deposits", {
      crypto_deposit: { quote_id: simulated, amount: 100 },
    });
    expect(paid.status).toBe(200);
  });

  it("refuses a refund on the real chain without a key to sign: what is owed stays", async () => {
    const { address } = await newQuote();
    await usdc.transfer(address, 50_000_000n);
    const owed = async () => {
      const { body } = await server.call("GET", `/users/${user_id}/balances`);
      const on = ({ chain }: { chain: string }) => chain === "polygon";
      return body.balances.find(on)?.amount as number | undefined;
    };
    await waitFor(async () => (await owed()) === 50);
    const refund = { token: "usdc", chain: "polygon", amount: 50, address: node.account };
    const asked = await server.call("POST", `/users/${user_id}/refunds`, { refund });
    expect(asked.status).toBe(200);
    await waitFor(async () => {
      const { body } = await server.call("GET", `/users/${user_id}/refunds`);
      return body.refunds[0].status === "failed";
    });
    expect(await owed()).toBe(50);
    const onramp = {
      ...{ destination_amount: 100, crypto_currency: "usdc", crypto_rails: "polygon" },
      ...{ destination_address: node.account, fiat_currency: "usd", fiat_rails: "wire" },
    };
    const refused = await server.call("POST", `/users/${user_id}/onramps`, { onramp });
    expect(refused.body.errors).toEqual([
      expect.objectContaining({ field: "onramp.crypto_rails", code: "rails_not_available" }),
    ]);
  });

  it("tells how far it has read, in /metrics and sliproad chains list", async () => {
    const metrics = await fetch(`${server.url}/metrics`).then((answer) => answer.text());
    expect(metrics).toMatch(/^sliproad_chain_up\{chain="polygon"\} 1$/m);
    expect(metrics).toMatch(/^sliproad_chain_lag_seconds\{chain="polygon"\} [\d.]+$/m);
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    const listed = await runCommand(["chains", "list", "--json"], environment());
    expect(JSON.parse(listed.stdout).chains).toEqual([
      expect.objectContaining({ chain: "polygon", state: "current", problem: null }),
    ]);
  });

  it("has in the wallets of the ledger what is on the chain", async () => {
    await waitUntilRead();
    const { stdout, code } = await runCommand(["reconcile", "--chain"], environment());
    expect(stdout).toMatch(/usdc: ledger (\d+\.?\d*), chain \1: nothing found/);
    expect(stdout).toContain("pol: ledger 0, chain 0: nothing found");
    expect(code).toBe(0);
  });

  it("is not ready while a chain is not read", async () => {
    const { database } = server.core;
    await node.undo(async () => {
      const { address } = await newQuote();
      await usdc.transfer(address, 1_000_000n);
      await waitUntilRead();
    });
    await node.mine(5);
    const problems = await waitFor(async () => {
      const answer = await fetch(`${server.url}/readyz`);
      return answer.status === 503 && ((await answer.json()) as { problems: string[] }).problems;
    });
    expect(problems).toEqual(["polygon is not read (reorganised); see sliproad chains list."]);
    const reason = "compared with two explorers";
    const arguments_ = ["chains", "resume", "polygon", "--reason", reason, "--json"];
    const resumed = await runCommand(arguments_, environment());
    expect(JSON.parse(resumed.stdout)).toMatchObject({ chain: "polygon", vanished: [{}] });
    await waitFor(async () => (await fetch(`${server.url}/readyz`)).status === 200);
    const [entry] = await database.query(
      "select actor, record, reason from audit_entries where action = 'chain.resume'",
    );
    expect(entry).toEqual({ actor: "command line", record: "chain:polygon", reason });
    const again = await runCommand(arguments_, environment());
    expect(again.stderr).toContain("only a reorganised chain is resumed");
    expect(again.code).not.toBe(0);
  });
});

/** Waits until the watcher has read all blocks. */
async function waitUntilRead(): Promise<void> {
  const latest = BigInt((await node.ask("eth_blockNumber")) as string);
  await waitFor(async () => {
    const [row] = await server.core.database.query<{ scanned_block: bigint }>(
      "select scanned_block from evm_chains",
    );
    return row!.scanned_block >= latest;
  });
}

function environment(): Record<string, string> {
  return {
    DATABASE_URL: server.db.url,
    SLIPROAD_DATA_DIR: server.data_dir,
    SLIPROAD_CHAINS_FILE: chains_file,
  };
}

describe("sliproad wallet", () => {
  it("new prints words and the xpub that they belong to, and stores nothing", async () => {
    const { stdout, code } = await runCommand(["wallet", "new", "--json"], {});
    expect(code).toBe(0);
    const { words, xpub, first_address } = JSON.parse(stdout);
    expect(words).toHaveLength(24);
    expect(xpub).toMatch(/^xpub6/);
    expect(first_address).toMatch(/^0x[0-9a-f]{40}$/);
  });

  it("show --words says whether words on stdin belong to the key", async () => {
    const show = (words: string) => runCommand(["wallet", "show", "--words"], environment(), words);
    const right = await show(TEST_WORDS);
    expect(right.stdout).toContain("The words belong to this key.");
    const other = await show(`${"test ".repeat(11)}junk`);
    expect(other.stderr).toContain("These words belong to another key");
    expect(other.code).not.toBe(0);
    expect(`${right.stdout}${right.stderr}${other.stderr}`).not.toMatch(/abandon|junk/);
  });

  it("skip never issues addresses that a newer database had issued, and watches them", async () => {
    const { database } = server.core;
    const [{ next }] = (await database.query(
      "select last_value::int + 1 as next from evm_address_indexes",
    )) as [{ next: number }];
    const reason = "restored a backup";
    const skipped = await runCommand(
      ["wallet", "skip", "5", "--reason", reason, "--json"],
      environment(),
    );
    expect(JSON.parse(skipped.stdout)).toEqual({ skipped: 5, next_index: next + 5 });
    const [index] = await database.query("select nextval('evm_address_indexes')::int as next");
    expect(index).toEqual({ next: next + 5 });
    const shown = await runCommand(["wallet", "address", String(next)], environment());
    expect(shown.stdout).toContain("it is never issued");
  });

  it("show and address tell the key, how many addresses were issued, and whose one is", async () => {
    const shown = await runCommand(["wallet", "show", "--json"], environment());
    const { wallet } = JSON.parse(shown.stdout);
    expect(wallet).toMatchObject({
      xpub: TEST_XPUB,
      first_address: "0x9858effd232b4033e47d90003d41ec34ecaeda94",
    });
    expect(wallet.addresses).toBeGreaterThan(0);
    const first = await runCommand(["wallet", "address", "0", "--json"], environment());
    expect(JSON.parse(first.stdout).address).toMatchObject({
      address: wallet.first_address,
      path: "m/44'/60'/0'/0/0",
      chain: "polygon",
    });
  });
});

import { randomUUID } from "node:crypto";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openPartners } from "../../../src/app/open-partners.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { findFault, good, settle } from "../../offramps/story.ts";
import {
  addBilledAccount,
  type BilledAccount,
  change,
  type Json,
  sendInvoice,
  show,
} from "../invoice-fixture.ts";

// The address of the well-known private key 1.
const PAYER_KEY = Buffer.from(`${"0".repeat(63)}1`, "hex");
const PAYER = "0x7e5f4552091a69125d5dfcb7b8c2659029395bdf";
const WALLET = "0x2b5ad5c4795c026514f8317c7a215e218dccd6cf";

type Parties = { seller: BilledAccount; buyer: BilledAccount };

let server: TestServer;
let ours: Parties;
let theirs: Parties;
/** While it is set, the chain answers only after it; how often it was asked. */
let gate: Promise<void> | undefined;
let asked = 0;
beforeAll(async () => {
  server = await startTestServer({
    partners: async (core) => {
      const partners = await openPartners(core);
      const readTransaction: typeof partners.chain.readTransaction = async (chain, tx_id) => {
        asked += 1;
        await gate;
        return partners.chain.readTransaction(chain, tx_id);
      };
      return { ...partners, chain: { ...partners.chain, readTransaction } };
    },
  });
  ours = await addParties("Our");
  theirs = await addParties("Their");
});
afterAll(async () => {
  expect(await findFault(server)).toBeNull();
  await server.close();
});

it("is no longer shown by another account's invoice that it had paid by mistake", async () => {
  const [lost, proven] = [await send(theirs), await send(ours)];
  const { tx_id } = await transfer();
  good(await claim(theirs, lost.id, { txHash: tx_id }));
  good(await change(server, lost.id, "declareReceivedPayment", theirs.seller.key));
  await settle(server);
  const before = await show(server, lost.id, theirs.seller.key);
  expect(before.trackedTransactions).toHaveLength(1);
  expect(JSON.stringify(before.paymentMetadata)).toContain(tx_id);
  good(await claim(ours, proven.id, { txHash: tx_id, signature: signed(proven.id) }));
  await settle(server);
  const won = await show(server, proven.id, ours.seller.key);
  expect(won).toMatchObject({ status: "paid", trackedTransactions: [{ logIndex: 0 }] });
  for (const key of [theirs.seller.key, theirs.buyer.key]) {
    const shown = await show(server, lost.id, key);
    // Its seller said that it was paid, and still says so.
    expect(shown).toMatchObject({ status: "paid", trackedTransactions: [] });
    expect(JSON.stringify(shown.paymentMetadata)).not.toContain(tx_id);
    expect(shown.events.at(-1).name).toBe("withdrawTransfers");
  }
});

it("is replaced by the other transfer of the same transaction", async () => {
  const [lost, proven] = [await send(theirs), await send(ours)];
  const { tx_id } = await transfer();
  await transfer({ tx_id });
  good(await claim(theirs, lost.id, { txHash: tx_id }));
  await settle(server);
  const before = await show(server, lost.id, theirs.seller.key);
  expect(before.trackedTransactions).toMatchObject([{ logIndex: 0 }]);
  good(await claim(ours, proven.id, { txHash: tx_id, signature: signed(proven.id) }));
  await settle(server);
  const shown = await show(server, lost.id, theirs.seller.key);
  expect(shown).toMatchObject({ status: "declaredPaid", trackedTransactions: [{ logIndex: 1 }] });
  good(await change(server, lost.id, "declareReceivedPayment", theirs.seller.key));
  await settle(server);
  expect((await show(server, lost.id, theirs.seller.key)).events.at(-1).name).toBe("paid");
});

it("is no longer shown by an invoice marked unpaid that had not used it", async () => {
  const [lost, proven] = [await send(theirs), await send(ours)];
  const { tx_id } = await transfer();
  good(await claim(theirs, lost.id, { txHash: tx_id }));
  await settle(server);
  const { promise, resolve } = Promise.withResolvers<void>();
  [gate, asked] = [promise, 0];
  try {
    good(await change(server, lost.id, "declareReceivedPayment", theirs.seller.key));
    await waitFor(async () => asked > 0);
    good(await change(server, lost.id, "markUnpaid", theirs.seller.key));
  } finally {
    gate = undefined;
    resolve();
  }
  await settle(server);
  good(await claim(ours, proven.id, { txHash: tx_id, signature: signed(proven.id) }));
  await settle(server);
  expect((await show(server, proven.id, ours.seller.key)).status).toBe("paid");
  const shown = await show(server, lost.id, theirs.seller.key);
  expect(shown).toMatchObject({ status: "open", trackedTransactions: [] });
});

it("that pays one of many leaves the others' claims alone, unless they show it", async () => {
  const COUNT = 12;
  const proven = await sendMany(ours, COUNT);
  const { tx_id } = await transfer();
  for (let at = 1; at < COUNT; at += 1) await transfer({ tx_id });
  asked = 0;
  await claimAll(proven, tx_id);
  const invoices = await Promise.all(proven.map((id) => show(server, id, ours.seller.key)));
  const used = invoices.map(({ trackedTransactions: [only] }) => only.logIndex);
  expect(new Set(used).size).toBe(COUNT);
  // Each of them is checked once.
  expect(asked).toBe(COUNT);
});

it("is shown by a claim without a proof instead of another one, at most five times", async () => {
  const COUNT = 8;
  const [waiting, proven] = [await send(theirs), await sendMany(ours, COUNT)];
  const { tx_id } = await transfer();
  for (let at = 0; at < COUNT; at += 1) await transfer({ tx_id });
  good(await claim(theirs, waiting.id, { txHash: tx_id }));
  await settle(server);
  for (const id of proven) await claimAll([id], tx_id);
  const shown = await show(server, waiting.id, theirs.seller.key);
  const names: string[] = shown.events.map(({ name }: { name: string }) => name);
  expect(names.filter((name) => name === "trackTransaction")).toHaveLength(5);
  expect(shown).toMatchObject({ status: "declaredPaid", trackedTransactions: [] });
  // The one that is left pays it as soon as its seller confirms.
  good(await change(server, waiting.id, "declareReceivedPayment", theirs.seller.key));
  await settle(server);
  const paid = await show(server, waiting.id, theirs.seller.key);
  expect(paid.trackedTransactions).toMatchObject([{ logIndex: COUNT }]);
  expect(paid.events.at(-1).name).toBe("paid");
});

async function sendMany(parties: Parties, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let at = 0; at < count; at += 1) ids.push((await send(parties)).id);
  return ids;
}

async function claimAll(ids: readonly string[], txHash: string): Promise<void> {
  await Promise.all(
    ids.map(async (id) => good(await claim(ours, id, { txHash, signature: signed(id) }))),
  );
  await settle(server);
}

async function addParties(name: string): Promise<Parties> {
  const id = randomUUID().slice(0, 8);
  return {
    seller: await addBilledAccount(server, `${name} seller ${id}`),
    buyer: await addBilledAccount(server, `${name} buyer ${id}`),
  };
}

/** 1 000.00 USD to a wallet on polygon. */
function send({ seller, buyer }: Parties) {
  const paymentInformation = { paymentAddress: WALLET, chain: "matic" };
  return sendInvoice(server, seller, buyer, {
    invoiceItems: [{ name: "Sample work", currency: "USD", quantity: 1, unitPrice: "100000" }],
    paymentOptions: [{ type: "wallet", value: { currencies: ["USDC-matic"], paymentInformation } }],
  });
}

it("a transaction of the sandbox has at most 100 transfers", async () => {
  const { id } = await send(ours);
  const { tx_id } = await transfer();
  good(await claim(ours, id, { txHash: tx_id }));
  await server.core.database.query(
    `insert into sandbox_wallet_transfers
       (chain, tx_id, log_index, sender, recipient, token, amount, mined_at)
     select chain, tx_id, at, sender, recipient, token, amount, mined_at
     from sandbox_wallet_transfers, generate_series(1, 98) as at where tx_id = $1`,
    [tx_id],
  );
  await transfer({ tx_id });
  const crypto_transfer = { blockchain: "polygon", amount: 1, from: PAYER, to: WALLET, tx_id };
  const refused = await server.call("POST", "/sandbox/crypto_transfers", { crypto_transfer });
  expect([refused.status, refused.body.errors[0].field]).toEqual([422, "crypto_transfer.tx_id"]);
  const shown = await show(server, id, ours.seller.key);
  expect(shown).toMatchObject({ status: "declaredPaid", trackedTransactions: [{ logIndex: 0 }] });
});

function claim({ buyer }: Parties, id: string, input: Json) {
  return change(server, id, "declareSentPayment", buyer.key, { chain: "matic", ...input });
}

async function transfer(more: Json = {}): Promise<{ tx_id: string }> {
  const answer = await server.call("POST", "/sandbox/crypto_transfers", {
    crypto_transfer: { blockchain: "polygon", amount: 1000, from: PAYER, to: WALLET, ...more },
  });
  await settle(server);
  return good(answer).crypto_transfer;
}

/** As a wallet signs (personal_sign), independent of the code under test. */
function signed(text: string): string {
  const preamble = `\x19Ethereum Signed Message:\n${text.length}`;
  const digest = keccak_256(Buffer.from(preamble + text));
  const options = { prehash: false, format: "recovered" } as const;
  const [recovery, ...rest] = secp256k1.sign(digest, PAYER_KEY, options);
  return `0x${Buffer.from([...rest, recovery! + 27]).toString("hex")}`;
}

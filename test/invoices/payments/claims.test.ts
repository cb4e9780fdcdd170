import { createHash, randomUUID } from "node:crypto";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HOUR_MS } from "../../../src/platform/durations.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { findFault, good, settle } from "../../offramps/story.ts";
import {
  addBilledAccount,
  type BilledAccount,
  change,
  create,
  eventsOf,
  expectProblem,
  type Json,
  namesOf,
  sendInvoice,
  show,
} from "../invoice-fixture.ts";

// The addresses of the well-known private keys 1 and 2.
const PAYER_KEY = Buffer.from(`${"0".repeat(63)}1`, "hex");
const PAYER = "0x7e5f4552091a69125d5dfcb7b8c2659029395bdf";
const WALLET = "0x2b5ad5c4795c026514f8317c7a215e218dccd6cf";
const STRANGER = "0x6813eb9362372eef6200f3b1dbc3f819671cba69";

let server: TestServer;
let seller: BilledAccount;
let buyer: BilledAccount;
beforeAll(async () => {
  server = await startTestServer();
  seller = await addBilledAccount(server, "Seller");
  buyer = await addBilledAccount(server, "Buyer");
});
afterAll(async () => {
  expect(await findFault(server)).toBeNull();
  await server.close();
});

const wallet = (more: Json = {}) => ({
  type: "wallet",
  value: {
    currencies: ["USDC-matic"],
    paymentInformation: { paymentAddress: WALLET, chain: "matic" },
    ...more,
  },
});

const PAYABLE_ON_CHAIN = {
  invoiceItems: [{ name: "Sample work", currency: "USD", quantity: 1, unitPrice: "100000" }],
  paymentOptions: [wallet()],
};

/** 1 000.00 USD to a wallet on polygon. */
const send = (more: Json = {}) =>
  sendInvoice(server, seller, buyer, { ...PAYABLE_ON_CHAIN, ...more });

const newHash = () => `0x${createHash("sha256").update(randomUUID()).digest("hex")}`;

/** As a wallet signs (personal_sign), independent of the code under test. */
function signed(text: string, key = PAYER_KEY): string {
  const preamble = `\x19Ethereum Signed Message:\n${text.length}`;
  const digest = keccak_256(Buffer.from(preamble + text));
  const [recovery, ...rest] = secp256k1.sign(digest, key, { prehash: false, format: "recovered" });
  return `0x${Buffer.from([...rest, recovery! + 27]).toString("hex")}`;
}

const claim = (id: string, input: Json, key = buyer.key) =>
  change(server, id, "declareSentPayment", key, { chain: "matic", ...input });

async function transfer(more: Json = {}): Promise<{ tx_id: string; log_index: number }> {
  const answer = await server.call("POST", "/sandbox/crypto_transfers", {
    crypto_transfer: { blockchain: "polygon", amount: 1000, from: PAYER, to: WALLET, ...more },
  });
  await settle(server);
  return good(answer).crypto_transfer;
}

/** Locks an account's view of an invoice until the returned function is called. */
async function holdView(account_id: string, id: string): Promise<() => Promise<void>> {
  const [held, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = server.db.database.transaction(async (tx) => {
    const key = [account_id, id];
    await tx.query("select 1 from invoice_views where account_id = $1 and id = $2 for update", key);
    held.resolve();
    await released.promise;
  });
  await held.promise;
  return () => {
    released.resolve();
    return holding;
  };
}

async function isViewAwaited(): Promise<boolean> {
  const rows = await server.db.database.query(
    `select 1 from pg_stat_activity where datname = current_database()
       and wait_event_type = 'Lock' and query like '%invoice_views%'`,
  );
  return rows.length > 0;
}

const history = (invoice: { events: { name: string; note?: string }[] }) =>
  invoice.events.map(({ name, note }) => (note ? `${name}: ${note}` : name));

describe("a claim with the payer's signature", () => {
  it("is paid, with its event, once the transfer is final", async () => {
    const { id } = await send();
    const tx_id = newHash();
    const declared = good(await claim(id, { txHash: tx_id, signature: signed(id) }));
    expect(declared).toMatchObject({
      status: "declaredPaid",
      trackedTransactions: [],
      paymentMetadata: { txHash: tx_id, chainName: "matic", isManuallyPaid: true },
    });
    await settle(server);
    expect((await show(server, id, buyer.key)).status).toBe("declaredPaid");
    const { log_index } = await transfer({ tx_id: tx_id.slice(2).toUpperCase() });
    const paid = await show(server, id, seller.key);
    expect(paid).toMatchObject({
      status: "paid",
      paymentMetadata: { txHash: tx_id, chainName: "polygon", isManuallyPaid: false },
    });
    expect(paid.trackedTransactions).toEqual([
      {
        ...{ txHash: tx_id, chain: "polygon", logIndex: log_index, currency: "USDC" },
        ...{ amount: "1000000000", from: PAYER, to: WALLET, date: expect.any(String) },
      },
    ]);
    const names = ["create", "declareSentPayment", "trackTransaction", "paid"];
    expect(history(paid)).toEqual(names);
    const event_names = ["create", "declareSentPayment", "paid"];
    expect(await namesOf(server, seller.account_id, id)).toEqual(event_names);
    expect(await namesOf(server, buyer.account_id, id)).toEqual(event_names);
    const [event] = (await eventsOf(server, buyer.account_id, id)).slice(-1);
    expect(event!.body.invoice.trackedTransactions).toEqual(paid.trackedTransactions);
  });

  it("is found by the hash of its transaction, by both parties and by no other", async () => {
    const { id } = await send();
    const { tx_id } = await transfer();
    const search = async ({ key }: { key: string }): Promise<string[]> => {
      const path = `/invoices?search=${tx_id.toUpperCase().replace("0X", "0x")}`;
      const { invoices } = good(await server.call("GET", path, undefined, { key }));
      return invoices.map((invoice: { id: string }) => invoice.id);
    };
    expect(await search(seller)).toEqual([]);
    good(await claim(id, { txHash: tx_id }));
    await settle(server);
    expect(await search(seller)).toEqual([id]);
    expect(await search(buyer)).toEqual([id]);
    expect(await search(await addBilledAccount(server, "Other"))).toEqual([]);
  });

  it("is found by the hash also when two changes are synced to the buyer at once", async () => {
    const { id } = await send();
    const tx_id = newHash();
    good(await claim(id, { txHash: tx_id }));
    await settle(server);
    const release = await holdView(buyer.account_id, id);
    // The sync of this change has read the invoice when it waits for the buyer's view.
    good(await change(server, id, "declareReceivedPayment", seller.key));
    await waitFor(isViewAwaited);
    const crypto_transfer = { blockchain: "polygon", amount: 1000, from: PAYER, to: WALLET, tx_id };
    good(await server.call("POST", "/sandbox/crypto_transfers", { crypto_transfer }));
    await waitFor(async () => {
      const { trackedTransactions } = await show(server, id, seller.key);
      return trackedTransactions.length > 0;
    });
    await release();
    await settle(server);
    const path = `/invoices?search=${tx_id}`;
    const { invoices } = good(await server.call("GET", path, undefined, { key: buyer.key }));
    expect(invoices).toMatchObject([{ id, status: "paid" }]);
    const event_names = ["create", "declareSentPayment", "declareReceivedPayment", "paid"];
    expect(await namesOf(server, buyer.account_id, id)).toEqual(event_names);
  });

  it("is paid at once when the transfer was final before the claim", async () => {
    const { id } = await send();
    const { tx_id } = await transfer({ amount: "1000.000001" });
    good(await claim(id, { txHash: tx_id, signature: signed(id) }));
    await settle(server);
    expect(await show(server, id, seller.key)).toMatchObject({ status: "paid" });
  });

  it("by an address other than the sender's waits for the seller", async () => {
    const { id } = await send();
    const { tx_id } = await transfer({ from: STRANGER });
    good(await claim(id, { txHash: tx_id, signature: signed(id) }));
    await settle(server);
    expect(await show(server, id, seller.key)).toMatchObject({
      status: "declaredPaid",
      trackedTransactions: [{ txHash: tx_id, from: STRANGER }],
    });
  });

  it("over another invoice's id proves nothing", async () => {
    const [first, second] = [await send(), await send()];
    const { tx_id } = await transfer();
    good(await claim(first.id, { txHash: tx_id, signature: signed(second.id) }));
    await settle(server);
    expect((await show(server, first.id, seller.key)).status).toBe("declaredPaid");
  });
});

describe("a claim without a signature", () => {
  it("is tracked, and paid with its event when the seller confirms", async () => {
    const { id } = await send();
    const { tx_id } = await transfer();
    good(await claim(id, { txHash: tx_id }));
    await settle(server);
    expect(await show(server, id, seller.key)).toMatchObject({
      status: "declaredPaid",
      trackedTransactions: [{ txHash: tx_id }],
    });
    const paid = good(await change(server, id, "declareReceivedPayment", seller.key));
    expect(paid.status).toBe("paid");
    await settle(server);
    const event_names = ["create", "declareSentPayment", "declareReceivedPayment", "paid"];
    expect(await namesOf(server, seller.account_id, id)).toEqual(event_names);
    expect(await namesOf(server, buyer.account_id, id)).toEqual(event_names);
  });

  it("that the seller confirmed early is tracked and reported as paid when it is final", async () => {
    const { id } = await send();
    const tx_id = newHash();
    good(await claim(id, { txHash: tx_id }));
    good(await change(server, id, "declareReceivedPayment", seller.key));
    await transfer({ tx_id });
    expect(await show(server, id, buyer.key)).toMatchObject({
      status: "paid",
      trackedTransactions: [{ txHash: tx_id }],
    });
    const event_names = ["create", "declareSentPayment", "declareReceivedPayment", "paid"];
    expect(await namesOf(server, seller.account_id, id)).toEqual(event_names);
  });
});

describe("a wrong claim", () => {
  it.each<[reason: string, more: Json, note: RegExp]>([
    ["too little", { amount: "999.999999" }, /less than the invoice's total/],
    ["to another address", { to: STRANGER }, /no token of the invoice to its wallet/],
    ["in another token", { token: "usdt" }, /no token of the invoice to its wallet/],
    ["mined too early", { mined_at: "2020-01-01T00:00:00Z" }, /before the invoice became payable/],
  ])("%s is dropped with a note, and the invoice is open again", async (_, more, note) => {
    const { id } = await send();
    const { tx_id } = await transfer(more);
    good(await claim(id, { txHash: tx_id, signature: signed(id) }));
    await settle(server);
    const dropped = await show(server, id, buyer.key);
    expect(dropped).toMatchObject({ status: "open", trackedTransactions: [], paymentMetadata: {} });
    expect(history(dropped).at(-1)).toMatch(/^dropClaim: /);
    expect(history(dropped).at(-1)).toMatch(note);
    const { tx_id: right } = await transfer();
    good(await claim(id, { txHash: right, signature: signed(id) }));
    await settle(server);
    expect((await show(server, id, buyer.key)).status).toBe("paid");
  });

  it.each([
    ["nor the link that came with it", {}, null],
    ["but the seller's link stays", { txLink: "https://bank.test/2" }, "https://bank.test/2"],
  ])("is not shown as the payment of an invoice confirmed early, %s", async (_, input, link) => {
    const { id } = await send();
    const tx_id = newHash();
    good(await claim(id, { txHash: tx_id, txLink: "https://scan.test/1" }));
    good(await change(server, id, "declareReceivedPayment", seller.key, input));
    const before = await show(server, id, buyer.key);
    expect(before.paymentMetadata).toMatchObject({ txHash: tx_id, chainName: "matic" });
    await transfer({ tx_id, amount: 1 });
    const dropped = await show(server, id, buyer.key);
    expect(history(dropped).at(-1)).toMatch(/^dropClaim: /);
    expect(dropped.status).toBe("paid");
    const { txLink: __, txHash: ___, chainName: ____, ...kept } = before.paymentMetadata;
    expect(dropped.paymentMetadata).toEqual({ ...kept, ...(link ? { txLink: link } : {}) });
    expect((await show(server, id, seller.key)).paymentMetadata).toEqual(dropped.paymentMetadata);
  });

  it.each([
    ["accepted where the buyer had accepted", false, "accepted"],
    ["open where the payment options were changed since the acceptance", true, "open"],
  ])("returns the invoice to %s", async (_, is_changed, status) => {
    const { id } = await send();
    good(await change(server, id, "accept", buyer.key));
    const input = { paymentOptions: [wallet()] };
    if (is_changed) good(await change(server, id, "changePaymentOptions", seller.key, input));
    const { tx_id } = await transfer({ amount: 1 });
    good(await claim(id, { txHash: tx_id }));
    await settle(server);
    expect((await show(server, id, buyer.key)).status).toBe(status);
  });

  it("is dropped when no such transaction is final within a day", async () => {
    const { id } = await send();
    good(await claim(id, { txHash: newHash() }));
    const hour = HOUR_MS;
    good(await server.call("POST", "/sandbox/clock", { advance_ms: 23 * hour }));
    expect((await show(server, id, buyer.key)).status).toBe("declaredPaid");
    good(await server.call("POST", "/sandbox/clock", { advance_ms: 2 * hour }));
    const dropped = await show(server, id, buyer.key);
    expect(dropped.status).toBe("open");
    expect(history(dropped).at(-1)).toMatch(/not final on polygon within 24 hours/);
  });

  it("one transfer pays one invoice of the installation, two transfers two", async () => {
    const invoices = await Promise.all([send(), send(), send()]);
    const { tx_id } = await transfer();
    await transfer({ tx_id });
    for (const { id } of invoices) {
      good(await claim(id, { txHash: tx_id, signature: signed(id) }));
    }
    await settle(server);
    const shown = await Promise.all(invoices.map(({ id }) => show(server, id, seller.key)));
    expect(shown.map(({ status }) => status).sort()).toEqual(["open", "paid", "paid"]);
    const used = shown.flatMap(({ trackedTransactions }) =>
      trackedTransactions.map((tracked: { logIndex: number }) => tracked.logIndex),
    );
    expect(used.sort()).toEqual([0, 1]);
    const loser = shown.find(({ status }) => status === "open")!;
    expect(history(loser).at(-1)).toMatch(/already paid an invoice/);
  });
});

describe("a transfer that two invoices name", () => {
  /** The same transfer, claimed without a proof by one buyer, and with it by its sender. */
  const rivals = () => Promise.all([send(), send()]);

  it("is not taken from its sender by a claim without proof", async () => {
    const [unproven, proven] = await rivals();
    const { tx_id } = await transfer();
    good(await claim(unproven.id, { txHash: tx_id }));
    await settle(server);
    expect((await show(server, unproven.id, seller.key)).trackedTransactions).toHaveLength(1);
    good(await claim(proven.id, { txHash: tx_id, signature: signed(proven.id) }));
    await settle(server);
    expect((await show(server, proven.id, seller.key)).status).toBe("paid");
    const dropped = await show(server, unproven.id, seller.key);
    expect(dropped).toMatchObject({ status: "open", trackedTransactions: [], paymentMetadata: {} });
    expect(history(dropped).at(-1)).toMatch(/^dropClaim: .*already paid an invoice/);
  });

  it("pays the one that the seller confirms, and no other", async () => {
    const [first, second] = await rivals();
    const { tx_id } = await transfer();
    for (const { id } of [first, second]) good(await claim(id, { txHash: tx_id }));
    await settle(server);
    good(await change(server, second.id, "declareReceivedPayment", seller.key));
    await settle(server);
    const event_names = ["create", "declareSentPayment", "declareReceivedPayment", "paid"];
    expect(await namesOf(server, buyer.account_id, second.id)).toEqual(event_names);
    expect(await show(server, first.id, buyer.key)).toMatchObject({
      status: "open",
      trackedTransactions: [],
    });
  });

  it("is not taken from its sender by a seller of another account who confirms it", async () => {
    const { id } = await send();
    const other_seller = await addBilledAccount(server, "Other seller");
    const other_buyer = await addBilledAccount(server, "Other buyer");
    const false_invoice = await sendInvoice(server, other_seller, other_buyer, PAYABLE_ON_CHAIN);
    const { tx_id } = await transfer();
    good(await claim(false_invoice.id, { txHash: tx_id }, other_buyer.key));
    good(await change(server, false_invoice.id, "declareReceivedPayment", other_seller.key));
    await settle(server);
    good(await claim(id, { txHash: tx_id, signature: signed(id) }));
    await settle(server);
    expect((await show(server, id, seller.key)).status).toBe("paid");
    // Its sender has used it now: nobody takes it once more.
    const third = await sendInvoice(server, other_seller, other_buyer, PAYABLE_ON_CHAIN);
    const again = { txHash: tx_id, signature: signed(third.id) };
    good(await claim(third.id, again, other_buyer.key));
    await settle(server);
    expect((await show(server, third.id, other_seller.key)).status).toBe("open");
  });

  it("pays one of two whose sellers confirm at once", async () => {
    const invoices = await rivals();
    const { tx_id } = await transfer();
    for (const { id } of invoices) good(await claim(id, { txHash: tx_id }));
    await Promise.all(
      invoices.map(({ id }) => change(server, id, "declareReceivedPayment", seller.key)),
    );
    await settle(server);
    const shown = await Promise.all(invoices.map(({ id }) => show(server, id, seller.key)));
    // The seller declares that both were paid; the chain shows one of them.
    expect(shown.map(({ status }) => status)).toEqual(["paid", "paid"]);
    expect(shown.map((one) => one.trackedTransactions.length).sort()).toEqual([0, 1]);
    const last = shown.map((one) => one.events.at(-1).name).sort();
    expect(last).toEqual(["dropClaim", "paid"]);
  });

  it("pays once, however it is spelled", async () => {
    const [first, second] = await rivals();
    const { tx_id } = await transfer();
    good(await claim(first.id, { txHash: tx_id, signature: signed(first.id) }));
    await settle(server);
    const other = { txHash: tx_id.slice(2).toUpperCase(), chain: "Polygon" };
    good(await claim(second.id, { ...other, signature: signed(second.id) }));
    await settle(server);
    expect((await show(server, first.id, seller.key)).status).toBe("paid");
    expect((await show(server, second.id, seller.key)).status).toBe("open");
  });
});

describe("an invoice that the seller marked unpaid", () => {
  it("is not paid again by the transfer that paid it before", async () => {
    const { id } = await send();
    const { tx_id } = await transfer();
    const input = { txHash: tx_id, signature: signed(id) };
    good(await claim(id, input));
    await settle(server);
    good(await change(server, id, "markUnpaid", seller.key));
    await settle(server);
    good(await claim(id, input));
    await settle(server);
    const shown = await show(server, id, seller.key);
    expect(shown.status).toBe("open");
    expect(shown.trackedTransactions).toHaveLength(1);
    expect(history(shown).at(-1)).toMatch(/already paid an invoice/);
  });

  it("has no claim any more: a later declaration applies", async () => {
    const { id } = await send();
    good(await claim(id, { txHash: newHash() }));
    good(await change(server, id, "declareReceivedPayment", seller.key));
    good(await change(server, id, "markUnpaid", seller.key));
    good(await change(server, id, "declareSentPayment", buyer.key));
    good(await server.call("POST", "/sandbox/clock", { advance_ms: 25 * HOUR_MS }));
    const shown = await show(server, id, buyer.key);
    expect(shown.status).toBe("declaredPaid");
    expect(shown.events.at(-1).name).toBe("declareSentPayment");
  });
});

describe("an invalid claim", () => {
  it("is 404 for an account that cannot see the invoice", async () => {
    const { id } = await send();
    const other = await addBilledAccount(server, "Other");
    const { tx_id } = await transfer();
    const answer = await claim(id, { txHash: tx_id, signature: signed(id) }, other.key);
    expect(answer.status).toBe(404);
    expect((await show(server, id, seller.key)).status).toBe("open");
  });

  it("is refused from the seller, who cannot declare a payment sent", async () => {
    const { id } = await send();
    expectProblem(await claim(id, { txHash: newHash() }, seller.key), "type", "invalid_transition");
  });

  it.each<[field: string, input: Json, code: string]>([
    ["txHash", { txHash: "hello" }, "record_invalid"],
    ["txHash", { chain: "polygon" }, "parameter_missing"],
    ["chain", { txHash: newHash(), chain: null }, "parameter_missing"],
    ["chain", { txHash: newHash(), chain: "dogecoin" }, "record_invalid"],
    ["chain", { txHash: newHash(), chain: "ethereum" }, "record_invalid"],
    ["signature", { txHash: newHash(), signature: "0x1234" }, "record_invalid"],
    ["signature", { txHash: newHash(), signature: `0x${"0".repeat(130)}` }, "record_invalid"],
  ])("is refused: %s of %j", async (field, input, code) => {
    const { id } = await send();
    const answer = await claim(id, input);
    expect(answer.status).toBe(code === "parameter_missing" ? 400 : 422);
    expectProblem(answer, `input.${field}`, code);
    expect((await show(server, id, buyer.key)).status).toBe("open");
  });

  it("is refused when the invoice is not in USD", async () => {
    const item = { name: "Work", currency: "EUR", quantity: 1, unitPrice: "100000" };
    const { id } = await send({ invoiceItems: [item] });
    expectProblem(await claim(id, { txHash: newHash() }), "input.txHash", "record_invalid");
  });

  it("is refused in any other change", async () => {
    const { id } = await send();
    const input = { txHash: newHash(), chain: "matic" };
    const answer = await change(server, id, "accept", buyer.key, input);
    expect(answer.body.errors.map((problem: { field: string }) => problem.field)).toEqual([
      "input.txHash",
      "input.chain",
    ]);
  });
});

it("a salary is paid by a claim of its employer, who owns it", async () => {
  const salary = good(
    await create(
      server,
      {
        meta: { format: "svc_salary" },
        buyerInfo: { email: buyer.email },
        sellerInfo: { email: seller.email },
        ...PAYABLE_ON_CHAIN,
        convert: true,
      },
      buyer.key,
    ),
  );
  await settle(server);
  const { tx_id } = await transfer();
  good(await claim(salary.id, { txHash: tx_id, signature: signed(salary.id) }));
  await settle(server);
  expect((await show(server, salary.id, seller.key)).status).toBe("paid");
});

describe("POST /sandbox/crypto_transfers", () => {
  it("reports all problems at once", async () => {
    const answer = await server.call("POST", "/sandbox/crypto_transfers", {
      crypto_transfer: {
        ...{ blockchain: "polygon", tx_id: "x", token: "doge", amount: -1, mined_at: "soon" },
        ...{ from: "0x1", to: "0x2" },
      },
    });
    expect(answer.status).toBe(422);
    const fields = answer.body.errors.map(({ field }: { field: string }) => field).sort();
    const names = ["amount", "from", "mined_at", "to", "token", "tx_id"];
    expect(fields).toEqual(names.map((name) => `crypto_transfer.${name}`));
  });

  it.each(["2026", "Nov 15 2026", "2026-02-30T00:00:00Z", "1", "2026-11-15T09:30:00"])(
    "refuses a mined_at that is not an ISO 8601 time with a zone: %s",
    async (mined_at) => {
      const crypto_transfer = { blockchain: "polygon", amount: 1, from: PAYER, to: WALLET };
      const body = { crypto_transfer: { ...crypto_transfer, mined_at } };
      const answer = await server.call("POST", "/sandbox/crypto_transfers", body);
      expectProblem(answer, "crypto_transfer.mined_at", "record_invalid");
    },
  );

  it.each([null, [], "polygon", { crypto_transfer: null }, { crypto_transfer: [] }])(
    "refuses the body %j with an error that says what to send",
    async (body) => {
      const answer = await server.call("POST", "/sandbox/crypto_transfers", body);
      expect([400, 422]).toContain(answer.status);
      expect(answer.body.errors.length).toBeGreaterThan(0);
    },
  );
});

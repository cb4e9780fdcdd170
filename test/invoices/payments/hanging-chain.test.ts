import { createHash, randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openPartners } from "../../../src/app/open-partners.ts";
import type { Chain } from "../../../src/catalogue/chains.ts";
import { createInvoiceRenderer } from "../../../src/invoices/render.ts";
import { CHECK_CLAIM_TASK } from "../../../src/invoices/task-kinds.ts";
import { invoiceTasks } from "../../../src/invoices/tasks.ts";
import { ChainUnavailable } from "../../../src/partners/chain/port.ts";
import { createWorker } from "../../../src/platform/tasks/worker.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { SILENT } from "../../harness/task-fixture.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { good } from "../../offramps/story.ts";
import { addBilledAccount, type BilledAccount, change, sendInvoice } from "../invoice-fixture.ts";

const WALLET = "0x2b5ad5c4795c026514f8317c7a215e218dccd6cf";
const CLAIMS_EACH = 3;

let server: TestServer;
let seller: BilledAccount;
let buyer: BilledAccount;
beforeAll(async () => {
  server = await startTestServer();
  seller = await addBilledAccount(server, "Seller");
  buyer = await addBilledAccount(server, "Buyer");
  for (let at = 0; at < CLAIMS_EACH; at += 1) await claim("base");
  for (let at = 0; at < CLAIMS_EACH; at += 1) await claim("matic");
  await server.app.worker.stop();
});
afterAll(() => server.close());

async function claim(chain: "matic" | "base"): Promise<void> {
  const payment = { currencies: [`USDC-${chain}`] };
  const paymentInformation = { paymentAddress: WALLET, chain };
  const { id } = await sendInvoice(server, seller, buyer, {
    invoiceItems: [{ name: "Sample work", currency: "USD", quantity: 1, unitPrice: "100000" }],
    paymentOptions: [{ type: "wallet", value: { ...payment, paymentInformation } }],
  });
  const txHash = `0x${createHash("sha256").update(randomUUID()).digest("hex")}`;
  good(await change(server, id, "declareSentPayment", buyer.key, { chain, txHash }));
}

/** A worker of the checks alone, with the chains' answers from here. */
async function startChecks(
  readTransaction: (chain: Chain, tx_id: string) => Promise<{ status: "pending" }>,
) {
  const { core } = server;
  const partners = await openPartners(core);
  const chain = { ...partners.chain, readTransaction };
  const deps = { ...core, mode: "sandbox" as const, public_url: () => "http://127.0.0.1" };
  const renderer = createInvoiceRenderer(deps);
  const handlers = invoiceTasks({ ...deps, renderer, chain }).filter(
    ({ kind }) => kind === CHECK_CLAIM_TASK,
  );
  await core.database.query("update tasks set due_at = created_at, attempts = 0 where kind = $1", [
    CHECK_CLAIM_TASK,
  ]);
  const worker = createWorker({ ...core, handlers, log: SILENT });
  worker.start();
  return worker;
}

/** How many checks are due, and how many have failed. */
async function countChecks(): Promise<{ due: number; failed: number }> {
  const [row] = await server.core.database.query<{ due: number; failed: number }>(
    `select (count(*) filter (where due_at = created_at))::int as due,
       (count(*) filter (where attempts > 0))::int as failed from tasks where kind = $1`,
    [CHECK_CLAIM_TASK],
  );
  return row!;
}

it("claims on a chain whose node hangs delay no claim on another, and do not fail", async () => {
  const asked: Record<string, number> = {};
  let end = () => {};
  const timeout = new Promise<void>((resolve) => {
    end = resolve;
  });
  const worker = await startChecks(async (chain) => {
    asked[chain] = (asked[chain] ?? 0) + 1;
    if (chain === "polygon") return { status: "pending" };
    await timeout;
    throw new ChainUnavailable("the node does not answer");
  });
  try {
    // All on the other chain are checked while the first question still hangs.
    await waitFor(async () => (await countChecks()).due === CLAIMS_EACH);
    expect(asked).toEqual({ base: 1, polygon: CLAIMS_EACH });
    end();
    await waitFor(async () => (await countChecks()).due === 0);
    expect(asked).toEqual({ base: 1, polygon: CLAIMS_EACH });
    expect((await countChecks()).failed).toBe(0);
  } finally {
    end();
    await worker.stop();
  }
});

it("a chain's answer that is an error of ours fails its own claims only", async () => {
  const worker = await startChecks(async (chain) => {
    if (chain === "polygon") return { status: "pending" };
    throw new Error("an unexpected answer");
  });
  try {
    await waitFor(async () => (await countChecks()).failed === CLAIMS_EACH);
    expect((await countChecks()).due).toBe(0);
  } finally {
    await worker.stop();
  }
});

it("an error while one claim is settled fails no other", async () => {
  let broken: string | undefined;
  const worker = await startChecks(async (_, tx_id) => {
    broken ??= tx_id;
    // Without transfers it cannot be judged.
    if (tx_id === broken) return { status: "final" } as never;
    return { status: "pending" };
  });
  try {
    await waitFor(async () => (await countChecks()).due === 0);
    expect((await countChecks()).failed).toBe(1);
  } finally {
    await worker.stop();
  }
});

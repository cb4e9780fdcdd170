import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listSweeps } from "../../../src/partners/chain/evm/sweep/sweep-store.ts";
import type { Database } from "../../../src/platform/db/database.ts";
import { startCommand } from "../../harness/command-line.ts";
import { TEST_XPUB } from "../../harness/evm/chains-file.ts";
import { bookFunds, expectSameAtRest } from "../../harness/evm/compare.ts";
import { openSendingChain, type SendingChain } from "../../harness/evm/sending-chain.ts";
import { TEST_TREASURY } from "../../harness/evm/signer.ts";
import { addApprovedUser, addQuote } from "../../harness/ramp.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { findFault, good } from "../../offramps/story.ts";

const FIFTY = 50_000_000n;
/** More than the least that is swept. */
const HUNDRED = 100_000_000n;
const WITHIN_MS = 60_000;
const DOMAIN = `0x${"d0".repeat(32)}`;
let chain: SendingChain;
/** The API; the workers are processes of their own. */
let server: TestServer;
let database: Database;

beforeAll(async () => {
  const entry = { sweeping: { minimum: "75" }, first_block: 0 };
  chain = await openSendingChain(TEST_XPUB, { entry });
  server = await startTestServer({ environment: chain.settings, without_worker: true });
  database = server.core.database;
  await withWorker(() => bookFunds(server.core, chain.node));
}, 120_000);
afterAll(async () => {
  expect(await findFault(server)).toBeNull();
  await server.close();
  await chain.close();
});

/**
 * Starts a worker and kills it (kill -9) before or after a node has its first transaction; then the
 * node is as before.
 */
async function killWorker(when: "before" | "after"): Promise<void> {
  const { rpc } = chain;
  const killed = startCommand(["worker"], environment());
  rpc.instead = ({ method }) => {
    if (method !== "eth_sendRawTransaction" || when === "after") return undefined;
    killed.child.kill("SIGKILL");
    throw new Error("killed");
  };
  rpc.change = ({ method }) => {
    if (method === "eth_sendRawTransaction") killed.child.kill("SIGKILL");
    return undefined;
  };
  expect(await killed.ended).toMatchObject({ code: null, stderr: "" });
  Object.assign(rpc, { instead: null, change: null });
  // The dead worker's lease ends by itself after half a minute.
  await database.query("update tasks set leased_until = leased_until - interval '1 minute'");
}

async function withWorker(work: () => Promise<unknown>): Promise<void> {
  const { child, ended } = startCommand(["worker"], environment());
  try {
    await work();
  } finally {
    child.kill("SIGTERM");
    await ended;
  }
}

function environment(): Record<string, string> {
  const place = { DATABASE_URL: server.db.url, SLIPROAD_DATA_DIR: server.data_dir };
  return { ...place, SLIPROAD_WORKER_PORT: "0", ...chain.settings };
}

/** Tokens that somebody sends to the address of a new user's quote. */
async function deposit(amount: bigint): Promise<{ user_id: string; address: string }> {
  const user_id = await addApprovedUser(server);
  const quote_id = await addQuote(server, user_id);
  const quote = good(await server.call("GET", `/users/${user_id}/quotes/${quote_id}`));
  const { address } = quote.deposit_address;
  await chain.usdc.transfer(address, amount);
  return { user_id, address };
}

/** Asks for a refund of fifty that no worker has begun; returns the send's key. */
async function askForRefund(): Promise<string> {
  const { user_id } = await deposit(FIFTY);
  await withWorker(() =>
    waitFor(async () => {
      const { balances } = good(await server.call("GET", `/users/${user_id}/balances`));
      return balances.some((one: { amount: number }) => one.amount === 50);
    }, WITHIN_MS),
  );
  // Where the tokens came from: it needs no approval.
  const refund = { token: "usdc", chain: "polygon", amount: 50, address: chain.node.account };
  const asked = good(await server.call("POST", `/users/${user_id}/refunds`, { refund }));
  return `refund:${server.account_id}:${asked.refund.id}`;
}

describe.each(["before", "after"] as const)("a worker that is killed %s a node has", (when) => {
  it("its payment is followed by one that sends the same: paid once", async () => {
    const key = await askForRefund();
    const mined = await chain.mined();
    const before = await chain.balanceOf(chain.node.account);
    const paid = async () => (await chain.balanceOf(chain.node.account)) - before;
    await killWorker(when);
    expect(await paid()).toBe(when === "after" ? FIFTY : 0n);
    await withWorker(async () => {
      await chain.waitForFinal(database, key);
      await expectSameAtRest(server.core, chain.node);
    });
    expect(await paid()).toBe(FIFTY);
    expect(await chain.mined()).toBe(mined + 1);
  }, 240_000);

  it("its sweep with authorization (EIP-3009) is followed by one that sends the same", async () => {
    await chain.usdc.setDomains(DOMAIN, DOMAIN);
    const mined = await chain.mined();
    const { address } = await deposit(HUNDRED);
    const before = await chain.balanceOf(TEST_TREASURY);
    await killWorker(when);
    expect(await chain.balanceOf(address)).toBe(when === "after" ? 0n : HUNDRED);
    const sweeps = async () =>
      (await listSweeps(database, 10)).filter((one) => one.address === address);
    await withWorker(async () => {
      await waitFor(
        async () => (await sweeps()).every(({ state }) => state === "final"),
        WITHIN_MS,
      );
      await expectSameAtRest(server.core, chain.node);
    });
    expect(await sweeps()).toMatchObject([
      { method: "authorization", amount: HUNDRED, top_ups: 0 },
    ]);
    expect(await chain.balanceOf(address)).toBe(0n);
    expect(await chain.balanceOf(TEST_TREASURY)).toBe(before + HUNDRED);
    expect(await chain.mined()).toBe(mined + 1);
    const attempts = await database.query("select from evm_attempts where key like $1", [
      `sweep:${(await sweeps())[0]!.number}:%`,
    ]);
    expect(attempts).toHaveLength(1);
    // The signer has signed one authorization for the address.
    const journal = await readFile(join(chain.directory, "keystore.json.journal"), "utf8");
    expect(journal.split("\n").filter((line) => line.includes(address))).toHaveLength(1);
  }, 240_000);
});

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { claimIndexes, insertAddresses } from "../../../src/partners/chain/evm/address-store.ts";
import { listSweeps } from "../../../src/partners/chain/evm/sweep/sweep-store.ts";
import { openWallet } from "../../../src/partners/chain/evm/wallet.ts";
import { startCommand } from "../../harness/command-line.ts";
import { createTestDatabase, type TestDatabase } from "../../harness/database.ts";
import { TEST_XPUB } from "../../harness/evm/chains-file.ts";
import { openSendingChain, type SendingChain } from "../../harness/evm/sending-chain.ts";
import { TEST_TREASURY } from "../../harness/evm/signer.ts";
import { waitFor } from "../../harness/wait-for.ts";

const FIFTY = 50_000_000n;
const DOMAIN = `0x${"d0".repeat(32)}`;
let db: TestDatabase;
let chain: SendingChain;

beforeAll(async () => {
  db = await createTestDatabase();
  const entry = { sweeping: { minimum: "5" }, first_block: 0 };
  chain = await openSendingChain(TEST_XPUB, { entry });
});
afterAll(async () => {
  await db.drop();
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
  await db.database.query("update tasks set leased_until = leased_until - interval '1 minute'");
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
  const place = { DATABASE_URL: db.url, SLIPROAD_DATA_DIR: join(chain.directory, "data") };
  return { ...place, SLIPROAD_WORKER_PORT: "0", ...chain.settings };
}

describe.each(["before", "after"] as const)("a worker that is killed %s a node has", (when) => {
  it("its payment is followed by one that sends the same: paid once", async () => {
    const mined = await chain.mined();
    const key = `test:killed-${when}`;
    const to = await chain.queue(db.database, key, FIFTY);
    await killWorker(when);
    expect(await chain.balanceOf(to)).toBe(when === "after" ? FIFTY : 0n);
    await withWorker(() => chain.waitForFinal(db.database, key));
    expect(await chain.balanceOf(to)).toBe(FIFTY);
    expect(await chain.mined()).toBe(mined + 1);
  }, 120_000);

  it("its sweep with authorization (EIP-3009) is followed by one that sends the same", async () => {
    const { database } = db;
    await chain.usdc.setDomains(DOMAIN, DOMAIN);
    const mined = await chain.mined();
    const address = await issueAddress();
    await chain.usdc.transfer(address, FIFTY);
    const before = await chain.balanceOf(TEST_TREASURY);
    await killWorker(when);
    expect(await chain.balanceOf(address)).toBe(when === "after" ? 0n : FIFTY);
    const sweeps = async () =>
      (await listSweeps(database, 10)).filter((one) => one.address === address);
    await withWorker(() =>
      waitFor(async () => (await sweeps()).every(({ state }) => state === "final"), 60_000),
    );
    expect(await sweeps()).toMatchObject([{ method: "authorization", amount: FIFTY, top_ups: 0 }]);
    expect(await chain.balanceOf(address)).toBe(0n);
    expect(await chain.balanceOf(TEST_TREASURY)).toBe(before + FIFTY);
    expect(await chain.mined()).toBe(mined + 1);
    const attempts = await database.query("select from evm_attempts where key like $1", [
      `sweep:${(await sweeps())[0]!.number}:%`,
    ]);
    expect(attempts).toHaveLength(1);
    // The signer has signed one authorization for the address.
    const journal = await readFile(join(chain.directory, "keystore.json.journal"), "utf8");
    expect(journal.split("\n").filter((line) => line.includes(address))).toHaveLength(1);
  }, 120_000);
});

/** A deposit address as the service issues it. */
async function issueAddress(): Promise<string> {
  const wallet = openWallet(TEST_XPUB);
  const [address_index] = (await claimIndexes(db.database, 1)) as [number];
  const address = wallet.addressAt(address_index);
  const of = { wallet: wallet.fingerprint, address_index, chain: "polygon" };
  await insertAddresses(db.database, [{ address, ...of, created_at: new Date() }]);
  return address;
}

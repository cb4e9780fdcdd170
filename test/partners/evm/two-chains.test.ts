import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { runCommand } from "../../harness/command-line.ts";
import { TEST_XPUB } from "../../harness/evm/chains-file.ts";
import { openSendingChain, type SendingChain } from "../../harness/evm/sending-chain.ts";
import { TEST_TREASURY } from "../../harness/evm/signer.ts";
import { addApprovedUser, addQuote } from "../../harness/ramp.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { findFault, good } from "../../offramps/story.ts";

const FIFTY = 50_000_000n;
const NAMES = ["polygon", "base"] as const;
type Name = (typeof NAMES)[number];
let chains: SendingChain;
let server: TestServer;

beforeAll(async () => {
  const entry = { timeout_seconds: 4, lag_max_minutes: 10_080 };
  chains = await openSendingChain(TEST_XPUB, { with_base: true, entry });
  server = await startTestServer({ environment: chains.settings });
  const booked = await sliproad("reconcile", "--chain", "--book", "--reason", "funded");
  expect(booked.code).toBe(0);
});
afterAll(async () => {
  expect(await findFault(server)).toBeNull();
  await server.close();
  await chains.close();
});
afterEach(async () => {
  for (const name of NAMES) Object.assign(nodeOf(name).rpc, { delay_ms: 0, status: 200 });
  // The wallets of the ledger have what is on the chains, whatever happened.
  await until(async () => (await sliproad("reconcile", "--chain")).code === 0);
});

const nodeOf = (name: Name) => (name === "polygon" ? chains : chains.base);
const until: typeof waitFor = (ask) => waitFor(ask, 60_000);

function sliproad(...args: string[]) {
  const place = { DATABASE_URL: server.db.url, SLIPROAD_DATA_DIR: server.data_dir };
  return runCommand(args, { ...place, ...chains.settings });
}

/** A user who pays fifty usdc on a chain; resolves when they are owed. */
async function deposit(name: Name): Promise<string> {
  const user_id = await addApprovedUser(server);
  const quote_id = await addQuote(server, user_id, { deposit_token_chain: name });
  const { body } = await server.call("GET", `/users/${user_id}/quotes/${quote_id}`);
  await nodeOf(name).usdc.transfer(body.deposit_address.address, FIFTY);
  await until(async () => {
    const { balances } = good(await server.call("GET", `/users/${user_id}/balances`));
    return balances.some((one: { chain: string; amount: number }) => {
      expect(one.chain).toBe(name);
      return one.amount === 50;
    });
  });
  return user_id;
}

/** Gives it back; resolves when that is final. */
async function giveBack(name: Name, user_id: string): Promise<string> {
  const address = nodeOf(name).node.account;
  const refund = { token: "usdc", chain: name, amount: 50, address };
  good(await server.call("POST", `/users/${user_id}/refunds`, { refund }));
  return until(async () => {
    const { refunds } = good(await server.call("GET", `/users/${user_id}/refunds`));
    return refunds[0].status === "sent" && (refunds[0].tx_id as string);
  });
}

/** In and out again. */
async function move(name: Name): Promise<void> {
  const tx_id = await giveBack(name, await deposit(name));
  const receipt = (await nodeOf(name).node.ask("eth_getTransactionReceipt", tx_id)) as {
    from: string;
  };
  expect(receipt.from).toBe(TEST_TREASURY);
}

async function ready() {
  const answer = await fetch(`${server.url}/readyz`);
  const { notices = [] } = (await answer.json()) as { notices?: string[] };
  return { status: answer.status, notices };
}

async function metric(name: string, chain: Name): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const line = text.split("\n").find((one) => one.startsWith(`${name}{chain="${chain}"} `));
  return Number(line?.split(" ")[1]);
}

it("two chains are read and sent on at the same time, each with its own nonces", async () => {
  await Promise.all(NAMES.flatMap((name) => [move(name), move(name)]));
  expect(await ready()).toEqual({ status: 200, notices: [] });
  const { stdout } = await sliproad("chains", "list", "--json");
  const listed = JSON.parse(stdout).chains as { chain: string; state: string }[];
  expect(listed.map(({ chain, state }) => `${chain} ${state}`).toSorted()).toEqual([
    "base current",
    "polygon current",
  ]);
}, 180_000);

it("a chain whose node is down delays the other in nothing, and goes on when it is back", async () => {
  chains.base.rpc.status = 503;
  await move("polygon");
  await until(async () => (await metric("sliproad_chain_up", "base")) === 0);
  expect(await metric("sliproad_chain_up", "polygon")).toBe(1);
  chains.base.rpc.status = 200;
  await move("base");
}, 180_000);

it("a node that answers after seconds is used all the same; /readyz and doctor say so", async () => {
  chains.rpc.delay_ms = 1_200;
  await move("polygon");
  const { status, notices } = await ready();
  expect(status).toBe(200);
  expect(notices).toEqual([
    expect.stringMatching(/^A node of polygon takes \d\.\d seconds to answer\.$/),
  ]);
  expect(await metric("sliproad_chain_answer_seconds", "polygon")).toBeGreaterThan(1.1);
  expect(await metric("sliproad_chain_answer_seconds", "base")).toBeLessThan(1);
  chains.rpc.delay_ms = 0;
  await until(async () => (await ready()).notices.length === 0);
}, 180_000);

it("a treasury below the gas floor is seen in /readyz, doctor and the metrics", async () => {
  const wei = `0x${(5n * 10n ** 15n).toString(16)}`;
  const { node } = chains.base;
  const before = await node.ask("eth_getBalance", TEST_TREASURY, "latest");
  await node.ask("hardhat_setBalance", TEST_TREASURY, wei);
  await move("base");
  const notice = "The treasury on base has little native coin for gas.";
  expect(await ready()).toEqual({ status: 200, notices: [notice] });
  const balance = await metric("sliproad_sender_native_balance", "base");
  expect(balance).toBeLessThan(await metric("sliproad_sender_gas_floor", "base"));
  const { stdout } = await sliproad("doctor", "--json");
  expect(stdout).toMatch(/little native coin for gas on base .* send some to 0x78839f/);
  expect(stdout).not.toContain("gas on polygon");
  await node.ask("hardhat_setBalance", TEST_TREASURY, before);
  await move("base");
  expect((await ready()).notices).toEqual([]);
  // What this test gave and took is the operator's own.
  await sliproad("reconcile", "--chain", "--book", "--reason", "gas of the test");
}, 180_000);

import pg from "pg";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { recordDeposits } from "../../../src/offramps/quotes/record-deposits.ts";
import { findQuotes } from "../../../src/offramps/quotes/store.ts";
import { CLOSE_QUOTE_TASK } from "../../../src/offramps/task-kinds.ts";
import type { ChainPort } from "../../../src/partners/chain/port.ts";
import { createSandboxChain } from "../../../src/partners/chain/sandbox.ts";
import { insertSandboxTransfer } from "../../../src/partners/chain/sandbox-store.ts";
import { addApprovedUser, addQuote, txId } from "../../harness/ramp.ts";
import { createScriptedBank } from "../../harness/scripted-bank.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { openSteps, type Steps } from "../../harness/steps.ts";
import { EXPIRY_MS, findFault, GRACE_MS, good, openStory } from "../story.ts";

const SENDER = `0x${"a1".repeat(20)}`;
/** A statement that waits for a lock without a limit fails after 20 seconds. */
const READ_MAX_MS = 5_000;

type Owner = { account_id: string; quote_id: string };

let server: TestServer;
let other: { account_id: string; key: string };
let chain: ChainPort;
let steps: Steps;
beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
  // The test itself is the worker.
  await server.app.worker.stop();
  other = await server.addAccount("Other");
  const sandbox = createSandboxChain(server.core);
  // Pages of two transfers, so that there are pages after one that is handled in part.
  chain = {
    ...sandbox,
    listTransfers: (name, cursor) => sandbox.listTransfers(name, cursor, 2),
  };
  steps = await openSteps(server.core, { chain, bank: createScriptedBank().port });
});
afterEach(async () => expect(await findFault(server)).toBeNull());
afterAll(async () => {
  steps.close();
  await server.close();
});

it("locks of one account delay only its own deposits; all are credited once", async () => {
  const user_id = await addApprovedUser(server);
  const locked = { account_id: server.account_id, quote_id: await addQuote(server, user_id) };
  const free = { account_id: other.account_id, quote_id: await addOtherQuote() };
  for (const owner of [locked, free, free, locked, free]) await transfer(owner);
  const read = () => recordDeposits(server.core.database, chain, server.core.clock);
  const unlock = await lockUser(user_id);
  try {
    for (let time = 0; time < 2; time += 1) {
      const begun_ms = performance.now();
      expect([...(await read())]).toEqual([[server.account_id, null]]);
      expect(performance.now() - begun_ms).toBeLessThan(READ_MAX_MS);
      expect(await countDeposits(free)).toBe(3);
      expect(await countDeposits(locked)).toBe(0);
    }
    // Those that come meanwhile do not wait either.
    await transfer(free);
    await read();
    expect(await countDeposits(free)).toBe(4);
  } finally {
    await unlock();
  }
  expect([...(await read())]).toEqual([]);
  expect(await countDeposits(locked)).toBe(2);
  expect(await countDeposits(free)).toBe(4);
});

it("a changed row of one account delays only its own deposits", async () => {
  const user_id = await addApprovedUser(server);
  const changed = { account_id: server.account_id, quote_id: await addQuote(server, user_id) };
  const free = { account_id: other.account_id, quote_id: await addOtherQuote() };
  const read = () => recordDeposits(server.core.database, chain, server.core.clock);
  await transfer(changed);
  await read();
  expect(await countDeposits(changed)).toBe(1);
  const change = (by: number) =>
    server.core.database.query(
      "update ledger_balances set balance = balance + $1 where ledger_account = $2",
      [by, `owed:${user_id}:polygon`],
    );
  expect(await change(1)).toBeDefined();
  for (const owner of [changed, free, free, changed, free]) await transfer(owner);
  for (let time = 0; time < 2; time += 1) {
    const behind = await read();
    expect([...behind.keys()]).toEqual([server.account_id]);
    expect(behind.get(server.account_id)).toMatch("was not written by this service");
    expect(await countDeposits(free)).toBe(3);
    expect(await countDeposits(changed)).toBe(1);
  }
  await change(-1);
  expect([...(await read())]).toEqual([]);
  expect(await countDeposits(changed)).toBe(3);
  expect(await countDeposits(free)).toBe(3);
});

it("a quote is not ended while a transfer to it waits for a lock", async () => {
  const story = await openStory(server);
  const amount = await story.total();
  good(await story.execute(txId("mistyped")));
  await server.core.database.query("delete from tasks where kind = 'announce-transfer'");
  const owner = { account_id: server.account_id, quote_id: story.quote_id };
  const unlock = await lockUser(story.user_id);
  try {
    await transfer(owner, BigInt(Math.round(amount * 1_000_000)));
    await server.core.clock.advance(EXPIRY_MS + GRACE_MS + 1);
    expect(await steps.run(CLOSE_QUOTE_TASK)).toBe(true);
    expect(await countDeposits(owner)).toBe(0);
    const { account_id, quote_id: id } = owner;
    const [quote] = await findQuotes(server.core.database, [{ account_id, id }]);
    expect(quote!.closed_at).toBeNull();
  } finally {
    await unlock();
  }
  await server.core.clock.advance(1_000);
  await steps.runAll();
  expect(await countDeposits(owner)).toBe(1);
  expect((await story.show()).status).not.toBe("failed");
});

async function addOtherQuote(): Promise<string> {
  const call: TestServer["call"] = (method, path, body, options = {}) =>
    server.call(method, path, body, { key: other.key, ...options });
  const with_key = { ...server, call };
  return addQuote(with_key, await addApprovedUser(with_key));
}

let transfers = 0;

async function transfer({ account_id, quote_id: id }: Owner, amount = 1_000_000n): Promise<void> {
  const { database, clock } = server.core;
  const [quote] = await findQuotes(database, [{ account_id, id }]);
  transfers += 1;
  await insertSandboxTransfer(database, {
    ...{ chain: "polygon", tx_id: txId(`transfer ${transfers}`), address: quote!.deposit_address },
    ...{ token: "usdc", amount, mined_at: clock.now(), sender: SENDER },
  });
}

/** As a transaction that somebody left open. */
async function lockUser(user_id: string): Promise<() => Promise<void>> {
  const client = new pg.Client(server.db.url);
  await client.connect();
  await client.query("begin");
  await client.query("select from users where id = $1 for update", [user_id]);
  return () => client.end();
}

async function countDeposits({ account_id, quote_id }: Owner): Promise<number> {
  const rows = await server.core.database.query(
    "select from deposits where account_id = $1 and quote_id = $2",
    [account_id, quote_id],
  );
  return rows.length;
}

import pg from "pg";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { recordDeposits } from "../../../src/offramps/quotes/record-deposits.ts";
import { findQuotes } from "../../../src/offramps/quotes/store.ts";
import { CLOSE_QUOTE_TASK, CREDIT_KEPT_DEPOSITS_TASK } from "../../../src/offramps/task-kinds.ts";
import type { ChainPort } from "../../../src/partners/chain/port.ts";
import { createSandboxChain } from "../../../src/partners/chain/sandbox.ts";
import { insertSandboxTransfer } from "../../../src/partners/chain/sandbox-store.ts";
import { endingAt } from "../../harness/ending-at.ts";
import { addApprovedUser, addQuote, txId } from "../../harness/ramp.ts";
import { createScriptedBank } from "../../harness/scripted-bank.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { openSteps, type Steps } from "../../harness/steps.ts";
import { SILENT } from "../../harness/task-fixture.ts";
import { EXPIRY_MS, findFault, GRACE_MS, good, openStory } from "../story.ts";

const SENDER = `0x${"a1".repeat(20)}`;
/** A statement that waits for a lock without a limit fails after 20 seconds. */
const READ_MAX_MS = 5_000;
const TRIES = 8;

type Owner = { account_id: string; quote_id: string };

let server: TestServer;
let other: { account_id: string; key: string };
let chain: ChainPort;
let steps: Steps;
/** Transfers that were read. */
let listed = 0;
beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
  // The test itself is the worker.
  await server.app.worker.stop();
  other = await server.addAccount("Other");
  const sandbox = createSandboxChain(server.core);
  // Pages of two transfers, so that there are pages after one that is handled in part.
  chain = {
    ...sandbox,
    listTransfers: async (name, cursor) => {
      const found = await sandbox.listTransfers(name, cursor, 2);
      listed += found.transfers.length;
      return found;
    },
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
  const unlock = await lockUser(user_id);
  try {
    for (let time = 0; time < 2; time += 1) {
      const begun_ms = performance.now();
      expect([...(await read())]).toEqual([]);
      expect(performance.now() - begun_ms).toBeLessThan(READ_MAX_MS);
      expect(await countDeposits(free)).toBe(3);
      expect(await countDeposits(locked)).toBe(0);
      expect(await countKept(locked)).toBe(2);
      expect(await steps.run(CREDIT_KEPT_DEPOSITS_TASK)).toBe(time === 0);
    }
    // Those that come meanwhile do not wait either.
    await transfer(free);
    await read();
    expect(await countDeposits(free)).toBe(4);
  } finally {
    await unlock();
  }
  await creditKept();
  expect(await countDeposits(locked)).toBe(2);
  expect(await countDeposits(free)).toBe(4);
});

it("a changed row of one quote delays only its own deposits, and nothing is read again", async () => {
  const user_id = await addApprovedUser(server);
  const changed = { account_id: server.account_id, quote_id: await addQuote(server, user_id) };
  const beside = {
    account_id: server.account_id,
    quote_id: await addQuote(server, await addApprovedUser(server)),
  };
  const free = { account_id: other.account_id, quote_id: await addOtherQuote() };
  await transfer(changed);
  await read();
  expect(await countDeposits(changed)).toBe(1);
  await changeOwed(user_id, 1);
  for (const owner of [changed, free, beside, free, changed, free]) await transfer(owner);
  listed = 0;
  for (let time = 0; time < 3; time += 1) {
    expect([...(await read())]).toEqual([]);
    expect(listed).toBe(6);
  }
  expect(await countDeposits(free)).toBe(3);
  expect(await countDeposits(changed)).toBe(1);
  expect(await countKept(changed)).toBe(2);
  const metrics = await server.call("GET", "/metrics");
  expect(metrics.text).toMatch(/^sliproad_chain_deposits_kept [23]$/m);
  expect(metrics.text).toMatch(/^sliproad_chain_deposit_kept_oldest_seconds \d/m);
  await tryKept();
  expect(await countDeposits(beside)).toBe(1);
  // The next ones to other quotes of the account are credited at once.
  for (const owner of [beside, changed]) await transfer(owner);
  await read();
  expect(await countDeposits(beside)).toBe(2);
  const failed = "select record_id, last_error from tasks where kind = $1 and attempts > 0";
  const tasks = await server.core.database.query(failed, [CREDIT_KEPT_DEPOSITS_TASK]);
  expect(tasks).toMatchObject([{ record_id: changed.quote_id }]);
  expect(await countKept(changed)).toBe(3);
  await changeOwed(user_id, -1);
  await creditKept();
  expect(await countDeposits(changed)).toBe(4);
  expect(await countKept(changed)).toBe(0);
});

it("a process that ends at any commit loses no deposit and credits none twice", async () => {
  const { core } = server;
  const partners = { chain, bank: createScriptedBank().port };
  let was_ended = true;
  for (let at = 0; was_ended; at += 1) {
    was_ended = false;
    for (const when of ["before", "after"] as const) {
      const user_id = await addApprovedUser(server);
      const changed = { account_id: server.account_id, quote_id: await addQuote(server, user_id) };
      const free = { account_id: other.account_id, quote_id: await addOtherQuote() };
      await transfer(changed);
      await read();
      await changeOwed(user_id, 1);
      for (const owner of [changed, free, changed]) await transfer(owner);
      const process = endingAt(core.database, at, when);
      const killed = await openSteps(core, partners, process.database);
      await recordDeposits({ ...core, database: process.database, chain, log: SILENT }).catch(
        () => {},
      );
      await changeOwed(user_id, -1);
      await makeDue();
      await killed.run(CREDIT_KEPT_DEPOSITS_TASK).catch(() => {});
      killed.close();
      await read();
      await creditKept();
      const counts = [await countDeposits(changed), await countDeposits(free)];
      expect(counts, `${when} commit ${at}`).toEqual([3, 1]);
      expect(await countKept(changed)).toBe(0);
      was_ended ||= process.wasEnded();
    }
    // Credited, kept, taken by the task, credited by it, ended.
    expect(was_ended || at >= 4).toBe(true);
  }
});

it("a transfer that somebody altered while it was kept is not credited", async () => {
  const user_id = await addApprovedUser(server);
  const owner = { account_id: server.account_id, quote_id: await addQuote(server, user_id) };
  await transfer(owner);
  await read();
  await changeOwed(user_id, 1);
  await transfer(owner);
  await read();
  await changeOwed(user_id, -1);
  const alter = (from: string, to: string) =>
    server.core.database.query("update kept_messages set message = replace(message, $1, $2)", [
      ...[`"amount":"${from}`, `"amount":"${to}`],
    ]);
  await alter("1000000", "9000000");
  expect((await tryKept()).join()).toContain("kept_messages");
  expect(await countDeposits(owner)).toBe(1);
  expect(await findFault(server)).toContain("kept_messages");
  await alter("9000000", "1000000");
  await creditKept();
  expect(await countDeposits(owner)).toBe(2);
});

it("one that cannot be credited at all is set aside, also after it was kept", async () => {
  const user_id = await addApprovedUser(server);
  const owner = { account_id: server.account_id, quote_id: await addQuote(server, user_id) };
  const HUGE = 2n ** 62n;
  await transfer(owner, HUGE);
  await read();
  const unlock = await lockUser(user_id);
  try {
    await transfer(owner, HUGE);
    await transfer(owner);
    await read();
    expect(await countKept(owner)).toBe(2);
  } finally {
    await unlock();
  }
  await creditKept();
  expect(await countDeposits(owner)).toBe(2);
  const aside = await server.core.database.query(
    "select reason from set_aside_transfers where quote_id = $1",
    [owner.quote_id],
  );
  expect(aside).toEqual([{ reason: "not_creditable" }]);
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
  await creditKept();
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

const read = () => recordDeposits({ ...server.core, chain, log: SILENT });

/** As if the pauses between attempts were over. */
const makeDue = () =>
  server.core.database.query("update tasks set due_at = created_at where kind = $1", [
    CREDIT_KEPT_DEPOSITS_TASK,
  ]);

/** Fails if something fails. */
async function creditKept(): Promise<void> {
  await makeDue();
  while (await steps.run(CREDIT_KEPT_DEPOSITS_TASK));
}

/** Tries what is kept several times, whatever fails; returns what it failed with. */
async function tryKept(): Promise<string[]> {
  const failures: string[] = [];
  await makeDue();
  for (let time = 0; time < TRIES; time += 1) {
    await steps.run(CREDIT_KEPT_DEPOSITS_TASK).catch((error) => failures.push(String(error)));
  }
  return failures;
}

/** The balance of the user: nothing can be posted to it while it is altered by SQL. */
const changeOwed = (user_id: string, by: number) =>
  server.core.database.query(
    "update ledger_balances set balance = balance + $1 where ledger_account = $2",
    [by, `owed:${user_id}:polygon`],
  );

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

async function countKept({ account_id, quote_id }: Owner): Promise<number> {
  const rows = await server.core.database.query(
    "select from kept_messages where account_id = $1 and record_id = $2",
    [account_id, quote_id],
  );
  return rows.length;
}

async function countDeposits({ account_id, quote_id }: Owner): Promise<number> {
  const rows = await server.core.database.query(
    "select from deposits where account_id = $1 and quote_id = $2",
    [account_id, quote_id],
  );
  return rows.length;
}

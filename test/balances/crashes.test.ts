import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { LIST_TRANSFER_TASK } from "../../src/balances/set-aside-store.ts";
import {
  CLOSE_QUOTE_TASK,
  FUND_QUOTE_TASK,
  WATCH_CHAINS_TASK,
} from "../../src/offramps/task-kinds.ts";
import { MOVE_DEPOSIT_TASK } from "../../src/onramps/task-kinds.ts";
import type { ChainPort } from "../../src/partners/chain/port.ts";
import { createSandboxChain } from "../../src/partners/chain/sandbox.ts";
import { insertSandboxTransfer } from "../../src/partners/chain/sandbox-store.ts";
import type { Database } from "../../src/platform/db/database.ts";
import { atEveryCommit } from "../harness/mortal.ts";
import { txId } from "../harness/ramp.ts";
import { createScriptedBank } from "../harness/scripted-bank.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { openSteps } from "../harness/steps.ts";
import { EXPIRY_MS, findFault, GRACE_MS, good, openStory, type Story } from "../offramps/story.ts";

const ADDRESS = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";

let server: TestServer;
const bank = createScriptedBank();
let is_refused = false;

beforeAll(async () => {
  server = await startTestServer({
    environment: { SLIPROAD_DOCUMENTS: "never" },
    partners: (core) => ({ chain: createSandboxChain(core), bank: bank.port }),
  });
  // The test itself is the worker.
  await server.app.worker.stop();
});
afterAll(() => server.close());
// A fault of any round would still be there.
afterEach(async () => expect(await findFault(server)).toBeNull());

function refusingChain(chain: ChainPort): ChainPort {
  return {
    ...chain,
    send: async (request) =>
      is_refused ? { refused: "the address is blocked" } : chain.send(request),
  };
}

async function runWith(database: Database, ...only: string[]): Promise<void> {
  const { core } = server;
  const chain = refusingChain(createSandboxChain(core));
  const steps = await openSteps(core, { chain, bank: bank.port }, database);
  // The chain is read every second; not every test moves the clock.
  const watch = "update tasks set due_at = created_at where kind = $1";
  await core.database.query(watch, [WATCH_CHAINS_TASK]);
  if (only.length === 0) await steps.runAll();
  for (const kind of only) while (await steps.run(kind));
  steps.close();
}
const runAll = () => runWith(server.core.database);

async function receive(quote_id: string, amount: number): Promise<void> {
  const crypto_deposit = { quote_id, amount };
  good(await server.call("POST", "/sandbox/crypto_deposits", { crypto_deposit }));
}

const rounded = (amount: number) => Number(amount.toFixed(6));

/** A quote of 500 eur that was funded with the user's 200 usdc. */
async function fundInParts() {
  const story = await openStory(server);
  await receive(story.quote_id, 200);
  await runAll();
  const quote_id = await story.addQuote();
  const [offramp] = good(await story.add(quote_id, [{ amount: 500 }])).offramps;
  good(await story.fund(quote_id));
  const missing = rounded((await story.total(quote_id)) - 200);
  return { story, quote_id, offramp_id: offramp.id as string, missing };
}

async function refund(story: Story, amount: number): Promise<string> {
  const path = `/users/${story.user_id}`;
  const refund_address = { chain: "polygon", address: ADDRESS };
  good(await server.call("POST", `${path}/refund_addresses`, { refund_address }));
  const wanted = { token: "usdc", chain: "polygon", amount, address: ADDRESS };
  return good(await server.call("POST", `${path}/refunds`, { refund: wanted })).refund.id;
}

const countEntries = async (key: string): Promise<number> => {
  const [row] = await server.db.database.query<{ count: number }>(
    "select count(*)::int as count from ledger_entries where key like $1",
    [key],
  );
  return row!.count;
};

const HUGE = 9_000_000_000_000_000_000n;

async function transfer(story: Story, name: string, amount: bigint): Promise<void> {
  const path = `/users/${story.user_id}/quotes/${story.quote_id}`;
  const { address } = good(await server.call("GET", path)).deposit_address;
  const { database, clock } = server.core;
  await insertSandboxTransfer(database, {
    ...{ chain: "polygon", tx_id: txId(name), address, sender: `0x${"a1".repeat(20)}` },
    ...{ token: "usdc", amount, mined_at: clock.now() },
  });
}

async function listSetAside({ quote_id }: Story) {
  const { deposits } = good(await server.call("GET", "/deposits?limit=100"));
  return deposits.filter(({ text }: { text: string }) => text.includes(quote_id));
}

describe("a process that ends at any commit", { timeout: 90_000 }, () => {
  it("of a refund that the chain refuses: it fails once and is owed again in full", async () => {
    const commits = await atEveryCommit(server.core.database, async (run, round) => {
      const story = await openStory(server);
      await receive(story.quote_id, 100);
      await runAll();
      const id = await refund(story, 60);
      is_refused = true;
      await run(runWith);
      await runAll();
      is_refused = false;
      const { refunds } = good(await server.call("GET", `/users/${story.user_id}/refunds`));
      expect(refunds, round).toMatchObject([{ id, status: "failed", tx_id: null, amount: 60 }]);
      expect(await story.owed(), round).toBe(100);
      expect(await countEntries(`%${id}%`), round).toBe(2);
      // A failed refund can be requested again, once.
      const again = await refund(story, 100);
      await runAll();
      expect(await story.owed(), round).toBe(0);
      expect(await countEntries(`%${again}%`), round).toBe(2);
    });
    expect(commits).toBeGreaterThanOrEqual(2);
  });

  it("of a quote funded in parts: the rest pays it, and nothing is taken twice", async () => {
    const commits = await atEveryCommit(server.core.database, async (run, round) => {
      const { story, quote_id, offramp_id, missing } = await fundInParts();
      await receive(quote_id, missing);
      await run(runWith);
      await runAll();
      expect((await story.show(offramp_id)).status, round).toBe("fiat_sent");
      expect(await story.owed(), round).toBe(0);
    });
    // The deposit, the quote, its offramps, their assessment, the payout and the bank's answer.
    expect(commits).toBeGreaterThanOrEqual(6);
  });

  it("of a quote funded in parts that never receives the rest: it returns what it took", async () => {
    // The quotes of earlier rounds expire now, not among the commits that are counted.
    await server.core.clock.advance(EXPIRY_MS + GRACE_MS + 1);
    await runAll();
    const commits = await atEveryCommit(server.core.database, async (run, round) => {
      const { story, offramp_id } = await fundInParts();
      await runAll();
      expect((await story.show(offramp_id)).status, round).toBe("ongoing_checks");
      await server.core.clock.advance(EXPIRY_MS + GRACE_MS + 1);
      await run((database) => runWith(database, CLOSE_QUOTE_TASK));
      await runAll();
      expect((await story.show(offramp_id)).status, round).toBe("failed");
      expect(await story.owed(), round).toBe(200);
      await refund(story, 200);
      await runAll();
      expect(await story.owed(), round).toBe(0);
    });
    expect(commits).toBeGreaterThanOrEqual(1);
  });

  it("of a transfer that cannot be credited: set aside once, returned once", async () => {
    const commits = await atEveryCommit(server.core.database, async (run, round) => {
      const [story, other] = [await openStory(server), await openStory(server)];
      // The second one exceeds 64 bits together with the first.
      for (const name of ["first", "second"]) await transfer(story, `${round} ${name}`, HUGE);
      await transfer(other, `${round} third`, 7_000_000n);
      await run((database) => runWith(database, WATCH_CHAINS_TASK, LIST_TRANSFER_TASK));
      await runAll();
      expect(await story.owed(), round).toBe(Number(HUGE / 1_000_000n));
      expect(await other.owed(), round).toBe(7);
      const listed = await listSetAside(story);
      expect(listed, round).toMatchObject([{ status: "unmatched", reason: "not_creditable" }]);
      const { id } = listed[0];
      expect(await countEntries(`%${id}%`), round).toBe(1);
      good(await server.call("POST", `/deposits/${id}/return`));
      await run((database) => runWith(database, MOVE_DEPOSIT_TASK));
      await runAll();
      expect(await listSetAside(story), round).toMatchObject([{ id, status: "returned" }]);
      // Received, its return started, and sent.
      expect(await countEntries(`%${id}%`), round).toBe(3);
      expect(await story.owed(), round).toBe(Number(HUGE / 1_000_000n));
    });
    expect(commits).toBeGreaterThanOrEqual(4);
  });
});

it("a quote ends with a note of what had left of its coins, also if it is seen only then", async () => {
  const story = await openStory(server, [{ amount: 50 }]);
  const amount = await story.total();
  const tx_id = txId("spent before");
  const crypto_deposit = { quote_id: story.quote_id, amount, tx_id };
  good(await server.call("POST", "/sandbox/crypto_deposits", { crypto_deposit }));
  await runAll();
  await refund(story, amount);
  await runAll();
  good(await story.execute(tx_id));
  // As if no worker had run until it ends.
  await server.core.database.query("delete from tasks where kind = $1", [FUND_QUOTE_TASK]);
  await server.core.clock.advance(EXPIRY_MS + GRACE_MS + 1);
  await runWith(server.core.database, CLOSE_QUOTE_TASK);
  expect((await story.show()).status).toBe("failed");
  const [quote] = await server.core.database.query<{ spent_before: bigint }>(
    "select spent_before from quotes where id = $1 and closed_at is not null",
    [story.quote_id],
  );
  expect(quote).toEqual({ spent_before: BigInt(Math.round(amount * 1_000_000)) });
});

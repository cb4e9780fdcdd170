import { afterAll, beforeAll, expect, it } from "vitest";
import { createSandboxChain } from "../../src/partners/chain/sandbox.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/platform/durations.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { openSteps, type Steps } from "../harness/steps.ts";
import { findFault } from "../offramps/story.ts";
import { type Clients, createClients } from "./clients.ts";
import {
  createFailingChain,
  createFailingDatabase,
  createRandomBank,
  type FailureRate,
  type RandomBank,
} from "./partners.ts";
import { createRandom } from "./random.ts";

/* The whole service on a real database, with a worker that is ended between any two commits or
   calls, partners that fail, repeat themselves and are late, clients that make random calls, and a
   clock that jumps. After every step everything must add up. A failing seed is printed;
   SIMULATION_SEED repeats it, SIMULATION_STEPS runs it for longer. */
const SEED = Number(process.env.SIMULATION_SEED ?? Math.floor(Math.random() * 2 ** 32));
const STEPS = Number(process.env.SIMULATION_STEPS ?? 90);
const STEP_TIMEOUT_MS = 1_000;

const LEAPS_MS = [20 * MINUTE_MS, 2 * HOUR_MS, 26 * HOUR_MS];

const random = createRandom(SEED);
const failures: FailureRate = { probability: 0.03 };
let server: TestServer;
let bank: RandomBank;
let clients: Clients;
let steps: Steps;

beforeAll(async () => {
  bank = createRandomBank(random, failures);
  const open = (core: TestServer["core"]) => ({
    chain: createSandboxChain(core),
    bank: bank.port,
  });
  server = await startTestServer({
    environment: { SLIPROAD_DOCUMENTS: "never" },
    partners: open,
  });
  await server.app.worker.stop();
  clients = createClients(server, bank, random);
  await clients.open();
  const { core } = server;
  const chain = createFailingChain(createSandboxChain(core), random, failures);
  const database = createFailingDatabase(core.database, random, failures);
  steps = await openSteps(core, { chain, bank: bank.port }, database);
});
afterAll(async () => {
  steps.close();
  await server.close();
});

it(`everything adds up after each of ${STEPS} steps (SIMULATION_SEED=${SEED})`, {
  timeout: 30_000 + STEPS * STEP_TIMEOUT_MS,
}, async () => {
  const history: string[] = [];
  try {
    for (let step = 0; step < STEPS; step += 1) {
      history.push(await takeStep());
      await check();
    }
    await calmDown();
  } catch (error) {
    const tail = history.slice(-30).join(", ");
    const message = `SIMULATION_SEED=${SEED} failed at step ${history.length}: ${tail}`;
    throw new Error(message, { cause: error });
  }
});

/** Performs a random action; returns its name. */
async function takeStep(): Promise<string> {
  const what = random.next();
  if (what < 0.35) {
    await clients.act();
    return "client";
  }
  if (what < 0.43) {
    bank.act(server.account_id);
    return "bank";
  }
  if (what < 0.48) {
    const advance_ms = random.chance(0.2) ? random.pick(LEAPS_MS) : 1_000 + random.below(MINUTE_MS);
    await server.core.clock.advance(advance_ms);
    return `clock +${advance_ms}`;
  }
  const due = await steps.listDue();
  if (due.length === 0) return "nothing due";
  const kinds = Array.from({ length: 1 + random.below(4) }, () => random.pick(due));
  // A failing task is tried again; only its effects matter.
  await Promise.all(kinds.map((kind) => steps.run(kind).catch(() => {})));
  return kinds.join("+");
}

async function check(): Promise<void> {
  expect(await findFault(server)).toBeNull();
  expect(bank.listChanged()).toEqual([]);
  for (const { id } of clients.offramps) {
    expect(bank.listPaid(id).length, `payments of offramp ${id}`).toBeLessThanOrEqual(1);
  }
}

/** Without failures and with open gates, everything ends in agreement with the bank. */
async function calmDown(): Promise<void> {
  failures.probability = 0;
  await clients.calmDown();
  for (let round = 0; round < 5; round += 1) {
    await steps.runAll();
    bank.calmDown();
    await server.core.clock.advance(26 * HOUR_MS);
  }
  await steps.runAll();
  await check();
  const rows = await server.db.database.query<{ id: string; status: string }>(
    "select id, status from offramps",
  );
  expect(rows.length).toBe(clients.offramps.length);
  for (const { id, status } of rows) {
    expect(["fiat_sent", "failed"], `offramp ${id}`).toContain(status);
    expect(bank.listPaid(id).length, `payments of offramp ${id}`).toBe(
      status === "fiat_sent" ? 1 : 0,
    );
  }
  await checkOnramps();
  await checkRefunds();
}

/** Every refund has ended; coins were sent once for those marked sent, never for the others. */
async function checkRefunds(): Promise<void> {
  const rows = await server.db.database.query<{ id: string; status: string; sends: number }>(
    `select r.id, r.status, (select count(*)::int from sandbox_sends s
       where s.key = 'refund:' || r.account_id || ':' || r.id) as sends
     from refunds r`,
  );
  for (const { id, status, sends } of rows) {
    expect(["sent", "failed"], `refund ${id}`).toContain(status);
    expect(sends, `transfers of refund ${id}`).toBe(status === "sent" ? 1 : 0);
  }
}

/** Coins were sent once for every delivered onramp, money returned once for every return. */
async function checkOnramps(): Promise<void> {
  const { database } = server.db;
  const rows = await database.query<{ id: string; status: string; sends: number }>(
    `select o.id, o.status, (select count(*)::int from sandbox_sends s
       where s.key = 'onramp:' || o.account_id || ':' || o.id) as sends
     from onramps o`,
  );
  expect(rows.length).toBe(clients.onramps.length);
  for (const { id, status, sends } of rows) {
    expect(["initiated", "crypto_sent", "failed"], `onramp ${id}`).toContain(status);
    expect(sends, `transfers of onramp ${id}`).toBe(status === "crypto_sent" ? 1 : 0);
  }
  const returned = await database.query<{ id: string; amount: bigint; returns: number }>(
    `select id, coalesce(matched_amount, amount) as amount, returns from fiat_deposits
     where status = 'returned'`,
  );
  for (const { id, amount, returns } of returned) {
    expect(bank.scripted.returns.get(`deposit:${id}:${returns}`)?.amount).toBe(amount);
  }
}

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createSandboxChain } from "../../src/partners/chain/sandbox.ts";
import { openDatabase } from "../../src/platform/db/database.ts";
import { type DatabasePair, startDatabasePair } from "../harness/database-pair.ts";
import { createScriptedBank, type ScriptedBank } from "../harness/scripted-bank.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { findFault, good, openStory } from "../offramps/story.ts";

/** `npm run failovers` plays a hundred. */
const FAILOVERS = Number(process.env.FAILOVERS ?? 1);
const PAYOUTS = 40;
const PAID_BEFORE = 3;
/** From the moment at which the first server freezes until everything is paid. */
const RESUMED_MAX_MS = 60_000;
/** A check has to fail within this, and a heartbeat tells the progress every 5 s. */
const NOTICED_MAX_MS = 30_000;

let pair: DatabasePair;
let bank: ScriptedBank;
let server: TestServer;
let data_dir: string;

beforeEach(async () => {
  pair = await startDatabasePair();
  bank = createScriptedBank();
  data_dir = await mkdtemp(join(tmpdir(), "sliproad-failover-"));
  const { url } = pair;
  const database = openDatabase({ url, connections_max: 4 });
  const db = { url, database, drop: () => database.close() };
  server = await startTestServer({
    beside: { db, data_dir },
    environment: { SLIPROAD_DOCUMENTS: "never" },
    partners: (core) => ({ chain: createSandboxChain(core), bank: bank.port }),
  });
});
afterEach(async () => {
  await server.close();
  await server.db.drop();
  await pair.close();
  await rm(data_dir, { recursive: true, force: true });
});

const again = { repeats: FAILOVERS - 1, timeout: 180_000 };

it(
  "payouts go on within a minute after the primary froze, none lost or doubled",
  again,
  async () => {
    const story = await openStory(
      server,
      Array.from({ length: PAYOUTS }, () => ({ amount: 100 })),
    );
    // One payment after the other, so that the freeze meets payouts in every state.
    bank.onSubmit = async (instructions) => {
      if (bank.known.size + instructions.length > PAID_BEFORE) await frozen.promise;
    };
    const frozen = Promise.withResolvers<void>();
    await story.execute();
    await waitFor(async () => (await listStatuses(story.user_id)).includes("initiated"));

    const begun_ms = performance.now();
    await pair.freeze();
    frozen.resolve();
    await waitFor(async () => (await ready()) === 503, NOTICED_MAX_MS);
    await pair.promote();
    await waitFor(
      async () => (await listStatuses(story.user_id)).every((status) => status === "fiat_sent"),
      RESUMED_MAX_MS,
    );
    expect(performance.now() - begun_ms).toBeLessThan(RESUMED_MAX_MS);
    expect(bank.known.size).toBe(PAYOUTS);
    expect(new Set(bank.known.keys())).toHaveLength(PAYOUTS);
    // Shows what is still wrong, if something is.
    await expect
      .poll(async () => (await server.call("GET", "/readyz")).text, { timeout: NOTICED_MAX_MS })
      .toMatch(/^\{"status":"ready"/);
    expect(await findFault(server)).toBeNull();
  },
);

/** Empty while the database cannot be reached: then the answer must be 503. */
async function listStatuses(user_id: string): Promise<string[]> {
  const answer = await server.call("GET", `/users/${user_id}/offramps?limit=100`);
  if (answer.status === 503) return ["unknown"];
  return good(answer).offramps.map(({ status }: { status: string }) => status);
}

async function ready(): Promise<number> {
  return (await server.call("GET", "/readyz")).status;
}

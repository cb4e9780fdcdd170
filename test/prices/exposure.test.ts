import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { openPartners } from "../../src/app/open-partners.ts";
import { loadMarketRisk } from "../../src/catalogue/market-risk.ts";
import { treasuryConverted } from "../../src/ledger/conversion-postings.ts";
import { postEntries } from "../../src/ledger/post-entries.ts";
import type { Database } from "../../src/platform/db/database.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/platform/durations.ts";
import { sealAll, signingKey } from "../../src/platform/sealing/seal.ts";
import { signingSeed } from "../../src/platform/sealing/signing-seed.ts";
import { STORED_PRICES } from "../../src/prices/price-book.ts";
import { CHECK_EXPOSURE_TASK, checkExposureTask } from "../../src/prices/tasks.ts";
import { runCommand } from "../harness/command-line.ts";
import { atEveryCommit } from "../harness/mortal.ts";
import { addApprovedUser, addPaymentDetail, addQuote, execute } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { openSteps } from "../harness/steps.ts";
import { SILENT } from "../harness/task-fixture.ts";
import { waitFor } from "../harness/wait-for.ts";
import { findFault } from "../offramps/story.ts";

const RISK = { exposure_max_usd: { eur: "1000" } };

let directory: string;
let server: TestServer;
let user_id: string;
let details: Record<"eur" | "usd", string>;
let skipped_ms = 0;
beforeAll(async () => {
  const readTime = performance.now.bind(performance);
  vi.spyOn(performance, "now").mockImplementation(() => readTime() + skipped_ms);
  directory = await mkdtemp(join(tmpdir(), "sliproad-risk-"));
  const path = join(directory, "risk.json");
  await writeFile(path, JSON.stringify(RISK));
  const environment = { SLIPROAD_MARKET_RISK_FILE: path, SLIPROAD_DOCUMENTS: "never" };
  server = await startTestServer({ environment });
  user_id = await addApprovedUser(server);
  details = {
    eur: await addPaymentDetail(server, user_id, "eur"),
    usd: await addPaymentDetail(server, user_id, "usd"),
  };
});
afterAll(async () => {
  vi.restoreAllMocks();
  await server.close();
  await rm(directory, { recursive: true });
});

function addOfframp(quote_id: string, currency: "eur" | "usd", destination_amount: number) {
  return server.call("POST", `/users/${user_id}/quotes/${quote_id}/offramps`, {
    offramps: [
      {
        payment_detail_id: details[currency],
        destination_amount,
        destination_currency: currency,
      },
    ],
  });
}

const exposures = async () => (await server.call("GET", "/exposures")).body.exposures;
const exposureOf = async (currency: string) =>
  (await exposures()).find((one: { currency: string }) => one.currency === currency);

async function pay(currency: "eur" | "usd", amount: number): Promise<void> {
  const quote_id = await addQuote(server, user_id);
  expect((await addOfframp(quote_id, currency, amount)).status).toBe(200);
  expect((await execute(server, user_id, quote_id)).status).toBe(200);
}

const advance = (advance_ms: number) => server.call("POST", "/sandbox/clock", { advance_ms });

/** How long a process keeps the prices, by its own time and not the sandbox's. */
const KEPT_MS = 5_000;

/** A new quote's offramp, once the process has seen the last prices. */
async function addToNew(currency: "eur" | "usd", status: number) {
  await advance(61_000);
  skipped_ms += KEPT_MS;
  const added = await addOfframp(await addQuote(server, user_id), currency, 100);
  expect(added.status, added.text).toBe(status);
  return added;
}

it("payouts of one currency beyond its maximum stop new quotes in it, until it is bought", async () => {
  const before = await addQuote(server, user_id);
  await pay("usd", 2000);
  // 860 eur and a fee of 3.44 are 1004 usd.
  await pay("eur", 860);
  const eur = await waitFor(() => exposureOf("eur"));
  expect(eur).toEqual({
    currency: "eur",
    amount: 863.44,
    amount_usd: 1004,
    maximum_usd: 1000,
    stopped: true,
  });
  expect(await exposureOf("usd")).toMatchObject({ amount: 2008, maximum_usd: null });

  const refused = await addToNew("eur", 422);
  expect(refused.body.errors).toEqual([
    {
      code: "currency_not_supported",
      field: "offramps[0].destination_currency",
      message: "This currency was not offered when the quote was created; create a new quote.",
    },
  ]);
  const rate = await server.call("POST", `/users/${user_id}/quote/rate`, {
    quote: {
      ...{ deposit_token: "usdc", deposit_token_chain: "polygon" },
      ...{ fiat_currency: "eur", fiat_amount: 100 },
    },
  });
  expect(rate.status).toBe(422);
  // Other currencies, quotes from before, and money that comes in are not affected.
  await addToNew("usd", 200);
  expect((await addOfframp(before, "eur", 100)).status).toBe(200);
  const onramp = await server.call("POST", `/users/${user_id}/onramps`, {
    onramp: {
      ...{ destination_amount: 100, crypto_currency: "usdc", crypto_rails: "polygon" },
      destination_address: "0x52908400098527886E0F7030069857D2E4169EE7",
      ...{ fiat_currency: "eur", fiat_rails: "local" },
    },
  });
  expect(onramp.status).toBe(200);

  const convert = (reference: string) =>
    runCommand(
      [
        ...["exposure", "convert", "--bought", "500:eur", "--sold", "581.5:usdc"],
        ...["--reference", reference, "--reason", "bought at the bank"],
      ],
      { DATABASE_URL: server.db.url, SLIPROAD_DATA_DIR: server.data_dir },
    );
  expect((await convert("trade-1")).stdout).toContain("Recorded trade-1");
  const again = await convert("trade-1");
  expect([again.code, again.stderr]).toEqual([
    1,
    expect.stringContaining("The conversion trade-1 is already recorded."),
  ]);
  expect(await exposureOf("eur")).toMatchObject({ amount: 363.44, stopped: false });
  await addToNew("eur", 200);
}, 120_000);

const stored = async (currency: string) => {
  const [row] = await server.db.database.query<{ amount: string }>(
    "select sum(amount)::text as amount from exposure_checkpoints where currency = $1",
    [currency],
  );
  return row!.amount;
};

/** Lets the entries be sealed and then counted. */
async function storeSums(): Promise<void> {
  for (let round = 0; round < 2; round += 1) await advance(2 * MINUTE_MS);
}

it("is the same after the sums of the sealed blocks were stored", async () => {
  const before = await exposures();
  await storeSums();
  expect(await stored("eur")).toBe("36344");
  expect(await exposures()).toEqual(before);
});

/** Posts a conversion of one eur, with the time at which its transaction began. */
function buyOneEuro(reference: string, began_at: Date): Promise<void> {
  const money = {
    ...{ account_id: server.account_id, reference },
    ...{
      bought: { amount: 100n, currency: "eur" },
      sold: { amount: 1_160_000n, currency: "usdc" },
    },
  };
  return server.core.database.transaction(async (tx) =>
    postEntries(tx, [treasuryConverted(money)], began_at),
  );
}

it("counts an entry that is committed hours after its id was made", async () => {
  const { amount } = await exposureOf("eur");
  const began_at = new Date(server.core.clock.now().getTime() - 50 * HOUR_MS);
  const [last] = await server.db.database.query<{ number: bigint }>(
    "select max(through_number) as number from exposure_checkpoints",
  );
  expect(last!.number).toBeGreaterThan(0n);
  await buyOneEuro("late-1", began_at);
  expect((await exposureOf("eur")).amount).toBe(amount - 1);
  await storeSums();
  expect(await stored("eur")).toBe("36244");
  expect((await exposureOf("eur")).amount).toBe(amount - 1);
  expect(await findFault(server)).toBeNull();
});

it("sliproad verify compares what is stored with the ledger", async () => {
  const change = (by: number) =>
    server.db.database.query(
      "update exposure_checkpoints set amount = amount + $1 where currency = 'eur'",
      [by],
    );
  await change(5);
  expect(await findFault(server)).toBe(
    `the exposure in eur of account ${server.account_id} is counted as 36249, ` +
      "but the lines of fx_position sum to 36244",
  );
  await change(-5);
  expect(await findFault(server)).toBeNull();
});

it("a process that ends at any commit of the sums counts every entry once", async () => {
  await server.app.worker.stop();
  const { core } = server;
  const commits = await atEveryCommit(core.database, async (run, round) => {
    const { amount } = await exposureOf("eur");
    await buyOneEuro(`crash ${round}`, core.clock.now());
    await sealLedger();
    await core.clock.advance(2 * MINUTE_MS);
    await run(checkExposure);
    expect((await exposureOf("eur")).amount, round).toBe(amount - 1);
    await checkExposure(core.database);
    expect(await stored("eur"), round).toBe(String(Math.round((amount - 1) * 100)));
    expect((await exposureOf("eur")).amount, round).toBe(amount - 1);
  });
  expect(commits).toBeGreaterThanOrEqual(2);
  expect(await findFault(server)).toBeNull();
});

function sealLedger() {
  const { config, database, clock } = server.core;
  return sealAll(database, signingKey(signingSeed(config)), clock.now());
}

async function checkExposure(database: Database): Promise<void> {
  const task = checkExposureTask({
    ...{ database, prices: STORED_PRICES, risk: loadMarketRisk(), log: SILENT },
  });
  const partners = await openPartners(server.core);
  const steps = await openSteps(server.core, partners, database, [task]);
  while (await steps.run(CHECK_EXPOSURE_TASK));
  steps.close();
}

it("is for the operator's keys only", async () => {
  const { key } = await server.addAccount("Tenant");
  const answer = await server.call("GET", "/exposures", undefined, { key });
  expect([answer.status, answer.body.error_code]).toEqual([403, "insufficient_scope"]);
});

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runCommand } from "../harness/command-line.ts";
import { addApprovedUser, addPaymentDetail, addQuote, execute } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";

const RISK = { exposure_max_usd: { eur: "1000" } };

let directory: string;
let server: TestServer;
let user_id: string;
let details: Record<"eur" | "usd", string>;
beforeAll(async () => {
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

/** The status of a new quote's offramp, once the process has seen the last prices. */
async function statusOfNew(currency: "eur" | "usd", wanted: number) {
  await advance(61_000);
  return waitFor(async () => {
    const added = await addOfframp(await addQuote(server, user_id), currency, 100);
    return added.status === wanted ? added : undefined;
  });
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

  const refused = await statusOfNew("eur", 422);
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
  await statusOfNew("usd", 200);
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
  await statusOfNew("eur", 200);
}, 120_000);

it("is the same after the sums up to an hour ago were stored", async () => {
  const before = await exposures();
  await advance(3 * 3_600_000);
  const [row] = await server.db.database.query<{ amount: string }>(
    "select sum(amount)::text as amount from exposure_checkpoints where currency = 'eur'",
  );
  expect(row!.amount).toBe("36344");
  expect(await exposures()).toEqual(before);
});

it("is for the operator's keys only", async () => {
  const { key } = await server.addAccount("Tenant");
  const answer = await server.call("GET", "/exposures", undefined, { key });
  expect([answer.status, answer.body.error_code]).toEqual([403, "insufficient_scope"]);
});

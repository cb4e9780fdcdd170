import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { ACCOUNTS } from "../../src/accounts/store.ts";
import { DAY_MS, HOUR_MS } from "../../src/platform/durations.ts";
import { setKyc } from "../harness/ramp.ts";
import { createTestRates } from "../harness/rates.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { vouch } from "../harness/vouch.ts";
import { advance, findFault, good } from "../offramps/story.ts";
import { openOnramp, receive, showDeposit } from "./story.ts";

const rates = createTestRates({ eur: "0.8" });
let server: TestServer;
beforeAll(async () => {
  const approvals = { SLIPROAD_APPROVAL_ABOVE_USD: "1100" };
  server = await startTestServer({ environment: { ...rates.environment, ...approvals } });
});
afterAll(() => server.close());
afterEach(async () => expect(await findFault(server)).toBeNull());

/** 1000 usdc for eur at 0.8: 800 + 40 basis points of it = 803.20. */
async function open() {
  await rates.set(server, { eur: "0.8" });
  const onramp = await openOnramp(server, { fiat_currency: "eur", fiat_rails: "local" });
  expect(onramp.amount).toBe(803.2);
  return { ...onramp, deposit: { amount: 803.2, currency: "eur", deposit_message: onramp.code } };
}

it("a deposit pays by its code while the rate is at most 0.5 % worse for us", async () => {
  const { deposit, show } = await open();
  // 0.8 x 1.005 = 0.804
  await rates.set(server, { eur: "0.804" });
  expect((await receive(server, deposit)).status).toBe("matched");
  expect((await show()).status).toBe("crypto_sent");
});

it("beyond that it waits for the operator, who may still match it", async () => {
  const { deposit, show, id } = await open();
  await rates.set(server, { eur: "0.8041" });
  const waiting = await receive(server, deposit);
  expect(waiting).toMatchObject({ status: "unmatched", reason: "rate_moved" });
  expect((await show()).status).toBe("initiated");
  good(await server.call("POST", `/deposits/${waiting.id}/match`, { deposit: { onramp_id: id } }));
  await advance(server, 2_000);
  expect((await show()).status).toBe("crypto_sent");
});

it("a rate that is better for us never holds a deposit", async () => {
  const { deposit, show } = await open();
  await rates.set(server, { eur: "0.77" });
  await receive(server, deposit);
  expect((await show()).status).toBe("crypto_sent");
});

it("held by a check for 72 hours it fails, and its deposit returns to the operator's list", async () => {
  const { deposit, show, user_id } = await open();
  await setKyc(server, user_id, { status: "suspended" });
  const { id, status } = await receive(server, deposit);
  expect(status).toBe("matched");
  await advance(server, 71 * HOUR_MS);
  expect((await show()).status).toBe("sending_fiat");
  await advance(server, 2 * HOUR_MS);
  expect((await show()).status).toBe("failed");
  expect(await showDeposit(server, id)).toMatchObject({ status: "unmatched", reason: "held" });
});

it("an account that reviews its own users has no option on the rate", async () => {
  const { account_id, key } = await server.addAccount("Reviews its own");
  await server.core.database.query(
    "update accounts set kyc_review_by_account = true where id = $1",
    [account_id],
  );
  await vouch(server.core.database, ACCOUNTS);
  const call: TestServer["call"] = (method, path, body, options) =>
    server.call(method, path, body, { key, ...options });
  const own = { ...server, key, call };
  const terms = { fiat_currency: "eur", fiat_rails: "local" };
  for (const [eur, outcome] of [
    ["0.804", "crypto_sent"],
    ["0.8041", "failed"],
  ] as const) {
    await rates.set(server, { eur: "0.8" });
    const { amount, code, show, user_id } = await openOnramp(own, terms);
    await setKyc(own, user_id, { status: "suspended" });
    const paid = await receive(server, { amount, currency: "eur", deposit_message: code });
    expect(paid.status).toBe("matched");
    await advance(server, HOUR_MS);
    await rates.set(server, { eur });
    await setKyc(own, user_id, { status: "approved" });
    await advance(server, 2_000);
    expect((await show()).status).toBe(outcome);
    if (outcome === "failed") {
      const waiting = { status: "unmatched", reason: "held" };
      expect(await showDeposit(server, paid.id)).toMatchObject(waiting);
    }
  }
});

it("matched late by the operator, it counts with the tokens that leave, not with what came", async () => {
  await rates.set(server, { eur: "0.8" });
  await advance(server, DAY_MS);
  const terms = { fiat_currency: "eur", fiat_rails: "local", destination_amount: 1300 };
  const { amount, code, show } = await openOnramp(server, terms);
  expect(amount).toBe(1044.16);
  // 1044.16 eur are worth 1054.71 usd by now.
  for (const eur of ["0.836", "0.873", "0.912", "0.953", "0.99"]) await rates.set(server, { eur });
  const { id } = await receive(server, { amount, currency: "eur", deposit_message: code });
  const { body } = await server.call("POST", `/deposits/${id}/match`, {});
  expect(body.proposal).toMatchObject({ status: "pending", amount_usd: 1300 });
  expect((await show()).status).toBe("initiated");
});

it("in the sandbox too, what the operator would have to match needs approval", async () => {
  const RISING = ["0.836", "0.873", "0.912", "0.953", "0.99"];
  const walk = async (steps: readonly string[]) => {
    for (const eur of steps) await rates.set(server, { eur });
  };
  const force = (id: string) =>
    server.call("PATCH", `/sandbox/onramps/${id}`, { onramp: { status: "sending_fiat" } });
  const terms = { fiat_currency: "eur", fiat_rails: "local", destination_amount: 1300 };
  for (const late_ms of [0, DAY_MS]) {
    await walk([...RISING.toReversed(), "0.8"]);
    const near = await openOnramp(server, terms);
    good(await force(near.id));
    const { id, show } = await openOnramp(server, terms);
    await walk(RISING);
    await advance(server, late_ms);
    // 1044.16 eur are less than the approval amount by now, the tokens are not.
    const refused = { status: 422, body: { error_code: "invalid_transition" } };
    expect(await force(id)).toMatchObject(refused);
    expect((await show()).status).toBe("initiated");
  }
});

it("with a spread, it is compared with the rate at which tokens are sold now", async () => {
  const path = join(mkdtempSync(join(tmpdir(), "sliproad-risk-")), "risk.json");
  writeFileSync(path, JSON.stringify({ spread_basis_points: { eur: 100 } }));
  const own_rates = createTestRates({ eur: "0.8" });
  const environment = { ...own_rates.environment, SLIPROAD_MARKET_RISK_FILE: path };
  const dealer = await startTestServer({ environment });
  const terms = { fiat_currency: "eur", fiat_rails: "local" };
  for (const [eur, status] of [
    ["0.804", "matched"],
    ["0.8041", "unmatched"],
  ] as const) {
    await own_rates.set(dealer, { eur: "0.8" });
    const { amount, code } = await openOnramp(dealer, terms);
    // 1000 usdc at 0.808: 808 + 40 basis points of it.
    expect(amount).toBe(811.24);
    await own_rates.set(dealer, { eur });
    const paid = await receive(dealer, { amount, currency: "eur", deposit_message: code });
    expect(paid.status).toBe(status);
  }
  await dealer.close();
});

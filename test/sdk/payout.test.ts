import { randomBytes } from "node:crypto";
import {
  isSliproadError,
  type NewOfframp,
  type Offramp,
  Sliproad,
  SliproadError,
} from "@sliproad/sdk";
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from "vitest";
import type { ErrorCode as SdkErrorCode } from "../../sdk/src/types.ts";
import type { ErrorCode } from "../../src/platform/errors.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";

let server: TestServer;
let sliproad: Sliproad;
beforeAll(async () => {
  server = await startTestServer();
  sliproad = new Sliproad({ baseUrl: server.url, apiKey: server.key });
});
afterAll(() => server.close());

const DETAIL = {
  account_name: "Maria Invented",
  currency: "eur",
  iban: "DE89370400440532013000",
  bank_name: "Invented Bank",
  beneficiary_type: "individual",
  date_of_birth: "21/04/1988",
  address_line1: "12 Invented Street",
  city: "Lisbon",
  postal_code: "1100-148",
  country: "PT",
};
const TOKEN = { deposit_token: "usdc", deposit_token_chain: "polygon" };

async function addPayer() {
  const user = await sliproad.users.create({
    beneficiary_type: "business",
    email: `payer-${crypto.randomUUID()}@example.com`,
    company_name: "Invented Payroll Ltd",
  });
  await sliproad.sandbox.setKycStatus(user.id, "approved");
  const detail = await sliproad.paymentDetails.create(user.id, DETAIL);
  const { quote } = await sliproad.quotes.create(user.id, TOKEN);
  const item: NewOfframp = {
    payment_detail_id: detail.id,
    destination_amount: "1000.50",
    destination_currency: "eur",
    metadata: { order: "7" },
  };
  return { user_id: user.id, quote_id: quote.id, detail_id: detail.id, item };
}

function execute(user_id: string, quote_id: string) {
  const tx_id = `0x${randomBytes(32).toString("hex")}`;
  const transfer = { tx_id, blockchain: "polygon", network: "amoy" };
  return sliproad.quotes.execute(user_id, quote_id, transfer);
}

function waitForStatus(user_id: string, offramp_id: string, status: Offramp["status"]) {
  return waitFor(async () => {
    const offramp = await sliproad.offramps.show(user_id, offramp_id);
    return offramp.status === status && offramp;
  });
}

describe("a payout", () => {
  it("goes from a user to money in the bank", async () => {
    const { user_id, quote_id, item } = await addPayer();
    const [offramp] = await sliproad.offramps.create(user_id, quote_id, [item]);
    expect(offramp).toMatchObject({ status: "initiated", destination_amount: 1000.5 });
    const file = new File(["%PDF-1.7 invented"], "invoice.pdf");
    const { message } = await sliproad.offramps.documents.upload(offramp!.id, file);
    expect(message).toMatch(/upload/i);
    const executed = await execute(user_id, quote_id);
    expect(executed.quote.executed).toBe(true);
    const sent = await waitForStatus(user_id, offramp!.id, "fiat_sent");
    expect(sent.payout_reference?.end_to_end_id).toEqual(expect.any(String));
    expect(sent.metadata).toEqual({ order: "7" });
  });

  it("that bounces can be rerouted, and a cancelled one is owed again and refunded", async () => {
    const { user_id, quote_id, item } = await addPayer();
    const bouncing = { ...item, metadata: { sandbox_outcome: "bounced" } };
    const made = await sliproad.offramps.create(user_id, quote_id, [bouncing, bouncing]);
    for (const { id } of made) {
      await sliproad.offramps.documents.upload(id, new TextEncoder().encode("%PDF-1.7 invented"));
    }
    await execute(user_id, quote_id);
    for (const { id } of made) await waitForStatus(user_id, id, "bounced");
    const [rerouted, given_up] = made as [Offramp, Offramp];
    const detail = await sliproad.paymentDetails.create(user_id, DETAIL);
    const again = await sliproad.offramps.reroute(user_id, rerouted.id, detail.id);
    expect(again).toMatchObject({ offramp: { payment_detail_id: detail.id } });
    const given = await sliproad.offramps.refund(user_id, given_up.id);
    expect(given).toMatchObject({ offramp: { status: "failed" } });

    const [balance] = await sliproad.balances.list(user_id);
    const address = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";
    await sliproad.refundAddresses.create(user_id, { chain: "polygon", address });
    const answer = await sliproad.refunds.create(user_id, {
      token: "usdc",
      chain: "polygon",
      amount: balance!.amount,
      address,
    });
    const { records, has_more } = await sliproad.refunds.list(user_id).page();
    if ("proposal" in answer) throw new Error("the sandbox has no approval amount");
    expect(records.map(({ id }) => id)).toEqual([answer.refund.id]);
    expect(has_more).toBe(false);
  });

  it("has methods for everything related", async () => {
    const { user_id, quote_id, detail_id, item } = await addPayer();
    const stranger = await sliproad.users.create({
      beneficiary_type: "individual",
      email: `stranger-${crypto.randomUUID()}@example.com`,
      first_name: "Ana",
      last_name: "Invented",
    });
    const session = await sliproad.kycs.create(stranger.id);
    expect(session.url).toMatch(/^http.*\/kyc\//);
    const verdict = await sliproad.paymentDetails.validate(user_id, { ...DETAIL, iban: "DE00" });
    expect(verdict.valid).toBe(false);
    const requirements = await sliproad.paymentDetails.requirements({ currency: "eur" });
    expect(new Set(requirements.map(({ currency }) => currency))).toEqual(new Set(["eur"]));
    const rate = { ...TOKEN, fiat_currency: "eur", fiat_amount: 1000 };
    expect((await sliproad.quotes.rate(user_id, rate)).fiat_amount).toBe(1000);
    const conversion = await sliproad.conversions.calculate({
      input_currency: "usdc",
      input_amount: 100,
      output_currency: "eur",
      mode: "sending",
    });
    expect(conversion.output_amount).toEqual(expect.any(Number));
    const [offramp] = await sliproad.offramps.create(user_id, quote_id, [item]);
    const changes = { reference: "Invoice 8" };
    const changed = await sliproad.offramps.update(user_id, quote_id, offramp!.id, changes);
    expect(changed.reference).toBe("Invoice 8");
    await sliproad.users.update(user_id, { metadata: { team: "9" } });
    expect((await sliproad.users.show(user_id)).metadata).toEqual({ team: "9" });
    const off = await sliproad.paymentDetails.deactivate(user_id, detail_id);
    expect(off.status).toBe("deactivated");
    const { now } = await sliproad.sandbox.showClock();
    expect(Date.parse(now)).toBeGreaterThan(0);
    const shown = await sliproad.request("get", "/users/{user_id}", { path: { user_id } });
    expect(shown.user.id).toBe(user_id);
  });
});

describe("an onramp", () => {
  it("goes from fiat in the bank to tokens in a wallet", async () => {
    const { user_id } = await addPayer();
    const onramp = await sliproad.onramps.create(user_id, {
      destination_amount: 1000,
      crypto_currency: "usdc",
      crypto_rails: "polygon",
      destination_address: "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed",
      fiat_currency: "usd",
      fiat_rails: "wire",
    });
    expect(onramp.deposit_amount).toBe(1004);
    const deposit = await sliproad.sandbox.createDeposit({
      amount: onramp.deposit_amount,
      currency: onramp.fiat_currency,
      deposit_message: onramp.deposit_instructions.deposit_message!,
    });
    await waitFor(async () => {
      const { status } = await sliproad.onramps.show(user_id, onramp.id);
      return status === "crypto_sent";
    });
    const { records } = await sliproad.onramps.list(user_id).page();
    expect(records.map(({ id }) => id)).toEqual([onramp.id]);
    expect((await sliproad.deposits.show(deposit.id)).id).toBe(deposit.id);
    expect((await sliproad.proposals.list().page()).records).toEqual([]);
  });
});

describe("lists", () => {
  it("60 records are returned once each, newest first, over several pages", async () => {
    const { user_id, quote_id, item } = await addPayer();
    const items = Array.from({ length: 60 }, () => item);
    const made = await sliproad.offramps.create(user_id, quote_id, items);
    const newest_first = made.map(({ id }) => id).reverse();

    const seen: string[] = [];
    for await (const offramp of sliproad.offramps.list(user_id)) seen.push(offramp.id);
    expect(new Set(seen)).toEqual(new Set(newest_first));
    expect(seen).toHaveLength(60);

    const first = await sliproad.offramps.list(user_id, { limit: 40 }).page();
    expect(first.records.map(({ id }) => id)).toEqual(seen.slice(0, 40));
    expect(first.has_more).toBe(true);
    const second = await first.next();
    expect(second!.records.map(({ id }) => id)).toEqual(seen.slice(40));
    expect(await second!.next()).toBeNull();

    const later = sliproad.offramps.list(user_id, {
      starting_after: seen[57]!,
      status: "initiated",
    });
    const rest: string[] = [];
    for await (const { id } of later) rest.push(id);
    expect(rest).toEqual(seen.slice(58));
    expect((await sliproad.offramps.list(user_id, { status: "failed" }).page()).records).toEqual(
      [],
    );
  });

  it("no page is fetched before it is needed", async () => {
    let requests = 0;
    const counting = new Sliproad({
      baseUrl: server.url,
      apiKey: server.key,
      fetch: (input, init) => {
        requests += 1;
        return fetch(input, init);
      },
    });
    await addPayer();
    await addPayer();
    const users = counting.users.list({ limit: 1 });
    expect(requests).toBe(0);
    for await (const _ of users) break;
    expect(requests).toBe(1);
  });
});

describe("refusals of the real service", () => {
  it("are typed by their code and name the fields", async () => {
    const { user_id, quote_id, item } = await addPayer();
    const wrong = { ...item, destination_amount: "1", payment_detail_id: crypto.randomUUID() };
    const error: unknown = await sliproad.offramps
      .create(user_id, quote_id, [item, wrong])
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SliproadError);
    if (!isSliproadError(error, "record_not_found")) throw error;
    expectTypeOf(error.error_code).toEqualTypeOf<"record_not_found">();
    expect(error.status).toBe(404);
    expect(error.request_id).toEqual(expect.any(String));
    expect(error.errors[0]).toMatchObject({
      field: "offramps[1].payment_detail_id",
      code: "record_not_found",
    });
  });

  it("have a type for every code of the service", () => {
    expectTypeOf<SdkErrorCode>().toEqualTypeOf<ErrorCode>();
  });

  it("of a wrong key and a wrong version are returned", async () => {
    const baseUrl = server.url;
    const stranger = new Sliproad({ baseUrl, apiKey: "sk_test_wrong" });
    await expect(stranger.users.list().page()).rejects.toMatchObject({
      error_code: "unauthorized",
    });
    const newer = new Sliproad({ baseUrl, apiKey: server.key, version: "2099-01-01" });
    await expect(newer.users.list().page()).rejects.toMatchObject({
      error_code: "version_unknown",
    });
  });
});

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Answer, startTestServer, type TestServer } from "../harness/server.ts";

let server: TestServer;
let user_id: string;
beforeAll(async () => {
  server = await startTestServer();
  const names = { first_name: "Rita", last_name: "Invented" };
  const user = { beneficiary_type: "individual", email: "rita@example.com", ...names };
  user_id = (await server.call("POST", "/users", { user })).body.user.id;
});
afterAll(() => server.close());

const ASKED = { deposit_token: "usdc", deposit_token_chain: "polygon", fiat_currency: "eur" };

const askRate = (quote: object, headers: Record<string, string> = {}, id = user_id) =>
  server.call("POST", `/users/${id}/quote/rate`, { quote: { ...ASKED, ...quote } }, { headers });
const convert = (conversion: object) => server.call("POST", "/conversions", { conversion });

const problemsOf = ({ body }: Answer) =>
  body.errors.map(({ field, code }: { field: string; code: string }) => [field, code]);

describe("POST /users/:user_id/quote/rate", () => {
  it("returns what a fiat amount costs", async () => {
    const answer = await askRate({ fiat_amount: 1000 });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      quote: {
        deposit_token: "usdc",
        deposit_token_chain: "polygon",
        deposit_token_amount: 1167.441861,
        fiat_amount: 1000,
        fiat_currency: "eur",
        currency_pair: "usdceur",
        fees: 4.651163,
        rails: "local",
        rate: 0.86,
        expiry: null,
      },
    });
  });

  it("returns how much a token amount pays for, consistent with the reverse", async () => {
    const there = await askRate({ deposit_token_amount: "1167.441861", rails: "local" });
    expect(there.body.quote).toMatchObject({ fiat_amount: 1000, fees: 4.651163 });
    const less = await askRate({ deposit_token_amount: 1167.44186 });
    expect(less.body.quote).toMatchObject({
      deposit_token_amount: 1167.44186,
      fiat_amount: 999.99,
    });
  });

  it("19 000 usd by swift cost 125, by wire 96", async () => {
    const usd = { fiat_currency: "USD", fiat_amount: "19000.00" };
    const swift = await askRate({ ...usd, rails: "swift" });
    expect(swift.body.quote).toMatchObject({ fees: 125, deposit_token_amount: 19_125, rate: 1 });
    const wire = await askRate({ ...usd, rails: "wire", deposit_token: "USDT" });
    expect(wire.body.quote).toMatchObject({ fees: 96, currency_pair: "usdtusd" });
  });

  it("uses the first rail that the currency offers when none is requested", async () => {
    const answer = await askRate({ fiat_currency: "jpy", fiat_amount: 3000, rails: null });
    expect(answer.body.quote).toMatchObject({ rails: "swift", fiat_amount: 3000 });
  });

  it("404 for a user that this account does not have", async () => {
    const other = await server.addAccount("Another");
    const path = `/users/${user_id}/quote/rate`;
    const body = { quote: { ...ASKED, fiat_amount: 1000 } };
    expect((await server.call("POST", path, body, { key: other.key })).status).toBe(404);
    const unknown = await askRate({}, {}, "0192f0c1-2222-7333-8444-555566667777");
    expect(unknown.status).toBe(400);
    expect(problemsOf(unknown)).toEqual([
      ["user_id", "record_not_found"],
      ["quote.fiat_amount", "parameter_missing"],
    ]);
  });

  it("reports all problems at once, each field once", async () => {
    const answer = await askRate({
      deposit_token: "dai",
      deposit_token_chain: "bitcoin",
      fiat_currency: "xxx",
      deposit_token_amount: "1e3",
      fiat: 1,
    });
    expect(answer.status).toBe(422);
    expect(answer.body.error_code).toBe("parameter_unknown");
    expect(problemsOf(answer)).toEqual([
      ["quote.fiat", "parameter_unknown"],
      ["quote.deposit_token", "record_invalid"],
      ["quote.deposit_token_chain", "record_invalid"],
      ["quote.fiat_currency", "currency_not_supported"],
      ["quote.deposit_token_amount", "record_invalid"],
    ]);
  });

  it.each([
    [{}, 400, "fiat_amount", "parameter_missing"],
    [{ fiat_amount: "" }, 400, "fiat_amount", "parameter_missing"],
    [{ fiat_amount: 1, deposit_token_amount: 1 }, 422, "deposit_token_amount", "record_invalid"],
    [{ fiat_amount: 1000.005 }, 422, "fiat_amount", "record_invalid"],
    [{ fiat_amount: [1000] }, 422, "fiat_amount", "record_invalid"],
    [{ fiat_amount: 1, deposit_token: " " }, 400, "deposit_token", "parameter_missing"],
    [{ fiat_amount: 1, rails: "wire" }, 422, "rails", "rails_not_available"],
    [{ fiat_amount: 1, rails: "pigeon" }, 422, "rails", "rails_not_available"],
    [{ fiat_amount: 0.99 }, 422, "fiat_amount", "below_currency_limit"],
    [{ fiat_amount: 29.99, rails: "swift" }, 422, "fiat_amount", "below_currency_limit"],
    [{ deposit_token_amount: 1 }, 422, "deposit_token_amount", "below_currency_limit"],
    [{ fiat_amount: 999_999_999_999_999 }, 422, "fiat_amount", "record_invalid"],
    [{ deposit_token_amount: 1_000_000_000 }, 422, "deposit_token_amount", "record_invalid"],
  ])("%j: %i at %s: %s", async (quote, status, name, code) => {
    const answer = await askRate(quote);
    expect(answer.status).toBe(status);
    expect(problemsOf(answer)).toEqual([[`quote.${name}`, code]]);
  });

  it("reports the minimum in the unit of the given amount", async () => {
    const swift = { fiat_currency: "usd", rails: "swift" };
    const tokens = await askRate({ ...swift, deposit_token_amount: 79.119999 });
    expect(tokens.body.message).toContain("Send at least 79.12 usdc by swift.");
    expect((await askRate({ ...swift, deposit_token_amount: 79.12 })).status).toBe(200);
  });

  it("a number with more digits than it can represent is refused, not changed", async () => {
    const raw = JSON.stringify({ quote: ASKED }).replace(
      "}}",
      ',"fiat_amount":1000.0000000000001}}',
    );
    const path = `/users/${user_id}/quote/rate`;
    const answer = await server.call("POST", path, undefined, { raw });
    expect(problemsOf(answer)).toEqual([["quote.fiat_amount", "record_invalid"]]);
    const longer = raw.replace("1000.0000000000001", "1000.000000000000001");
    const changed = await server.call("POST", path, undefined, { raw: longer });
    expect(changed.body.message).toContain("at most 15 significant digits");
  });

  it("an Idempotency-Key returns the first response again, for that request only", async () => {
    const headers = { "Idempotency-Key": "one" };
    const first = await askRate({ fiat_amount: 1000 }, headers);
    expect(first.body.quote.fiat_amount).toBe(1000);
    const again = await askRate({ fiat_amount: 1000 }, headers);
    expect(again.text).toBe(first.text);
    expect(again.headers.get("Idempotent-Replayed")).toBe("true");
    const other = await askRate({ fiat_amount: 2000 }, headers);
    expect(other.body.error_code).toBe("idempotency_key_reused");
    const long = await askRate({ fiat_amount: 1000 }, { "Idempotency-Key": "x".repeat(256) });
    expect(long.status).toBe(422);
  });

  it("stores nothing", async () => {
    const count = async () =>
      await server.db.database.query(
        "select (select count(*) from quotes), (select count(*) from commands)",
      );
    const before = await count();
    await askRate({ fiat_amount: 1000 });
    expect(await count()).toEqual(before);
  });

  it("a body that is not an object is one problem", async () => {
    const path = `/users/${user_id}/quote/rate`;
    for (const [body, status, field] of [
      [undefined, 400, "body"],
      [{}, 400, "quote"],
      [{ quote: null }, 400, "quote"],
      [{ quote: "x" }, 422, "quote"],
      [[], 422, "body"],
    ] as const) {
      const answer = await server.call("POST", path, body);
      expect(answer.status, answer.text).toBe(status);
      expect(answer.body.errors).toMatchObject([{ field }]);
    }
  });
});

describe("POST /conversions", () => {
  it("sending: the tokens are given, the payout is calculated", async () => {
    const answer = await convert({
      ...{ input_currency: "usdc", input_amount: 1000, output_currency: "eur", mode: "sending" },
    });
    expect(answer.body).toEqual({
      conversion: {
        input_currency: "usdc",
        input_amount: 1000,
        output_currency: "eur",
        output_amount: 856.57,
        mode: "sending",
        exchange_rate: { usdc_eur: 0.86 },
        fees: 3.43,
      },
    });
  });

  it("receiving: the payout is given, the tokens are calculated", async () => {
    const asked = { input_currency: "USDT", output_currency: "EUR", mode: "receiving" };
    const { conversion } = (await convert({ ...asked, output_amount: "1000" })).body;
    expect(conversion).toMatchObject({
      ...{ input_currency: "usdt", input_amount: 1167.441861, output_amount: 1000, fees: 4 },
    });
  });

  it.each([
    [{ input_currency: "usd", output_currency: "usdc" }, 1004, 1000, 4],
    [{ input_currency: "eur", output_currency: "usdt" }, 863.44, 1000, 3.44],
  ])(
    "an onramp, priced from either amount: %j",
    async (pair, input_amount, output_amount, fees) => {
      const receiving = await convert({ ...pair, output_amount, mode: "receiving" });
      expect(receiving.body.conversion).toMatchObject({ input_amount, output_amount, fees });
      const sending = await convert({ ...pair, input_amount, mode: "sending" });
      expect(sending.body.conversion).toMatchObject({ input_amount, output_amount, fees });
    },
  );

  it.each([
    [{ input_currency: "gbp" }, "input_currency", "currency_not_supported"],
    [{ output_currency: "usdt" }, "output_currency", "currency_not_supported"],
    [
      { input_currency: "eur", output_currency: "usd" },
      "output_currency",
      "currency_not_supported",
    ],
    [{ output_amount: 5 }, "output_amount", "record_invalid"],
    [{ input_amount: null }, "input_amount", "parameter_missing"],
    [{ input_amount: 0.0000001 }, "input_amount", "record_invalid"],
    [{ input_amount: 1 }, "input_amount", "below_currency_limit"],
    [{ mode: "wishing" }, "mode", "record_invalid"],
    [{ mode: null }, "mode", "parameter_missing"],
  ])("%j is refused", async (change, name, code) => {
    const asked = { input_currency: "usdc", output_currency: "eur", mode: "sending" };
    const answer = await convert({ ...asked, input_amount: 100, ...change });
    expect(problemsOf(answer)).toEqual([[`conversion.${name}`, code]]);
  });

  it("an onramp of a cent buys nothing and says so", async () => {
    const pair = { input_currency: "eur", output_currency: "usdc" };
    const answer = await convert({ ...pair, input_amount: 0.01, mode: "sending" });
    expect(problemsOf(answer)).toEqual([["conversion.input_amount", "record_invalid"]]);
  });
});

describe("without recent rates", () => {
  it("503, but only where nothing else is wrong", async () => {
    const gone = await startTestServer({
      environment: { SLIPROAD_RATES_URL: "http://127.0.0.1:9/nobody" },
    });
    try {
      const asked = { input_currency: "usdc", output_currency: "eur", mode: "sending" };
      const conversion = { ...asked, input_amount: 1000 };
      const stale = await gone.call("POST", "/conversions", { conversion });
      expect(stale.status).toBe(503);
      expect(stale.body.error_code).toBe("unavailable");
      expect(stale.headers.get("retry-after")).toBe("60");
      const wrong = await gone.call("POST", "/conversions", { conversion: asked });
      expect(wrong.status).toBe(400);
    } finally {
      await gone.close();
    }
  });
});

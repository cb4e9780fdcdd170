import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Fee, Sliproad } from "@sliproad/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../harness/server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

describe("GET /fees", () => {
  it("has one row for each currency and rail that payment details can have", async () => {
    const { body } = await server.call("GET", "/fees");
    const { body: requirements } = await server.call(
      "GET",
      "/payment_detail_requirements?beneficiary_type=business",
    );
    const nameOf = ({ currency, rails, minimum_amount, minimum_usd_equivalent }: Fee) =>
      [currency, rails, minimum_amount, minimum_usd_equivalent].join(" ");
    expect(body.fees.map(nameOf)).toEqual(requirements.payment_detail_requirements.map(nameOf));
  });

  it("shows basis points, the flat part in usd and the minimum", async () => {
    const { status, body } = await server.call("GET", "/fees");
    expect(status).toBe(200);
    const rowOf = (currency: string, rails: string) =>
      body.fees.find((fee: Fee) => fee.currency === currency && fee.rails === rails);
    expect(rowOf("usd", "swift")).toEqual({
      currency: "usd",
      rails: "swift",
      basis_points: 40,
      flat_usd: 49,
      minimum_amount: 30,
      minimum_usd_equivalent: null,
    });
    expect(rowOf("usd", "wire")).toMatchObject({ basis_points: 40, flat_usd: 20 });
    expect(rowOf("mad", "local")).toMatchObject({
      minimum_amount: null,
      minimum_usd_equivalent: 1,
    });
    expect(body.onramp_fees).toEqual(
      [
        ["usd", "ach_push"],
        ["usd", "wire"],
        ["eur", "local"],
      ].map(([currency, rails]) => ({ currency, rails, basis_points: 40, flat_usd: 0 })),
    );
  });

  it("is what a payout is charged, also with the operator's file", async () => {
    const directory = await mkdtemp(join(tmpdir(), "sliproad-fees-"));
    const fees_file = join(directory, "fees.json");
    await writeFile(fees_file, '{"swift":{"basis_points":25,"flat_usd":"12.50"}}');
    const other = await startTestServer({ environment: { SLIPROAD_FEES_FILE: fees_file } });
    try {
      const sliproad = new Sliproad({ baseUrl: other.url, apiKey: other.key });
      const { fees } = await sliproad.fees.list();
      const swift = fees.find((fee) => fee.currency === "usd" && fee.rails === "swift")!;
      expect(swift).toMatchObject({ basis_points: 25, flat_usd: 12.5 });
      const user = await sliproad.users.create({
        beneficiary_type: "business",
        email: "fees@example.com",
        company_name: "Invented Fees Ltd",
      });
      const priced = await sliproad.quotes.rate(user.id, {
        deposit_token: "usdc",
        deposit_token_chain: "polygon",
        fiat_currency: "usd",
        rails: "swift",
        fiat_amount: 10_000,
      });
      expect(priced.fees).toBe((10_000 * swift.basis_points) / 10_000 + swift.flat_usd);
    } finally {
      await other.close();
      await rm(directory, { recursive: true });
    }
  });

  it("422 parameter_unknown for a filter, since it has none", async () => {
    const { status, body } = await server.call("GET", "/fees?currency=eur");
    expect([status, body.error_code]).toEqual([422, "parameter_unknown"]);
  });
});

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createRecords, type RecordIds } from "../../harness/records.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";

let server: TestServer;
let own: RecordIds;
beforeAll(async () => {
  server = await startTestServer();
  own = await createRecords(server, server.key);
});
afterAll(() => server.close());

const fieldsOf = async (method: string, path: string, body: unknown): Promise<string[]> => {
  const answer = await server.call(method, path, body);
  expect([400, 404, 422]).toContain(answer.status);
  return (answer.body.errors as { field: string }[]).map(({ field }) => field).sort();
};

describe("a problem of one field hides no other field with the same prefix", () => {
  it("deposit_token and deposit_token_chain are both reported", async () => {
    const quote = { deposit_token: 7, deposit_token_chain: "moon" };
    expect(await fieldsOf("POST", `/users/${own.user_id}/quotes`, { quote })).toEqual([
      "quote.deposit_token",
      "quote.deposit_token_chain",
    ]);
  });

  it("every field of a refund is reported next to an unknown field", async () => {
    const refund = { token: "doge", chain: "moon", amount: "1.2.3", address: "" };
    const found = await fieldsOf("POST", `/users/${own.user_id}/refunds`, { refund, ref: 1 });
    expect(found).toEqual([
      "ref",
      "refund.address",
      "refund.amount",
      "refund.chain",
      "refund.token",
    ]);
  });

  it("every field of a document's review is reported next to an unknown field", async () => {
    const body = { supporting_document: { status: "maybe", comment: "x".repeat(5_000) }, s: 1 };
    const path = `/offramps/${own.offramp_id}/supporting-documents`;
    expect(await fieldsOf("PATCH", path, body)).toEqual([
      "s",
      "supporting_document.comment",
      "supporting_document.status",
    ]);
  });

  it("every field of an execution's transfer is reported next to unknown fields", async () => {
    const crypto_transfer = { tx_id: " ", blockchain: "moon", network: "" };
    const body = { quote: { crypto_transfer }, q: 1, "": 2 };
    const path = `/users/${own.user_id}/quotes/${own.quote_id}/execute`;
    const found = await fieldsOf("POST", path, body);
    expect(found).toEqual(
      expect.arrayContaining([
        "",
        "q",
        "quote.crypto_transfer.blockchain",
        "quote.crypto_transfer.network",
        "quote.crypto_transfer.tx_id",
      ]),
    );
  });

  it("a re-route's payment detail is reported next to an unknown field of the offramp", async () => {
    const body = { offramp: { payment_detail_id: "x", note: 1 } };
    const path = `/users/${own.user_id}/offramps/${own.offramp_id}/reroute`;
    expect(await fieldsOf("POST", path, body)).toEqual([
      "offramp.note",
      "offramp.payment_detail_id",
      // It has not bounced.
      "offramp_id",
    ]);
  });

  it("every field of a sandbox deposit is reported next to an unknown field", async () => {
    const crypto_deposit = { quote_id: "x", amount: "0", token: "doge", mined_at: "soon" };
    const body = { crypto_deposit, c: 1 };
    expect(await fieldsOf("POST", "/sandbox/crypto_deposits", body)).toEqual([
      "c",
      "crypto_deposit.amount",
      "crypto_deposit.mined_at",
      "crypto_deposit.quote_id",
      "crypto_deposit.token",
    ]);
  });

  it("a deposit's onramp is reported next to an unknown field", async () => {
    const body = { deposit: { onramp_id: "x" }, d: 1 };
    const path = `/deposits/${own.deposit_id}/match`;
    expect(await fieldsOf("POST", path, body)).toEqual(["d", "deposit.onramp_id"]);
  });

  it.each([
    ["offramps", () => `/sandbox/offramps/${own.offramp_id}`, "offramp"],
    ["onramps", () => `/sandbox/onramps/${own.onramp_id}`, "onramp"],
    ["invoices", () => `/sandbox/invoices/${own.invoice_id}`, "invoice"],
    [
      "payment details",
      () => `/sandbox/users/${own.user_id}/payment_details/${own.payment_detail_id}`,
      "payment_detail",
    ],
    ["KYC", () => `/sandbox/users/${own.user_id}/kycs`, "kyc"],
  ])(
    "the requested state of %s is reported next to an unknown field",
    async (_name, path, object) => {
      const body = { [object]: { status: "nowhere" }, z: 1 };
      expect(await fieldsOf("PATCH", path(), body)).toEqual([`${object}.status`, "z"]);
    },
  );
});

describe("the clock of the sandbox", () => {
  it("is moved by the operator's keys only, and readable by every account", async () => {
    const { key } = await server.addAccount("Tenant");
    const before = await server.call("GET", "/sandbox/clock", undefined, { key });
    expect(before.status).toBe(200);
    const answer = await server.call("POST", "/sandbox/clock", { advance_ms: 86_400_000 }, { key });
    expect([answer.status, answer.body.error_code]).toEqual([403, "insufficient_scope"]);
    const after = await server.call("GET", "/sandbox/clock", undefined, { key });
    const moved_ms = Date.parse(after.body.clock.now) - Date.parse(before.body.clock.now);
    expect(moved_ms).toBeLessThan(60_000);
    expect((await server.call("POST", "/sandbox/clock", { advance_ms: 1 })).status).toBe(200);
  });
});

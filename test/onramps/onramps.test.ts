import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DAY_MS, HOUR_MS } from "../../src/platform/durations.ts";
import { addApprovedUser } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { setAccount } from "../kyc/review/review-fixture.ts";
import { advance, expectRefusal, findFault, good, ledgerBalance } from "../offramps/story.ts";
import { ADDRESS, openOnramp, REQUEST, receive } from "./story.ts";

let server: TestServer;
beforeAll(async () => {
  const file = join(await mkdtemp(join(tmpdir(), "sliproad-")), "catalogue.json");
  await writeFile(file, JSON.stringify({ network_fees: { ethereum: "2.5" } }));
  server = await startTestServer({ environment: { SLIPROAD_CATALOGUE_FILE: file } });
});
afterAll(() => server.close());

const create = async (request: object, user_id?: string) => {
  const id = user_id ?? (await addApprovedUser(server));
  return server.call("POST", `/users/${id}/onramps`, { onramp: { ...REQUEST, ...request } });
};

describe("creating an onramp", () => {
  it("422 where its tokens, or a refund, would go to an address of this service", async () => {
    const user_id = await addApprovedUser(server);
    const quote = { deposit_token: "usdc", deposit_token_chain: "polygon" };
    const opened = good(await server.call("POST", `/users/${user_id}/quotes`, { quote }));
    const { address } = opened.deposit_address;
    const destination_address = `0x${address.slice(2).toUpperCase()}`;
    for (const crypto_rails of ["polygon", "base"]) {
      const refused = await create({ destination_address, crypto_rails }, user_id);
      expectRefusal(refused, "record_invalid");
      expect(refused.text).toContain("This address belongs to this service");
    }
    const refund_address = { chain: "polygon", address };
    const path = `/users/${user_id}/refund_addresses`;
    expectRefusal(await server.call("POST", path, { refund_address }), "record_invalid");
  });

  it("422 unless it delivers more than the network fee, which the operator pays", async () => {
    const refused = await create({ crypto_rails: "ethereum", destination_amount: "2.5" });
    expectRefusal(refused, "below_currency_limit");
    expect(refused.text).toContain("Send more than the network fee on ethereum: 2.5 usdc.");
    good(await create({ crypto_rails: "ethereum", destination_amount: "2.500001" }));
  });

  it("1000 usdc for usd by ach_push: fee 4, deposit 1004", async () => {
    const { created } = await openOnramp(server);
    expect(created).toMatchObject({
      status: "initiated",
      destination_amount: 1000,
      destination_address: ADDRESS,
      crypto_currency: "usdc",
      crypto_rails: "polygon",
      fiat_currency: "usd",
      fiat_rails: "ach_push",
      fee: 4,
      deposit_amount: 1004,
      rate: 1,
      tx_id: null,
    });
    expect(created.deposit_instructions).toEqual({
      bank_account_number: expect.stringMatching(/^\d+$/),
      bank_routing_number: expect.stringMatching(/^\d{9}$/),
      bank_iban: null,
      bank_swift_bic: expect.any(String),
      bank_name: expect.any(String),
      bank_address: expect.any(String),
      bank_beneficiary_name: expect.any(String),
      deposit_message: expect.stringMatching(/^([2-9A-HJKMNP-Z]{4}-){2}[2-9A-HJKMNP-Z]{4}$/),
    });
  });

  it("2500 by wire: fee 10, deposit 2510", async () => {
    const { created } = await openOnramp(server, {
      destination_amount: "2500",
      fiat_rails: "wire",
    });
    expect(created).toMatchObject({ fee: 10, deposit_amount: 2510, fiat_rails: "wire" });
  });

  it("eur by local shows an IBAN, and rounds fee and deposit up to the cent", async () => {
    const request = { destination_amount: "0.000001", fiat_currency: "EUR", fiat_rails: "local" };
    const { created } = await openOnramp(server, request);
    expect(created).toMatchObject({ fiat_currency: "eur", fee: 0.01, deposit_amount: 0.02 });
    expect(created.deposit_instructions).toMatchObject({
      bank_account_number: null,
      bank_routing_number: null,
      bank_iban: "LT069999900000012345",
    });
  });

  it.each([
    ["ethereum", ADDRESS],
    ["polygon", ADDRESS.toLowerCase()],
    ["base", `0x${ADDRESS.slice(2).toUpperCase()}`],
    ["tron", "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"],
    ["solana", "7LJMjDRUtbBivAJSJgrDqAmfmbFCktDeUfczv7rhATaM"],
  ])("accepts an address of %s and shows it as it was sent: %s", async (crypto_rails, address) => {
    const request = { crypto_rails, destination_address: address };
    const { created, show } = await openOnramp(server, request);
    expect(created.destination_address).toBe(address);
    expect((await show()).destination_address).toBe(address);
  });

  it.each([
    ["an EIP-55 checksum that is wrong", { destination_address: ADDRESS.replace("aA", "Aa") }],
    ["an address of another chain", { crypto_rails: "tron" }],
    [
      "a tron address with a wrong check",
      { crypto_rails: "tron", destination_address: "TJRabPrwbZy45sbavfcjinPJC18kjpRTv9" },
    ],
    ["a solana address that is short", { crypto_rails: "solana", destination_address: "4Nd1m" }],
    [
      "a solana address that is no point of the curve",
      {
        crypto_rails: "solana",
        destination_address: "JEKNVnkbo3jma5nREBBJCDoXFVeKkD56V3xKrvRmWxFG",
      },
    ],
    ["an address of zeros", { destination_address: `0x${"0".repeat(40)}` }],
  ])("refuses %s", async (_name, request) => {
    const answer = await create(request);
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toEqual([
      expect.objectContaining({ field: "onramp.destination_address", code: "record_invalid" }),
    ]);
  });

  it("reports every problem at once, each with its code", async () => {
    const answer = await create({
      destination_amount: "1.1234567",
      crypto_currency: "doge",
      crypto_rails: "moon",
      fiat_currency: "gbp",
      fiat_rails: "local",
    });
    expect(answer.status).toBe(422);
    const found = answer.body.errors.map(({ field, code }: Record<string, string>) => [
      field,
      code,
    ]);
    expect(found.sort()).toEqual([
      ["onramp.crypto_currency", "currency_not_supported"],
      ["onramp.crypto_rails", "rails_not_available"],
      ["onramp.destination_amount", "record_invalid"],
      ["onramp.fiat_currency", "currency_not_supported"],
    ]);
  });

  it("refuses a rail that the currency does not have, a missing field and an unknown one", async () => {
    expectRefusal(await create({ fiat_rails: "local" }), "rails_not_available");
    expectRefusal(await create({ destination_amount: undefined }), "parameter_missing");
    expectRefusal(await create({ destination_adress: "x" }), "parameter_unknown");
  });

  it("refuses a user who has not passed KYC", async () => {
    const made = await server.call("POST", "/users", {
      user: {
        beneficiary_type: "individual",
        email: "unproven@example.com",
        first_name: "Una",
        last_name: "Invented",
      },
    });
    expectRefusal(await create({}, made.body.user.id), "not_yet_passed_kyc_kyb");
  });
});

describe("a user's unpaid onramps", () => {
  it("are 20 at most, however many callers ask at once in two processes", async () => {
    const user_id = await addApprovedUser(server);
    const other = await startTestServer({ beside: server });
    try {
      const answers = await Promise.all(
        Array.from({ length: 30 }, (_, index) =>
          (index % 2 === 0 ? server : other).call("POST", `/users/${user_id}/onramps`, {
            onramp: REQUEST,
          }),
        ),
      );
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(20);
      const refused = answers.filter(({ status }) => status !== 200);
      for (const { status, body } of refused) {
        expect(status).toBe(422);
        expect(body.errors).toMatchObject([{ field: "user_id", code: "limit_exceeded" }]);
      }
    } finally {
      await other.close();
    }
    // The limit is per user, and one that ends makes room for another.
    good(await create({}));
    const { onramps } = good(await server.call("GET", `/users/${user_id}/onramps?limit=1`));
    const onramp = { status: "failed" };
    good(await server.call("PATCH", `/sandbox/onramps/${onramps[0].id}`, { onramp }));
    good(await create({}, user_id));
    expect((await create({}, user_id)).body.error_code).toBe("limit_exceeded");
  });
});

describe("reading onramps", () => {
  it("lists the user's own, newest first, in pages and by status; shows one with instructions", async () => {
    const { user_id, id, created } = await openOnramp(server);
    const second = good(await create({}, user_id)).onramp;
    const path = `/users/${user_id}/onramps`;
    const first_page = good(await server.call("GET", `${path}?limit=1`));
    expect(first_page.onramps.map((one: { id: string }) => one.id)).toEqual([second.id]);
    expect(first_page.has_more).toBe(true);
    const next = good(await server.call("GET", `${path}?limit=1&starting_after=${second.id}`));
    const { deposit_instructions: _, ...in_list } = created;
    expect(next).toEqual({ onramps: [in_list], has_more: false });
    good(await server.call("PATCH", `/sandbox/onramps/${id}`, { onramp: { status: "failed" } }));
    const failed = good(await server.call("GET", `${path}?status=failed`));
    expect(failed.onramps.map((one: { id: string }) => one.id)).toEqual([id]);
    const shown = good(await server.call("GET", `${path}/${second.id}`)).onramp;
    expect(shown).toEqual(second);
  });

  it("404 for an onramp of another user", async () => {
    const { id } = await openOnramp(server);
    const other = await addApprovedUser(server);
    const answer = await server.call("GET", `/users/${other}/onramps/${id}`);
    expect([answer.status, answer.body.error_code]).toEqual([404, "record_not_found"]);
  });
});

describe("a matching deposit", () => {
  it("is converted and delivered: crypto_sent with tx_id, and the ledger agrees", async () => {
    const before = {
      bank: await ledgerBalance(server, "bank:sandbox-usd", "usd"),
      fees: await ledgerBalance(server, "fees", "usd"),
      wallet: await ledgerBalance(server, "wallet:polygon", "usdc"),
      suspense: await ledgerBalance(server, "suspense", "usd"),
    };
    const onramp = await openOnramp(server);
    const deposit = await receive(server, { amount: 1004, deposit_message: onramp.code });
    expect(deposit).toMatchObject({
      status: "matched",
      reason: null,
      onramp_id: onramp.id,
      matched_amount: 1004,
    });
    expect(await onramp.show()).toMatchObject({
      status: "crypto_sent",
      status_message: null,
      tx_id: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    });
    expect(await ledgerBalance(server, "bank:sandbox-usd", "usd")).toBe(before.bank + 100_400n);
    expect(await ledgerBalance(server, "fees", "usd")).toBe(before.fees - 400n);
    expect(await ledgerBalance(server, "wallet:polygon", "usdc")).toBe(
      before.wallet - 1_000_000_000n,
    );
    expect(await ledgerBalance(server, "suspense", "usd")).toBe(before.suspense);
    expect(await ledgerBalance(server, `onramp:${onramp.id}`, "usd")).toBe(0n);
    expect(await ledgerBalance(server, `onramp:${onramp.id}`, "usdc")).toBe(0n);
    expect(await findFault(server)).toBeNull();
  });

  it("writes one event per change, with increasing sequence and time", async () => {
    const onramp = await openOnramp(server);
    await receive(server, { amount: 1004, deposit_message: onramp.code });
    const rows = await server.db.database.query<Record<string, unknown>>(
      "select sequence, from_status, to_status from events where record_id = $1 order by sequence",
      [onramp.id],
    );
    expect(rows).toEqual([
      { sequence: 1, from_status: null, to_status: "initiated" },
      { sequence: 2, from_status: "initiated", to_status: "sending_fiat" },
      { sequence: 3, from_status: "sending_fiat", to_status: "crypto_sent" },
    ]);
  });
});

describe("time", () => {
  it("an unpaid onramp fails after 7 days, and moves no money", async () => {
    const onramp = await openOnramp(server);
    await advance(server, 7 * DAY_MS - HOUR_MS);
    expect((await onramp.show()).status).toBe("initiated");
    await advance(server, HOUR_MS);
    expect(await onramp.show()).toMatchObject({
      status: "failed",
      status_message: "No deposit arrived within 7 days. Create a new onramp.",
    });
    expect(await findFault(server)).toBeNull();
  });
});

describe("PATCH /sandbox/onramps/:id", () => {
  const forceStatus = (id: string, status: string) =>
    server.call("PATCH", `/sandbox/onramps/${id}`, { onramp: { status } });

  it.each([["sending_fiat"], ["crypto_sent"], ["failed"]])(
    "moves an onramp to %s",
    async (status) => {
      const onramp = await openOnramp(server);
      expect(good(await forceStatus(onramp.id, status)).onramp.status).toBe(status);
      expect((await onramp.show()).status).toBe(status);
      expect(await findFault(server)).toBeNull();
    },
  );

  it("moves a paid onramp to crypto_sent or, with its deposit returned, to failed", async () => {
    const [first, second] = [await openOnramp(server), await openOnramp(server)];
    for (const { id } of [first, second]) good(await forceStatus(id, "sending_fiat"));
    expect(good(await forceStatus(first.id, "crypto_sent")).onramp.tx_id).toMatch(/^0x/);
    expect(good(await forceStatus(second.id, "failed")).onramp.status).toBe("failed");
    expect(await findFault(server)).toBeNull();
  });

  it("stops at a hold, and matches no late deposit above the approval amount", async () => {
    const [held, late] = [await openOnramp(server), await openOnramp(server)];
    good(await forceStatus(held.id, "sending_fiat"));
    const reason = { reason: "A court order" };
    good(await server.call("POST", `/users/${held.user_id}/freeze`, reason));
    expectRefusal(await forceStatus(held.id, "crypto_sent"), "on_hold");
    expect((await held.show()).status).toBe("sending_fiat");
    await setAccount(server, server.account_id, { approval_above_usd: 1_00n });
    await server.call("POST", "/sandbox/clock", { advance_ms: 25 * HOUR_MS });
    expectRefusal(await forceStatus(late.id, "sending_fiat"), "invalid_transition");
    await setAccount(server, server.account_id, { approval_above_usd: null });
    good(await forceStatus(late.id, "sending_fiat"));
  });

  it("422 invalid_transition where no path exists, 422 record_invalid for an unknown state", async () => {
    const { id } = await openOnramp(server);
    good(await forceStatus(id, "crypto_sent"));
    expectRefusal(await forceStatus(id, "failed"), "invalid_transition");
    expectRefusal(await forceStatus(id, "nowhere"), "record_invalid");
  });
});

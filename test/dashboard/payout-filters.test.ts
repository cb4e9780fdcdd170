import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Offramp, Sliproad } from "../../sdk/src/index.ts";
import {
  HELD_REASONS,
  type HeldReason,
  isHeldBecause,
} from "../../src/dashboard/payouts/held-reasons.ts";
import { listPayouts } from "../../src/dashboard/payouts/list-store.ts";
import { closedGate, type GatePolicy } from "../../src/offramps/gates.ts";
import { FIRST_ID, LAST_ID } from "../../src/platform/ids.ts";
import { createSampleBusiness, type SampleBusiness } from "../harness/sample-business.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { addBilledAccount, sendInvoice } from "../invoices/invoice-fixture.ts";
import { type BrowserMember, signInMember } from "./dashboard-server.ts";

/** A whole business is created. */
const SETUP_MS = 120_000;

let server: TestServer;
let business: SampleBusiness;
let member: BrowserMember;
let all: Offramp[];

beforeAll(async () => {
  server = await startTestServer();
  const sliproad = new Sliproad({ baseUrl: server.url, apiKey: server.key });
  business = await createSampleBusiness(sliproad);
  await addDollars(sliproad, business.user_ids[0]!);
  const { account_id } = server;
  member = await signInMember(server, { account_id, role: "accountant", email: "a@example.test" });
  all = (await list("limit=100")).offramps;
}, SETUP_MS);
afterAll(() => server.close());

async function addDollars(sliproad: Sliproad, user_id: string): Promise<void> {
  const detail = await sliproad.paymentDetails.create(user_id, {
    ...{ account_name: "Zoë Beispiel", bank_name: "Sample Bank", currency: "usd", country: "US" },
    ...{ account_number: "000123456789", routing_number: "021000021", state: "NY" },
    ...{ beneficiary_type: "business", address_line1: "1 Sample Street", city: "New York" },
    ...{ postal_code: "10001", swift_bic: "BOFAUS3NXXX" },
  });
  const { quote } = await sliproad.quotes.create(user_id, {
    deposit_token: "usdc",
    deposit_token_chain: "polygon",
  });
  const submitted_url = "https://files.example.com/invoice.pdf";
  await sliproad.offramps.create(
    user_id,
    quote.id,
    (["wire", "local", "swift"] as const).map((rails) => ({
      ...{ payment_detail_id: detail.id, destination_amount: "500", destination_currency: "usd" },
      ...{ rails, supporting_document_attributes: { submitted_url } },
    })),
  );
}

type Listed = {
  offramps: Offramp[];
  has_more: boolean;
  next: string | null;
  looked_until: string | null;
};

async function list(query: string): Promise<Listed> {
  const answer = await member.call("GET", `/dashboard/api/payouts?${query}`);
  expect(answer.statusCode, answer.body).toBe(200);
  return answer.json();
}

const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);

describe("the list of payouts", () => {
  it("serves every combination of filters, newest first and page by page", async () => {
    expect(all).toHaveLength(27);
    const [user_id] = business.user_ids;
    const { quote_id, payment_detail_id } = all[3]!;
    const choices: Record<string, (string | undefined)[]> = {
      status: [undefined, "fiat_sent", "initiated"],
      currency: [undefined, "eur", "USD"],
      rails: [undefined, "local", "wire"],
      user_id: [undefined, user_id],
      quote_id: [undefined, quote_id],
      payment_detail_id: [undefined, payment_detail_id],
    };
    const columns = { currency: "destination_currency" } as Record<string, keyof Offramp>;
    const combined = Object.entries(choices).reduce<Record<string, string>[]>(
      (filters, [name, values]) =>
        filters.flatMap((filter) =>
          values.map((value) => (value ? { ...filter, [name]: value } : filter)),
        ),
      [{}],
    );
    for (const filter of combined) {
      const wanted = all.filter((row) =>
        Object.entries(filter).every(
          ([name, value]) => row[columns[name] ?? (name as keyof Offramp)] === value.toLowerCase(),
        ),
      );
      const found = await listAll(filter);
      expect(found, JSON.stringify(filter)).toEqual(idsOf(wanted));
    }
  });

  async function listAll(filter: Record<string, string>): Promise<string[]> {
    const found: string[] = [];
    for (let after: string | null = null; ; ) {
      const query = { ...filter, limit: "10", ...(after ? { starting_after: after } : {}) };
      const page = await list(new URLSearchParams(query).toString());
      found.push(...idsOf(page.offramps));
      after = page.next;
      expect(page.has_more).toBe(after !== null);
      if (!after) return found;
    }
  }

  it("filters by amounts in their currency, by days, and by why a payout is held", async () => {
    const amounts = await list("currency=eur&amount_min=1000&amount_max=1300.50&limit=100");
    const wanted = all.filter(
      ({ destination_amount: amount, destination_currency: currency }) =>
        currency === "eur" && amount >= 1000 && amount <= 1300.5,
    );
    expect(wanted.length).toBeGreaterThan(3);
    expect(idsOf(amounts.offramps)).toEqual(idsOf(wanted));
    const bare = await member.call("GET", "/dashboard/api/payouts?amount_min=10");
    expect(bare.json()).toMatchObject({ status: 422, errors: [{ field: "amount_min" }] });
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
    expect((await list(`created_after=${tomorrow}`)).offramps).toEqual([]);
    expect((await list(`created_before=${tomorrow}&limit=100`)).offramps).toHaveLength(27);

    const held = all.filter(({ status }) => status === "ongoing_checks");
    expect(held.length).toBeGreaterThan(3);
    const found = await Promise.all(
      HELD_REASONS.map(async (reason) => idsOf((await list(`held_by=${reason}`)).offramps)),
    );
    // Every held payout has exactly one reason.
    expect(found.flat().sort()).toEqual(idsOf(held).sort());
    const sent = await member.call("GET", "/dashboard/api/payouts?held_by=rate&status=fiat_sent");
    expect(sent.statusCode).toBe(422);
  });

  it("finds what the bank has not answered about, as the overview counts it", async () => {
    expect((await list("unanswered=true")).offramps).toEqual([]);
    const [silent] = all.filter(({ status }) => status === "fiat_sent");
    await server.core.database.query(
      "update payouts set flagged_at = now(), status = 'sent' where offramp_id = $1",
      [silent!.id],
    );
    const set = "update offramps set status = $2 where id = $1";
    await server.core.database.query(set, [silent!.id, "sending_fiat"]);
    expect(idsOf((await list("unanswered=true")).offramps)).toEqual([silent!.id]);
    const { waiting } = (await member.call("GET", "/dashboard/api/overview")).json();
    expect(waiting).toContainEqual(expect.objectContaining({ name: "silent_payouts", count: 1 }));
    const paid = await member.call(
      "GET",
      "/dashboard/api/payouts?unanswered=true&status=fiat_sent",
    );
    expect(paid.statusCode).toBe(422);
    await server.core.database.query(set, [silent!.id, "fiat_sent"]);
    await server.core.database.query(
      "update payouts set flagged_at = null, status = 'booked' where offramp_id = $1",
      [silent!.id],
    );
  });

  it("knows a reason for every message of a gate", async () => {
    const approved = { status: "approved", swift_status: "approved" } as const;
    const kyc = {
      general: { ...approved, moderation_comment: null },
      usd: approved,
      eur: approved,
    };
    const offramp = {
      ...{ destination_currency: "eur", rails: "swift", destination_amount: 1_00n, attempt: 0 },
      ...{ document_status: "approved", document_file: "file", details: {} },
    } as unknown as Parameters<typeof closedGate>[1];
    const facts = {
      kyc,
      detail_status: "approved",
      approval_status: null,
      invoice_end: null,
    } as const;
    const policy = { kyc_enforcement: "execution", documents: "threshold" } as const;
    const closed = (facts_now: object, offramp_now: object = {}, documents: string = "threshold") =>
      closedGate(
        { ...policy, documents } as GatePolicy,
        { ...offramp, ...offramp_now },
        { ...facts, ...facts_now },
      )!.message;
    const messages: readonly (readonly [HeldReason, string])[] = [
      ["approval", closed({ approval_status: "pending" })],
      ["identity", closed({ kyc: undefined })],
      ["identity", closed({ kyc: { ...kyc, general: { status: "suspended" } } })],
      ["identity", closed({ kyc: { ...kyc, eur: { swift_status: "suspended" } } })],
      ["checks", closed({ kyc: { ...kyc, is_frozen: true } })],
      ["checks", closed({ kyc: { ...kyc, screening: { status: "match" } } })],
      ["bank_account", closed({ detail_status: "pending" })],
      ["bank_account", closed({ detail_status: "deactivated" })],
      ["bank_account", closed({ detail_status: "failed" })],
      ["document", closed({}, { document_status: null })],
      ["document", closed({}, { document_status: "not_checked", document_file: null })],
      ["document", closed({}, { document_status: "not_checked" }, "review")],
      ["document", closed({}, { document_status: "not_checked", document_after_approval: true })],
    ];
    const reasons = HELD_REASONS.map(
      (name) => `case when ${isHeldBecause(name)} then '${name}' end`,
    );
    for (const [reason, message] of messages) {
      const [row] = await server.core.database.query<{ found: string[] }>(
        `select array_remove(array[${reasons.join(",")}], null) as found
         from (select $1::text as status_message, null::text as document_status,
           null::uuid as invoice_id) as held`,
        [message],
      );
      expect(row!.found, message).toEqual([reason]);
    }
  });

  it("looks at a bounded number of payouts for what no index serves, and goes on", async () => {
    const { database } = server.core;
    const [model] = all;
    // Details of copies cannot be opened; the store does not open them.
    await database.query(
      `insert into offramps (account_id, id, user_id, quote_id, payment_detail_id, status,
         destination_amount, destination_currency, rails, rate, fee, deposit_token,
         deposit_token_chain, token_amount, token_fee, details, created_at, updated_at)
       select account_id, (lpad(to_hex(1000000000000 + number), 12, '0') || '7000' || '8000'
           || lpad(to_hex(number), 12, '0'))::uuid,
         user_id, quote_id, payment_detail_id, 'fiat_sent', 1000 + number, 'eur', rails, rate, fee,
         deposit_token, deposit_token_chain, token_amount, token_fee, details, created_at,
         updated_at
       from offramps, generate_series(1, 2000) as number where account_id = $1 and id = $2`,
      [server.account_id, model!.id],
    );
    const filter = { destination_currency: "eur", amount_min: 1010n, amount_max: 1011n };
    const pages: number[] = [];
    let below_id = LAST_ID;
    for (;;) {
      const page = { limit: 10, below_id, from_id: FIRST_ID };
      const found = await listPayouts(database, server.account_id, filter, page);
      pages.push(found.rows.length);
      if (!found.has_more) break;
      below_id = found.last_id!;
    }
    expect(pages).toEqual([0, 0, 2]);
  });
});

describe("the search", () => {
  const search = async (text: string) => {
    const answer = await member.call("POST", "/dashboard/api/search", { text });
    expect(answer.statusCode, answer.body).toBe(200);
    return answer.json();
  };

  it("finds a record by its id, and a payout by its end-to-end id", async () => {
    const [user_id] = business.user_ids;
    const [payout] = all;
    expect((await search(user_id!)).hits).toMatchObject([
      { kind: "person", id: user_id, title: "Ana Sample" },
    ]);
    expect((await search(payout!.quote_id)).hits).toMatchObject([
      { kind: "quote", title: expect.stringMatching(/^Quote of [A-Z]/) },
    ]);
    const end_to_end_id = `${payout!.id.replaceAll("-", "")}001`;
    expect((await search(end_to_end_id)).hits).toMatchObject([
      { kind: "payout", id: payout!.id, title: "500 usd", note: "Zoë Beispiel" },
    ]);
    const email = "eve@example.test";
    const { account_id } = await server.addAccount("other");
    const other = await signInMember(server, { account_id, role: "admin", email });
    const none = await other.call("POST", "/dashboard/api/search", { text: payout!.id });
    expect(none.json().hits).toEqual([]);
  });

  it("finds payouts by their reference, also after it was changed", async () => {
    const found = await search("invoice  2026-102");
    const [payout] = found.hits;
    const own = all.filter(({ reference }) => reference === "Invoice 2026-102");
    expect(idsOf(found.hits)).toEqual(idsOf(own));
    const [filter] = found.filters;
    const listed = await list(`reference=${filter.value}&status=${own[0]!.status}`);
    expect(idsOf(listed.offramps)).toEqual([payout.id]);

    const editable = all.find(({ status }) => status === "initiated")!;
    const { user_id, quote_id, id } = editable;
    const path = `/users/${user_id}/quotes/${quote_id}/offramps/${id}`;
    await server.call("PATCH", path, { offramp: { reference: "Rent, November" } });
    expect(idsOf((await search("rent, november")).hits)).toEqual([id]);
  });

  it("finds invoices by their number, sent and received ones, and of no other account", async () => {
    const buyer = await addBilledAccount(server, "buyer");
    const { id } = await sendInvoice(server, server, buyer, { invoiceNumber: "SAMPLE/2026-77" });
    const found = { kind: "invoice", id, title: "Invoice SAMPLE/2026-77" };
    expect((await search("sample/2026-77")).hits).toMatchObject([found]);
    const ask = async (account_id: string, email: string) => {
      const other = await signInMember(server, { account_id, role: "admin", email });
      return other.call("POST", "/dashboard/api/search", { text: "SAMPLE/2026-77" });
    };
    const received = await ask(buyer.account_id, "buyer@example.test");
    expect(received.json().hits).toMatchObject([found]);
    const stranger = await addBilledAccount(server, "stranger");
    expect((await ask(stranger.account_id, "stranger@example.test")).json().hits).toEqual([]);
  });

  it("finds people by e-mail address and name, bank accounts by their number", async () => {
    const [user_id] = business.user_ids;
    const sliproad = new Sliproad({ baseUrl: server.url, apiKey: server.key });
    const { email } = await sliproad.users.show(user_id!);
    expect((await search(email.toUpperCase())).hits).toMatchObject([{ id: user_id }]);
    expect((await search("jorg mus")).hits).toMatchObject([{ title: "Jörg Muster-Beispiel" }]);
    const iban = await search("DE89 3704 0044 0532 0130 00");
    expect(iban.hits.map(({ kind }: { kind: string }) => kind)).toEqual(
      business.user_ids.map(() => "bank_account"),
    );
    expect((await search("0532013000")).filters).toEqual(iban.filters);
    const [{ value }] = iban.filters;
    const paid = await list(`payee=${value}&limit=100`);
    const details = new Set(idsOf(iban.hits));
    expect(idsOf(paid.offramps)).toEqual(
      idsOf(all.filter(({ payment_detail_id }) => details.has(payment_detail_id))),
    );
    expect((await search("000123456789")).hits).toHaveLength(1);
  });
});

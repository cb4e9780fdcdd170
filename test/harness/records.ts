import { randomBytes, randomUUID } from "node:crypto";
import { BANK_ANSWERS } from "../../src/offramps/payouts/store.ts";
import { newId } from "../../src/platform/ids.ts";
import type { ScreeningMatch } from "../../src/screening/model.ts";
import { insertMatches } from "../../src/screening/store.ts";
import { updateHeld } from "../../src/users/store.ts";
import { UPLOAD, UPLOAD_TYPE } from "./api-document.ts";
import type { Answer, TestServer } from "./server.ts";
import { vouch } from "./vouch.ts";
import { waitFor } from "./wait-for.ts";

/** One record of each kind, all related: the ids that paths and bodies may use. */
export type RecordIds = Awaited<ReturnType<typeof createRecords>>;

/**
 * Creates them through the API. Add a new kind of record here if its id is part of a path, under
 * the name it has there; the tests of all operations then cover its routes automatically.
 */
export async function createRecords(server: TestServer, key: string) {
  const post = (path: string, body: unknown) => server.call("POST", path, body, { key });
  const user_id = idOf(await post("/users", newUser()), "user");
  const path = `/users/${user_id}`;
  const detail = await post(`${path}/payment_details`, NEW_PAYMENT_DETAIL);
  const payment_detail_id = idOf(detail, "payment_detail");
  const quote_id = idOf(await post(`${path}/quotes`, NEW_QUOTE), "quote");
  const offramps = await post(`${path}/quotes/${quote_id}/offramps`, {
    offramps: [{ payment_detail_id, destination_amount: 1000, destination_currency: "eur" }],
  });
  const offramp_id = idOf(
    { ...offramps, body: { offramp: offramps.body.offramps?.[0] } },
    "offramp",
  );
  await server.call("POST", `/offramps/${offramp_id}/supporting-documents`, undefined, {
    key,
    raw: UPLOAD,
    headers: { "content-type": UPLOAD_TYPE },
  });
  const uploaded = await server.call("POST", `${path}/documents`, undefined, {
    key,
    raw: UPLOAD,
    headers: { "content-type": UPLOAD_TYPE },
  });
  const document_id = idOf(uploaded, "document");
  const approved = { kyc: { status: "approved" } };
  await server.call("PATCH", `/sandbox/users/${user_id}/kycs`, approved, { key });
  const onramp_id = idOf(await post(`${path}/onramps`, NEW_ONRAMP), "onramp");
  const delivered = idOf(await post(`${path}/onramps`, NEW_ONRAMP), "onramp");
  const crypto_sent = { onramp: { status: "crypto_sent" } };
  await server.call("PATCH", `/sandbox/onramps/${delivered}`, crypto_sent, { key });
  const { travel_records } = (await server.call("GET", "/travel_records", undefined, { key })).body;
  // All deposits belong to the operator, whoever creates them.
  const deposit = { amount: 1, currency: "usd", deposit_message: "no code" };
  const deposit_id = idOf(await post("/sandbox/deposits", { deposit }), "deposit");
  const period = { kind: "audit_log", from: "2026-01-01", to: "2026-02-01" };
  const { exports } = (await server.call("GET", "/exports?limit=20", undefined, { key })).body;
  // An account has at most 20: later sets share one.
  const export_id = exports[9]?.id ?? idOf(await post("/exports", { export: period }), "export");
  const proposal_id = await createProposal(server, key, user_id);
  const invoice = await post("/invoices", newInvoice());
  const invoice_id = idOf({ ...invoice, body: { invoice: invoice.body } }, "invoice");
  // An account has at most 50: later sets share one.
  const { apps } = (await server.call("GET", "/apps?limit=100", undefined, { key })).body;
  const app_id = apps[30]?.id ?? idOf(await post("/apps", { app: { name: "Test" } }), "app");
  const webhook_event_id = await waitFor(async () => {
    const { body } = await server.call("GET", "/webhook_events?limit=1", undefined, { key });
    return body.webhook_events[0]?.id as string | undefined;
  });
  const own = { user_id, payment_detail_id, quote_id, offramp_id, invoice_id, onramp_id };
  return {
    ...own,
    record_id: offramp_id,
    exception_id: await createException(server),
    screening_match_id: await createMatch(server, user_id),
    document_id,
    travel_record_id: travel_records[0].id as string,
    export_id,
    deposit_id,
    proposal_id,
    app_id,
    webhook_event_id,
  };
}

/** To an address that is not registered, so it needs two members; from its own quote. */
async function createProposal(server: TestServer, key: string, user_id: string): Promise<string> {
  const post = (path: string, body: unknown) => server.call("POST", path, body, { key });
  const quote_id = idOf(await post(`/users/${user_id}/quotes`, NEW_QUOTE), "quote");
  await post("/sandbox/crypto_deposits", { crypto_deposit: { quote_id, amount: 20 } });
  const address = `0x${"2".repeat(40)}`;
  const refund = { token: "usdc", chain: "polygon", amount: 20, address };
  return idOf(await post(`/users/${user_id}/refunds`, { refund }), "proposal");
}

/** The user, who is like an entry of a list. */
async function createMatch(server: TestServer, user_id: string): Promise<string> {
  const { clock, keyring } = server.core;
  const { database } = server.db;
  const now = clock.now();
  const [user] = await database.query<{ account_id: string }>(
    "select account_id from users where id = $1",
    [user_id],
  );
  const { account_id } = user!;
  const key = (await keyring.openUserKeys(database, [{ account_id, user_id }])).get(
    account_id,
    user_id,
  )!;
  const of_list = { list: "invented", entry_id: "1", entry_digest: "1" };
  const facts = { birth_dates: [], countries: [], wallets: [], programs: [] };
  const entry = { list: "invented", id: "1", kind: "individual", names: [], digest: "1" } as const;
  const person = { kind: "individual", names: ["Ana"], birth_date: null } as const;
  const match: ScreeningMatch = {
    ...{ account_id, id: newId(now), user_id, record_kind: "user", record_id: user_id },
    ...{ ...of_list, person_digest: randomBytes(32), verdict: "possible_match", score: 0.9 },
    ...{ status: "open", decided_by: null, decided_at: null, created_at: now, updated_at: now },
    details: {
      person: { ...person, countries: [], wallets: [] },
      entry: { ...entry, ...facts },
      listed: "Ana",
      reason: null,
    },
  };
  await server.core.database.transaction(async (tx) => {
    insertMatches(tx, [{ ...match, key }]);
    const held = { screening_status: "possible_match", screening_held_at: now } as const;
    updateHeld(tx, { account_id, id: user_id, ...held });
  });
  return match.id;
}

/** An answer of the bank that moved no money; by default about an unknown payment. */
export async function createException(
  server: TestServer,
  { end_to_end_id = "unknown", kind = "booked", amount = 500n } = {},
): Promise<string> {
  const now = server.core.clock.now();
  const id = newId(now);
  await server.db.database.query(
    `insert into bank_answers (account_id, id, bank_reference, end_to_end_id, kind, amount,
       currency, outcome, status, created_at, updated_at)
     values ($1, $2, $3, $5, $6, $7, 'eur', 'no_such_payment', 'open', $4, $4)`,
    [server.account_id, id, `harness-${id}`, now, end_to_end_id, kind, amount],
  );
  await vouch(server.db.database, BANK_ANSWERS);
  return id;
}

/** Ids that no record has, under the same names. */
export function missingRecords(like: RecordIds): RecordIds {
  const names = Object.keys(like);
  return Object.fromEntries(names.map((name) => [name, randomUUID()])) as RecordIds;
}

export function newUser() {
  return {
    user: {
      beneficiary_type: "individual",
      email: `${randomUUID()}@example.com`,
      first_name: "Ana",
      last_name: "Sample",
    },
  };
}

const NEW_ONRAMP = {
  onramp: {
    destination_amount: 1000,
    crypto_currency: "usdc",
    crypto_rails: "polygon",
    destination_address: "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed",
    fiat_currency: "usd",
    fiat_rails: "ach_push",
  },
};
/** A draft, so that it can still be made payable. */
export function newInvoice(more: Record<string, unknown> = {}) {
  const value = {
    currencies: ["USDC-matic"],
    paymentInformation: { paymentAddress: `0x${"ab".repeat(20)}`, chain: "matic" },
  };
  return {
    invoiceNumber: randomUUID(),
    invoiceItems: [{ name: "Sample work", currency: "EUR", quantity: 1, unitPrice: "100000" }],
    buyerInfo: { email: `${randomUUID()}@example.com`, businessName: "Sample Buyer" },
    paymentOptions: [{ type: "wallet", value }],
    ...more,
  };
}

const NEW_QUOTE = { quote: { deposit_token: "usdc", deposit_token_chain: "polygon" } };
const NEW_PAYMENT_DETAIL = {
  payment_detail: {
    account_name: "Maria Sample",
    currency: "eur",
    iban: "DE89370400440532013000",
    bank_name: "Sample Bank",
    beneficiary_type: "individual",
    date_of_birth: "21/04/1988",
    address_line1: "12 Sample Street",
    city: "Lisbon",
    postal_code: "1100-148",
    country: "PT",
  },
};

function idOf(answer: Answer, record: string): string {
  if (answer.status !== 200) throw new Error(`no ${record} was made: ${answer.text}`);
  return answer.body[record].id;
}

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { lockKycUser, recordKycs } from "../../src/kyc/move-kyc.ts";
import { StartupError } from "../../src/platform/startup-error.ts";
import type { KycStatus } from "../../src/users/model.ts";
import { type Answer, startTestServer, type TestServer } from "../harness/server.ts";

type Fields = Record<string, unknown>;

let server: TestServer;
let user_id: string;
beforeAll(async () => {
  server = await startTestServer();
  user_id = await createUser(server, "payer@example.com");
});
afterAll(() => server.close());

async function createUser(on: TestServer, email: string): Promise<string> {
  const answer = await on.call("POST", "/users", {
    user: { beneficiary_type: "individual", email, first_name: "Ina", last_name: "Vented" },
  });
  expect(answer.status, answer.text).toBe(200);
  return answer.body.user.id;
}

const HOLDER: Fields = {
  account_name: "Ina Vented",
  bank_name: "Invented Bank",
  beneficiary_type: "individual",
  date_of_birth: "21/04/1988",
  address_line1: "1 Invented Street",
  city: "Lisbon",
  postal_code: "1100-148",
  country: "PT",
};
const EUR: Fields = { ...HOLDER, currency: "eur", iban: "DE89370400440532013000" };
const USD: Fields = {
  ...HOLDER,
  currency: "usd",
  routing_number: "021000021",
  account_number: "000123456789",
};
// Bank 007, town 780, account 0001123456789012; the key was computed independently.
const MAD: Fields = { ...HOLDER, currency: "mad", rib_number: "007780000112345678901253" };

const create = (payment_detail: unknown, on = server, of_user = user_id) =>
  on.call("POST", `/users/${of_user}/payment_details`, { payment_detail });
const without = (fields: Fields, ...names: string[]) =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));

/** The status, then `field code` of every problem. */
function refusal(answer: Answer): string[] {
  const errors = (answer.body.errors ?? []) as { field: string; code: string }[];
  const names = errors.map(({ field, code }) => `${field.replace("payment_detail.", "")} ${code}`);
  return [String(answer.status), ...names.sort()];
}

async function countDetails(): Promise<bigint> {
  const [row] = await server.db.database.query<{ count: bigint }>(
    "select count(*) from payment_details",
  );
  return row!.count;
}

describe("the interface's table", () => {
  it.each([
    "account_name",
    "currency",
    "address_line1",
    "city",
    "postal_code",
    "country",
    "beneficiary_type",
    "bank_name",
  ])("%s is required: 400 when it is absent, null or blank", async (field) => {
    for (const value of [undefined, null, "  "]) {
      const answer = await create({ ...EUR, [field]: value });
      expect(answer.body.error_code).toBe("parameter_missing");
      expect(refusal(answer)).toEqual(["400", `${field} parameter_missing`]);
    }
  });

  it.each([
    ["account_name", 140],
    ["bank_name", 140],
    ["address_line1", 140],
    ["address_line2", 140],
    ["city", 100],
    ["state", 100],
    ["postal_code", 20],
  ])("%s has at most %i characters", async (field, characters) => {
    expect((await create({ ...EUR, [field]: "x".repeat(characters) })).status).toBe(200);
    const answer = await create({ ...EUR, [field]: "x".repeat(characters + 1) });
    expect(refusal(answer)).toEqual(["422", `${field} value_too_long`]);
  });

  it("currency is lowercase in the record and accepted in any case; other currencies are refused", async () => {
    expect((await create({ ...EUR, currency: "EUR" })).body.payment_detail.currency).toBe("eur");
    for (const currency of ["xyz", "euro", "usdc"]) {
      const answer = await create({ ...EUR, currency });
      expect(refusal(answer)).toEqual(["422", "currency currency_not_supported"]);
    }
  });

  it("address_line2 is optional", async () => {
    expect((await create(EUR)).body.payment_detail.address_line2).toBeNull();
    const answer = await create({ ...EUR, address_line2: "Flat 3" });
    expect(answer.body.payment_detail.address_line2).toBe("Flat 3");
  });

  it("state is required if the country is US", async () => {
    const answer = await create({ ...USD, country: "US" });
    expect(refusal(answer)).toEqual(["400", "state parameter_missing"]);
    expect((await create({ ...USD, country: "US", state: "NY" })).status).toBe(200);
    expect((await create({ ...USD, country: "PT" })).status).toBe(200);
  });

  it("country is ISO 3166-1 alpha-2, and one that is served", async () => {
    for (const country of ["PRT", "XX", "Portugal"]) {
      expect(refusal(await create({ ...EUR, country }))).toEqual(["422", "country record_invalid"]);
    }
    for (const country of ["KP", "IR", "RU"]) {
      const answer = await create({ ...EUR, country });
      expect(refusal(answer)).toEqual(["422", "country country_not_supported"]);
    }
  });

  it("beneficiary_type is individual or business", async () => {
    const answer = await create({ ...EUR, beneficiary_type: "person" });
    expect(refusal(answer)).toEqual(["422", "beneficiary_type record_invalid"]);
    const business = without({ ...EUR, beneficiary_type: "business" }, "date_of_birth");
    expect((await create(business)).status).toBe(200);
  });

  it("routing_number is required for usd, with its check digit", async () => {
    expect(refusal(await create(without(USD, "routing_number")))).toEqual([
      "400",
      "routing_number parameter_missing",
    ]);
    for (const routing_number of ["021000022", "12345678", "abcdefghi"]) {
      const answer = await create({ ...USD, routing_number });
      expect(refusal(answer)).toEqual(["422", "routing_number record_invalid"]);
    }
    expect((await create(USD)).status).toBe(200);
  });

  it("rib_number is required for mad, with its key", async () => {
    expect(refusal(await create(without(MAD, "rib_number")))).toEqual([
      "400",
      "rib_number parameter_missing",
    ]);
    for (const key of ["52", "54", "76", "00"]) {
      const rib_number = `0077800001123456789012${key}`;
      const answer = await create({ ...MAD, rib_number });
      expect(refusal(answer)).toEqual(["422", "rib_number record_invalid"]);
    }
    const made = await create(MAD);
    expect(made.body.payment_detail?.rib_number, made.text).toBe(MAD.rib_number);
  });

  it.each(["clp", "pen"])("%s without an account number is refused", async (currency) => {
    const list = await server.call(
      "GET",
      `/payment_detail_requirements?currency=${currency}&beneficiary_type=business`,
    );
    const [row] = list.body.payment_detail_requirements as Requirement[];
    const needed = row!.fields.filter((field) => field.required);
    const complete = Object.fromEntries(needed.map(({ name, example }) => [name, example]));
    const answer = await create(without(complete, "account_number"));
    expect(refusal(answer)).toEqual(["400", "account_number parameter_missing"]);
    expect((await create(complete)).status).toBe(200);
  });

  it("zwl is not paid out", async () => {
    const answer = await create({ ...HOLDER, currency: "zwl", account_number: "0012345678" });
    expect(refusal(answer)).toEqual(["422", "currency currency_not_supported"]);
  });

  it("account_number is required for usd", async () => {
    expect(refusal(await create(without(USD, "account_number")))).toEqual([
      "400",
      "account_number parameter_missing",
    ]);
    const answer = await create({ ...USD, account_number: "not a number!" });
    expect(refusal(answer)).toEqual(["422", "account_number record_invalid"]);
  });

  it("an iban for eur may be sent as account_number, and is stored as both", async () => {
    const fields = { ...without(EUR, "iban"), account_number: "de89 3704 0044 0532 0130 00" };
    const answer = await create(fields);
    expect(answer.body.payment_detail).toMatchObject({ iban: "DE89370400440532013000" });
    const wrong = await create({ ...EUR, iban: "DE88370400440532013000" });
    expect(refusal(wrong)).toEqual(["422", "iban record_invalid"]);
  });

  it("rails is local when omitted or blank", async () => {
    for (const rails of [undefined, null, "", "  "]) {
      expect((await create({ ...EUR, rails })).body.payment_detail.rails).toBe("local");
    }
  });

  it("rails is one that the currency offers; wire is for usd only", async () => {
    const wire = await create({ ...USD, rails: "wire" });
    expect(wire.body.payment_detail.rails).toBe("wire");
    for (const rails of ["wire", "pigeon"]) {
      const answer = await create({ ...EUR, rails });
      expect(refusal(answer)).toEqual(["422", "rails rails_not_available"]);
    }
  });

  it("swift needs the bank's code as well", async () => {
    const swift = { ...EUR, rails: "swift" };
    expect(refusal(await create(swift))).toEqual(["400", "swift_bic parameter_missing"]);
    const wrong = await create({ ...swift, swift_bic: "NOBIC" });
    expect(refusal(wrong)).toEqual(["422", "swift_bic record_invalid"]);
    expect((await create({ ...swift, swift_bic: "DEUTDEFF" })).status).toBe(200);
  });

  it("date_of_birth is required for individuals: a real date in the past, both forms", async () => {
    const answer = await create(without(EUR, "date_of_birth"));
    expect(refusal(answer)).toEqual(["400", "date_of_birth parameter_missing"]);
    for (const date_of_birth of ["31/02/1988", "01/01/2999", "1988", "04/21/1988"]) {
      const wrong = await create({ ...EUR, date_of_birth });
      expect(refusal(wrong)).toEqual(["422", "date_of_birth record_invalid"]);
    }
    const iso = await create({ ...EUR, date_of_birth: "1988-04-21" });
    expect(iso.body.payment_detail.date_of_birth).toBe("21/04/1988");
  });

  it("fields beyond the table are refused by name, metadata has limits", async () => {
    const answer = await create({ ...EUR, iban_number: "x" });
    expect(refusal(answer)).toEqual(["422", "iban_number parameter_unknown"]);
    expect(answer.body.message).toMatch(/Did you mean \w+\?/);
    const metadata = { ["k".repeat(41)]: "x" };
    expect(refusal(await create({ ...EUR, metadata }))).toEqual(["422", "metadata value_too_long"]);
    const kept = await create({ ...EUR, metadata: { colour: "red", size: 4 } });
    expect(kept.body.payment_detail.metadata).toEqual({ colour: "red", size: 4 });
  });

  it("400 for a body without payment_detail, 404 for an unknown user", async () => {
    const path = `/users/${user_id}/payment_details`;
    const answer = await server.call("POST", path, {});
    expect(answer.body.error_code).toBe("parameter_missing");
    const unknown = await create(EUR, server, "01900000-0000-7000-8000-000000000000");
    expect(refusal(unknown)).toEqual(["404", "user_id record_not_found"]);
  });
});

describe("the countries of IBAN, BIC and currency", () => {
  const swift = (currency: string, iban: string, swift_bic: string): Fields => {
    return { ...HOLDER, currency, rails: "swift", iban, swift_bic };
  };

  it.each([
    ["an IBAN outside the SEPA area", { iban: "AE070331234567890123456" }],
    ["an IBAN of a neighbour of the SEPA area", { iban: "TR330006100519786457841326" }],
  ])("eur by local refuses %s and names the list", async (_, account) => {
    const answer = await create({ ...EUR, ...account });
    expect(refusal(answer)).toEqual(["422", "iban record_invalid"]);
    expect(answer.body.errors[0].message).toContain("bank_countries");
    const other_field = await create({ ...EUR, iban: null, account_number: account.iban });
    expect(refusal(other_field)).toEqual(["422", "account_number record_invalid"]);
  });

  it.each([
    "GB29NWBK60161331926819",
    "CH9300762011623852957",
    "AL47212110090000000235698741",
    "RS35260005601001611379",
  ])("eur by local accepts %s, of the SEPA area but not of the euro area", async (iban) => {
    expect((await create({ ...EUR, iban })).status).toBe(200);
  });

  it("an aed account has an IBAN and a BIC of the United Arab Emirates", async () => {
    const german = await create(swift("aed", "DE89370400440532013000", "DEUTDEFF"));
    expect(refusal(german)).toEqual(["422", "iban record_invalid", "swift_bic record_invalid"]);
    const mixed = await create(swift("aed", "AE070331234567890123456", "DEUTDEFF"));
    expect(refusal(mixed)).toEqual(["422", "swift_bic record_invalid"]);
    const made = await create(swift("aed", "AE070331234567890123456", "EBILAEAD"));
    expect(made.status, made.text).toBe(200);
  });

  it("an IBAN and a BIC of two countries are refused, also if the BIC is optional", async () => {
    for (const rails of ["swift", "local"]) {
      const answer = await create({ ...EUR, rails, swift_bic: "BNPAFRPP" });
      expect(refusal(answer)).toEqual(["422", "swift_bic record_invalid"]);
    }
    const usd = await create(swift("usd", "DE89370400440532013000", "CHASUS33"));
    expect(refusal(usd)).toEqual(["422", "swift_bic record_invalid"]);
  });

  it("a territory's BIC matches its state's IBAN, and is valid for SEPA by itself", async () => {
    const iban = "FR1420041010050500013M02606";
    expect((await create({ ...EUR, iban, swift_bic: "BRREREPP" })).status).toBe(200);
    const caledonian = { ...EUR, iban, swift_bic: "BNPANCNX" };
    expect(refusal(await create(caledonian))).toEqual(["422", "swift_bic record_invalid"]);
    expect((await create({ ...caledonian, rails: "swift" })).status).toBe(200);
  });

  it.each([
    ["czk", "CZ6508000000192000145399", "GIBACZPX"],
    ["dkk", "DK5000400440116243", "NDEADKKK"],
    ["egp", "EG380019000500000000263180002", "NBEGEGCX"],
    ["ils", "IL620108000000099999999", "LUMIILIT"],
    ["nok", "NO9386011117947", "DNBANOKK"],
    ["ron", "RO49AAAA1B31007593840000", "RNCBROBU"],
    ["sek", "SE4550000000058398257466", "ESSESESS"],
    ["try", "TR330006100519786457841326", "TCZBTR2A"],
  ])("%s is paid to an IBAN of its country, check digits included", async (currency, iban, bic) => {
    const made = await create(swift(currency, iban, bic));
    expect(made.status, made.text).toBe(200);
    const typo = `${iban.slice(0, -1)}${(Number(iban.at(-1)) + 1) % 10}`;
    expect(refusal(await create(swift(currency, typo, bic)))).toEqual([
      "422",
      "iban record_invalid",
    ]);
    const abroad = await create(swift(currency, "PL61109010140000071219812874", "BPKOPLPW"));
    expect(refusal(abroad)).toEqual(["422", "iban record_invalid", "swift_bic record_invalid"]);
  });

  it("vnd and krw are paid to an account with a BIC of their country", async () => {
    const vnd = { ...HOLDER, currency: "vnd", rails: "swift", account_number: "0011004212345" };
    expect((await create({ ...vnd, swift_bic: "BFTVVNVX" })).status).toBe(200);
    expect(refusal(await create({ ...vnd, swift_bic: "BKKBTHBK" }))).toEqual([
      "422",
      "swift_bic record_invalid",
    ]);
    const krw = { ...vnd, currency: "krw", swift_bic: "KOEXKRSE" };
    expect(refusal(await create(krw))).toEqual(["400", "bank_code parameter_missing"]);
    expect((await create({ ...krw, bank_code: "081" })).status).toBe(200);
  });
});

describe("the record", () => {
  const FIELDS = [
    ...["id", "user_id", "status", "created_at", "updated_at", "metadata"],
    ...["account_name", "currency", "address_line1", "address_line2", "city", "state"],
    ...["postal_code", "country", "beneficiary_type", "routing_number", "bank_name", "rib_number"],
    ...["rails", "date_of_birth", "account_number", "iban", "swift_bic", "sort_code"],
    ...["bsb_number", "bank_code", "branch_code", "ncc", "ifsc", "account_type"],
    ...["document_type", "document_number", "company_number", "phone", "neighbourhood"],
    ...["activity", "nationality", "gender"],
  ];

  it("has every field, absent ones null, and is shown and listed the same", async () => {
    const owner = await createUser(server, "owner@example.com");
    const { payment_detail } = (await create(EUR, server, owner)).body;
    expect(Object.keys(payment_detail).sort()).toEqual([...FIELDS].sort());
    const expected = Object.fromEntries(FIELDS.map((field) => [field, null]));
    expect(payment_detail).toEqual({
      ...expected,
      ...EUR,
      id: expect.any(String),
      user_id: owner,
      status: "approved",
      rails: "local",
      metadata: {},
      created_at: expect.any(String),
      updated_at: payment_detail.created_at,
    });
    const path = `/users/${owner}/payment_details`;
    const shown = await server.call("GET", `${path}/${payment_detail.id}`);
    expect(shown.body).toEqual({ payment_detail });
    const listed = await server.call("GET", path);
    expect(listed.body).toEqual({ payment_details: [payment_detail], has_more: false });
  });

  it("lists are newest first, paged, and filtered by status", async () => {
    const owner = await createUser(server, "lister@example.com");
    const ids: string[] = [];
    for (let count = 0; count < 3; count += 1) {
      ids.unshift((await create(EUR, server, owner)).body.payment_detail.id);
    }
    const path = `/users/${owner}/payment_details`;
    await server.call("PATCH", `${path}/${ids[1]}/deactivate`);
    const list = async (query: string) => {
      const { body } = await server.call("GET", `${path}?${query}`);
      return [body.payment_details.map((detail: { id: string }) => detail.id), body.has_more];
    };
    expect(await list("")).toEqual([ids, false]);
    expect(await list("limit=2")).toEqual([ids.slice(0, 2), true]);
    expect(await list(`limit=2&starting_after=${ids[1]}`)).toEqual([[ids[2]], false]);
    expect(await list("status=deactivated")).toEqual([[ids[1]], false]);
    expect(await list("status=approved")).toEqual([[ids[0], ids[2]], false]);
    const wrong = await server.call("GET", `${path}?status=gone`);
    expect(refusal(wrong)).toEqual(["422", "status record_invalid"]);
  });

  it("deactivating is permanent and safe to repeat", async () => {
    const { id } = (await create(EUR)).body.payment_detail;
    const path = `/users/${user_id}/payment_details/${id}`;
    const first = await server.call("PATCH", `${path}/deactivate`);
    expect(first.body.payment_detail).toMatchObject({ id, status: "deactivated" });
    const second = await server.call("PATCH", `${path}/deactivate`);
    expect([second.status, second.text]).toEqual([200, first.text]);
    const both = await Promise.all([1, 2, 3].map(() => server.call("PATCH", `${path}/deactivate`)));
    expect(both.map((answer) => answer.text)).toEqual([first.text, first.text, first.text]);
    expect((await server.call("GET", path)).text).toBe(first.text);
  });
});

describe("POST …/payment_details/validate", () => {
  const validate = (payment_detail: unknown, of_user = user_id) =>
    server.call("POST", `/users/${of_user}/payment_details/validate`, { payment_detail });

  it("answers 200 with the problems that creation would report, and stores nothing", async () => {
    const before = await countDetails();
    const good = await validate(EUR);
    expect(good.status).toBe(200);
    expect(good.body).toEqual({ payment_detail: { valid: true, errors: [] } });
    const faulty = { ...EUR, iban: "DE00", city: null, shoe_size: "43", country: "KP" };
    const bad = await validate(faulty);
    expect(bad.status).toBe(200);
    expect(bad.body.payment_detail.valid).toBe(false);
    const refused = await create(faulty);
    expect(bad.body.payment_detail.errors).toEqual(refused.body.errors);
    expect(await countDetails()).toBe(before);
  });

  it("404 for an unknown user, 400 without a payment detail", async () => {
    const unknown = await validate(EUR, "01900000-0000-7000-8000-000000000000");
    expect(refusal(unknown)).toEqual(["404", "user_id record_not_found"]);
    for (const nothing of [undefined, null]) {
      expect((await validate(nothing)).body.error_code).toBe("parameter_missing");
    }
  });
});

type Requirement = {
  currency: string;
  rails: string;
  beneficiary_type: string;
  fields: { name: string; required: boolean; example: string }[];
  one_of: string[][];
};

describe("optional identifiers", () => {
  it.each([
    ["an account number that is no part of the IBAN", { account_number: "garbage!" }],
    ["another IBAN as account number", { account_number: "FR1420041010050500013M02606" }],
    ["a RIB that is no part of the IBAN", { rib_number: "x" }],
  ])("422 record_invalid: %s", async (_name, extra) => {
    const answer = await create({ ...EUR, ...extra });
    expect(answer.status).toBe(422);
    expect(answer.body.errors.map((error: { code: string }) => error.code)).toEqual([
      "record_invalid",
    ]);
  });

  it("are stored if they name the same account", async () => {
    const answer = await create({ ...EUR, account_number: EUR.iban });
    expect(answer.status, answer.text).toBe(200);
  });
});

describe("GET /payment_detail_requirements", () => {
  const ask = async (query = ""): Promise<Requirement[]> =>
    (await server.call("GET", `/payment_detail_requirements${query}`)).body
      .payment_detail_requirements;

  it("describes payment details that can be created from the required fields alone", async () => {
    const rows = await ask();
    expect(new Set(rows.map((row) => row.currency)).size).toBeGreaterThan(20);
    const bodies = rows.flatMap((row) =>
      (row.one_of.length > 0 ? row.one_of : [[]]).map((set) => {
        const wanted = row.fields.filter((field) => field.required || set.includes(field.name));
        return {
          rails: row.rails,
          body: Object.fromEntries(wanted.map((field) => [field.name, field.example])),
        };
      }),
    );
    const answers = await Promise.all(bodies.map(({ body }) => create(body)));
    const wrong = answers.flatMap(({ body }, at) =>
      body.payment_detail?.rails === bodies[at]!.rails ? [] : [{ sent: bodies[at], got: body }],
    );
    expect(wrong).toEqual([]);
  });

  it("can be filtered by each of its three parameters", async () => {
    const rows = await ask("?currency=USD&rails=wire&beneficiary_type=business");
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({ currency: "usd", rails: "wire", beneficiary_type: "business" });
    expect(new Set((await ask("?currency=eur")).map((row) => row.currency))).toEqual(
      new Set(["eur"]),
    );
    const unserved = await server.call("GET", "/payment_detail_requirements?currency=xyz&rails=x");
    expect(unserved.body.errors.map((error: { code: string }) => error.code)).toEqual([
      "currency_not_supported",
      "rails_not_available",
    ]);
    const wrong = await server.call("GET", "/payment_detail_requirements?beneficiary_type=x");
    expect(refusal(wrong)).toEqual(["422", "beneficiary_type record_invalid"]);
    const unknown = await server.call("GET", "/payment_detail_requirements?curency=eur");
    expect(unknown.body.message).toContain("Did you mean currency?");
  });
});

describe("with SLIPROAD_KYC_ENFORCEMENT=payment_detail", () => {
  let strict: TestServer;
  beforeAll(async () => {
    const environment = { SLIPROAD_KYC_ENFORCEMENT: "payment_detail" };
    strict = await startTestServer({ beside: server, environment });
  });
  afterAll(() => strict.app.close());

  it("422 not_yet_passed_kyc_kyb until the user is approved", async () => {
    const id = await createUser(strict, "unchecked@example.com");
    const answer = await create(EUR, strict, id);
    expect(refusal(answer)).toEqual(["422", "payment_detail not_yet_passed_kyc_kyb"]);
    await approve(id, "approved", "approved");
    expect((await create(EUR, strict, id)).status).toBe(200);
  });

  it("422 not_approved_for_payout_rail for swift without the currency's clearance", async () => {
    const id = await createUser(strict, "half-cleared@example.com");
    await approve(id, "approved", "not_started");
    const usd = { ...USD, rails: "swift", swift_bic: "CHASUS33" };
    expect((await create(usd, strict, id)).status).toBe(200);
    const eur = { ...EUR, rails: "swift", swift_bic: "DEUTDEFF" };
    expect(refusal(await create(eur, strict, id))).toEqual([
      "422",
      "payment_detail not_approved_for_payout_rail",
    ]);
    expect((await create(EUR, strict, id)).status).toBe(200);
  });

  it("the other settings need no approval to register an account", async () => {
    const id = await createUser(server, "relaxed@example.com");
    expect((await create(EUR, server, id)).status).toBe(200);
  });

  async function approve(id: string, usd_swift: KycStatus, eur_swift: KycStatus): Promise<void> {
    const { core, account_id } = server;
    const usd = { status: "approved", swift_status: usd_swift } as const;
    const eur = { status: "approved", swift_status: eur_swift } as const;
    const general = { status: "approved", moderation_comment: null } as const;
    await core.database.transaction(async (tx) => {
      const locked = await lockKycUser(tx, core.keyring, { account_id, user_id: id });
      recordKycs(tx, locked!, [{ general, usd, eur }], core.clock.now());
    });
  }
});

describe("SLIPROAD_CATALOGUE_FILE", () => {
  const startWith = async (name: string, text: string) => {
    const file = join(server.data_dir, name);
    await writeFile(file, text);
    return startTestServer({ beside: server, environment: { SLIPROAD_CATALOGUE_FILE: file } });
  };

  it("changes rails and blocked countries as the operator configures", async () => {
    const content = { rails: { usd: ["local"], gbp: [] }, blocked_countries: ["PT"] };
    const own = await startWith("own.json", JSON.stringify(content));
    try {
      const wire = await create({ ...USD, rails: "wire", country: "SY" }, own);
      expect(refusal(wire)).toEqual(["422", "rails rails_not_available"]);
      const blocked = await create(EUR, own);
      expect(refusal(blocked)).toEqual(["422", "country country_not_supported"]);
      const rows = (await own.call("GET", "/payment_detail_requirements?currency=gbp")).body;
      expect(rows.error_code).toBe("currency_not_supported");
    } finally {
      await own.app.close();
    }
  });

  it.each([
    ["is no JSON", "{"],
    ["has an unknown part", '{"rail":{}}'],
    ["offers a rail without its fields", '{"rails":{"mxn":["local","swift"]}}'],
  ])("one that %s stops the start with one message", async (_name, text) => {
    const error = await startWith("broken.json", text).catch((reason) => reason);
    expect(error).toBeInstanceOf(StartupError);
    expect(error.message).toMatch(/^SLIPROAD_CATALOGUE_FILE: [^\n]+\.$/);
  });

  it("a missing file stops the start with one message", async () => {
    const environment = { SLIPROAD_CATALOGUE_FILE: "/nowhere/catalogue.json" };
    const error = await startTestServer({ beside: server, environment }).catch((reason) => reason);
    expect(error).toBeInstanceOf(StartupError);
    expect(error.message).toContain("/nowhere/catalogue.json");
  });
});

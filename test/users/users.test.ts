import { writeFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BLOCKED_COUNTRIES } from "../../src/catalogue/countries.ts";
import { USERS } from "../../src/users/vouched-users.ts";
import { type Answer, startTestServer, type TestServer } from "../harness/server.ts";
import { vouch } from "../harness/vouch.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

let made = 0;
function individual(): Record<string, unknown> {
  made += 1;
  const email = `person${made}@example.com`;
  return { beneficiary_type: "individual", email, first_name: "Ina", last_name: "Vented" };
}

function business(): Record<string, unknown> {
  const { email } = individual();
  return { beneficiary_type: "business", email, company_name: "Invented Ltd" };
}

const FULL = {
  date_of_birth: "28/02/1990",
  address_line1: "1 Invented Street",
  address_line2: "Flat 2",
  city: "New York",
  state: "NY",
  postcode: "10001",
  country: "US",
  nationality: "PT",
  phone: "+12125550100",
  ssn: "078-05-1120",
  source_of_funds: "salary",
  business_activity: "trade",
  metadata: { reference: "A-1", rank: 3, vip: true },
};

function create(user: unknown, key?: string): Promise<Answer> {
  return server.call("POST", "/users", { user }, key === undefined ? {} : { key });
}

async function createdId(user: unknown = individual()): Promise<string> {
  const answer = await create(user);
  expect(answer.status, answer.text).toBe(200);
  return answer.body.user.id;
}

function patch(id: string, user: unknown): Promise<Answer> {
  return server.call("PATCH", `/users/${id}`, { user });
}

/** The status, then `field code` of every problem. */
function refusal(answer: Answer): string[] {
  const errors = (answer.body.errors ?? []) as { field: string; code: string }[];
  return [String(answer.status), ...errors.map(({ field, code }) => `${field} ${code}`).sort()];
}

async function setKyc(id: string, status: string): Promise<void> {
  await server.db.database.query("update users set kyc_status = $1 where id = $2", [status, id]);
  await vouch(server.db.database, USERS);
}

describe("POST /users", () => {
  it("creates and shows a user, with every absent field null", async () => {
    const answer = await create({
      ...individual(),
      email: "Ana.Invented@Example.com",
      date_of_birth: "1990-02-28",
    });
    expect(answer.status).toBe(200);
    const { user } = answer.body;
    expect(user).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-/),
      beneficiary_type: "individual",
      email: "ana.invented@example.com",
      first_name: "Ina",
      last_name: "Vented",
      company_name: null,
      date_of_birth: "28/02/1990",
      address_line1: null,
      address_line2: null,
      city: null,
      state: null,
      postcode: null,
      country: null,
      nationality: null,
      phone: null,
      ssn: null,
      source_of_funds: null,
      business_activity: null,
      metadata: {},
      kyc: {
        general: { status: "not_started", moderation_comment: null },
        usd: { status: "not_started", swift_status: "not_started" },
        eur: { status: "not_started", swift_status: "not_started" },
      },
      deactivated_at: null,
      created_at: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/),
      updated_at: user.created_at,
    });
    const shown = await server.call("GET", `/users/${user.id}`);
    expect(shown.text).toBe(answer.text);
  });

  it("stores and shows every optional field", async () => {
    const answer = await create({ ...individual(), ...FULL });
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body.user).toMatchObject(FULL);
  });

  it("requires first and last name for an individual, the company name for a business", async () => {
    const { first_name: _f, last_name: _l, ...nameless } = individual();
    expect(refusal(await create(nameless))).toEqual([
      "400",
      "user.first_name parameter_missing",
      "user.last_name parameter_missing",
    ]);
    const { company_name: _c, ...unnamed } = business();
    expect(refusal(await create(unnamed))).toEqual(["400", "user.company_name parameter_missing"]);
    expect((await create(business())).status).toBe(200);
  });

  it("requires type and e-mail, and reports both together", async () => {
    expect(refusal(await create({}))).toEqual([
      "400",
      "user.beneficiary_type parameter_missing",
      "user.email parameter_missing",
    ]);
    expect(refusal(await server.call("POST", "/users", {}))).toContain("user parameter_missing");
  });

  it.each([
    ["beneficiary_type", "person"],
    ["beneficiary_type", "Individual"],
    ["email", "no-at.example.com"],
    ["email", "two@@example.com"],
    ["email", "spa ce@example.com"],
    ["email", "a@nodot"],
    ["date_of_birth", "31/02/1990"],
    ["date_of_birth", "02/31/1990"],
    ["date_of_birth", "1990-2-8"],
    ["date_of_birth", "01/01/2999"],
    ["date_of_birth", "01/01/1850"],
    ["country", "PRT"],
    ["country", "XX"],
    ["nationality", "Portugal"],
    ["phone", "0123456"],
    ["phone", "+0123456789"],
    ["phone", "+1234567890123456"],
    ["first_name", "line\nbreak"],
    ["first_name", 7],
    ["city", ["Lisbon"]],
    ["metadata", "text"],
    ["metadata", { nested: {} }],
  ])("422 record_invalid for %s = %j", async (field, value) => {
    const problems = refusal(await create({ ...individual(), [field]: value }));
    expect(problems[0]).toBe("422");
    expect(problems.slice(1)).toEqual([
      expect.stringMatching(new RegExp(`^user\\.${field}(\\.nested)? record_invalid$`)),
    ]);
  });

  it.each([
    ["email", `${"x".repeat(250)}@example.com`],
    ["first_name", "x".repeat(101)],
    ["last_name", "x".repeat(101)],
    ["company_name", "x".repeat(141)],
    ["address_line1", "x".repeat(141)],
    ["postcode", "1".repeat(21)],
    ["ssn", "1".repeat(51)],
    ["source_of_funds", "x".repeat(501)],
    ["metadata", { ["k".repeat(41)]: "x" }],
  ])("422 value_too_long for %s", async (field, value) => {
    const problems = refusal(await create({ ...individual(), [field]: value }));
    expect(problems).toEqual(["422", `user.${field} value_too_long`]);
  });

  it("a state in the United States has two letters, in any case", async () => {
    const wrong = { ...individual(), country: "US", state: "New York" };
    expect(refusal(await create(wrong))).toEqual(["422", "user.state record_invalid"]);
    const right = await create({ ...individual(), country: "us", state: "ny" });
    expect(right.body.user).toMatchObject({ country: "US", state: "NY" });
    const elsewhere = await create({ ...individual(), country: "PT", state: "Lisboa" });
    expect(elsewhere.body.user.state).toBe("Lisboa");
  });

  it("an e-mail address is unique within the account, in any case", async () => {
    const user = { ...individual(), email: "Twice@Example.com" };
    expect((await create(user)).status).toBe(200);
    const again = { ...individual(), email: "twice@eXample.COM" };
    expect(refusal(await create(again))).toEqual(["422", "user.email record_not_unique"]);
    const other = await server.addAccount("Neighbour");
    expect((await create(user, other.key)).status).toBe(200);
  });

  it("of many concurrent requests with one e-mail, to two servers, one creates a user", async () => {
    const beside = await startTestServer({ beside: server });
    try {
      const user = { ...individual(), email: "rush@example.com" };
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          (n % 2 === 0 ? server : beside).call("POST", "/users", { user }),
        ),
      );
      expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1);
      const others = answers.filter((answer) => answer.status !== 200);
      expect(new Set(others.map((answer) => answer.body.error_code))).toEqual(
        new Set(["record_not_unique"]),
      );
    } finally {
      await beside.app.close();
    }
  });

  it.each(BLOCKED_COUNTRIES)("422 country_not_supported for a user in %s", async (country) => {
    const problems = refusal(await create({ ...individual(), country }));
    expect(problems).toEqual(["422", "user.country country_not_supported"]);
  });

  it("a nationality of a blocked country is allowed: the person may live elsewhere", async () => {
    const answer = await create({ ...individual(), country: "PT", nationality: "SY" });
    expect(answer.body.user).toMatchObject({ country: "PT", nationality: "SY" });
  });

  it("dates are accepted in both formats and returned as DD/MM/YYYY, also founding dates", async () => {
    for (const date_of_birth of ["29/02/2000", "2000-02-29"]) {
      const answer = await create({ ...individual(), date_of_birth });
      expect(answer.body.user.date_of_birth).toBe("29/02/2000");
    }
    const old = await create({ ...business(), date_of_birth: "1668-05-01" });
    expect(old.body.user.date_of_birth).toBe("01/05/1668");
  });

  it("today is not in the past", async () => {
    const today = server.core.clock.now().toISOString().slice(0, 10);
    const problems = refusal(await create({ ...business(), date_of_birth: today }));
    expect(problems).toEqual(["422", "user.date_of_birth record_invalid"]);
  });

  it("a phone number is stored without separators", async () => {
    const answer = await create({ ...individual(), phone: "+351 (21) 000-0000" });
    expect(answer.body.user.phone).toBe("+351210000000");
  });

  it("metadata has at most 50 keys", async () => {
    const keys = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`key${n}`, "x".repeat(500)]));
    expect((await create({ ...individual(), metadata: keys(50) })).status).toBe(200);
    const problems = refusal(await create({ ...individual(), metadata: keys(51) }));
    expect(problems).toEqual(["422", "user.metadata record_invalid"]);
  });
});

describe("GET /users", () => {
  it("lists the account's own users, filtered by the general KYC status", async () => {
    const account = await server.addAccount("Listed");
    const options = { key: account.key };
    const first = (await create(individual(), account.key)).body.user;
    const second = (await create(business(), account.key)).body.user;
    await setKyc(second.id, "approved");
    const ids = async (query: string) =>
      (await server.call("GET", `/users${query}`, undefined, options)).body.users.map(
        (user: { id: string }) => user.id,
      );
    expect(await ids("")).toEqual([second.id, first.id]);
    expect(await ids("?status=approved")).toEqual([second.id]);
    expect(await ids("?status=not_started")).toEqual([first.id]);
    expect(await ids("?status=failed")).toEqual([]);
  });

  it("shows the current KYC map", async () => {
    const id = await createdId();
    await server.db.database.query(
      `update users set kyc_status = 'approved', kyc_usd_status = 'approved',
         kyc_usd_swift_status = 'failed', kyc_eur_status = 'suspended',
         kyc_eur_swift_status = 'retry_required' where id = $1`,
      [id],
    );
    const { body } = await server.call("GET", `/users/${id}`);
    expect(body.user.kyc).toEqual({
      general: { status: "approved", moderation_comment: null },
      usd: { status: "approved", swift_status: "failed" },
      eur: { status: "suspended", swift_status: "retry_required" },
    });
  });
});

describe("PATCH /users/:user_id", () => {
  it("changes only the fields that are sent", async () => {
    const before = (await create({ ...individual(), ...FULL })).body.user;
    const answer = await patch(before.id, { city: "Albany", phone: "+15185550100" });
    expect(answer.status).toBe(200);
    expect(answer.body.user).toEqual({
      ...before,
      city: "Albany",
      phone: "+15185550100",
      updated_at: expect.any(String),
    });
    expect(answer.body.user.updated_at >= before.updated_at).toBe(true);
    expect((await server.call("GET", `/users/${before.id}`)).text).toBe(answer.text);
  });

  it("null and blank clear a field; metadata is replaced as a whole", async () => {
    const id = await createdId({ ...individual(), ...FULL });
    const cleared = await patch(id, { phone: null, ssn: " ", metadata: { only: "this" } });
    expect(cleared.body.user).toMatchObject({ phone: null, ssn: null, metadata: { only: "this" } });
    expect((await patch(id, { metadata: null })).body.user.metadata).toEqual({});
  });

  it.each(["email", "first_name", "last_name"])(
    "400 when the required %s would be cleared",
    async (field) => {
      const id = await createdId();
      const answer = await patch(id, { [field]: null });
      expect(refusal(answer)).toEqual(["400", `user.${field} parameter_missing`]);
    },
  );

  it("applies the rules of creation, and a refused change changes nothing", async () => {
    const id = await createdId();
    const before = await server.call("GET", `/users/${id}`);
    const change = { city: "Porto", country: "KP", phone: "x", shoe_size: 43 };
    expect(refusal(await patch(id, change))).toEqual([
      "422",
      "user.country country_not_supported",
      "user.phone record_invalid",
      "user.shoe_size parameter_unknown",
    ]);
    expect(refusal(await patch(id, { beneficiary_type: "business" }))).toEqual([
      "422",
      "user.beneficiary_type parameter_unknown",
    ]);
    expect((await server.call("GET", `/users/${id}`)).text).toBe(before.text);
  });

  it("a state must match the country, whether sent together or not", async () => {
    const id = await createdId({ ...individual(), country: "PT", state: "Lisboa" });
    expect(refusal(await patch(id, { country: "US" }))).toEqual([
      "422",
      "user.state record_invalid",
    ]);
    const moved = await patch(id, { country: "US", state: "ny" });
    expect(moved.body.user).toMatchObject({ country: "US", state: "NY" });
  });

  it("a value accepted under earlier rules does not block changes of other fields", async () => {
    const beside = await startTestServer({
      beside: server,
      environment: { SLIPROAD_CATALOGUE_FILE: await catalogueFile({ blocked_countries: ["PT"] }) },
    });
    try {
      const id = await createdId({ ...individual(), country: "PT", city: "Lisbon" });
      const answer = await beside.call("PATCH", `/users/${id}`, { user: { city: "Porto" } });
      expect(answer.body.user).toMatchObject({ country: "PT", city: "Porto" });
      const again = await beside.call("PATCH", `/users/${id}`, { user: { country: "PT" } });
      expect(refusal(again)).toEqual(["422", "user.country country_not_supported"]);
    } finally {
      await beside.app.close();
    }
  });

  it("an e-mail address can be changed to a free one, and the old one becomes free", async () => {
    const id = await createdId({ ...individual(), email: "old@example.com" });
    const other = await createdId({ ...individual(), email: "other@example.com" });
    expect(refusal(await patch(id, { email: "OTHER@example.com" }))).toEqual([
      "422",
      "user.email record_not_unique",
    ]);
    expect((await patch(id, { email: "OLD@example.com" })).status).toBe(200);
    expect((await patch(id, { email: "new@example.com" })).status).toBe(200);
    expect((await patch(other, { email: "old@example.com" })).body.user.email).toBe(
      "old@example.com",
    );
  });

  it.each(["approved", "suspended"])(
    "422 invalid_transition on the identity of a user who is %s, while metadata may change",
    async (status) => {
      const id = await createdId();
      await setKyc(id, status);
      expect(refusal(await patch(id, { city: "Porto" }))).toEqual([
        "422",
        "user invalid_transition",
      ]);
      expect(refusal(await patch(id, { first_name: null, metadata: {} }))).toEqual([
        "400",
        "user invalid_transition",
        "user.first_name parameter_missing",
      ]);
      const answer = await patch(id, { metadata: { tier: "gold" } });
      expect(answer.body.user.metadata).toEqual({ tier: "gold" });
    },
  );

  it("identity may change until the approval", async () => {
    const id = await createdId();
    for (const status of ["initiated", "awaiting_manual_review", "retry_required", "failed"]) {
      await setKyc(id, status);
      expect((await patch(id, { city: status })).body.user.city).toBe(status);
    }
  });

  it("no concurrent change is lost", async () => {
    const id = await createdId();
    const fields = [
      "city",
      "postcode",
      "address_line1",
      "address_line2",
      "ssn",
      "business_activity",
    ];
    const answers = await Promise.all(fields.map((field) => patch(id, { [field]: field })));
    expect(answers.map((answer) => answer.status)).toEqual(fields.map(() => 200));
    const { user } = (await server.call("GET", `/users/${id}`)).body;
    for (const field of fields) expect(user[field]).toBe(field);
  });

  it("400 for an empty body, 404 for an unknown user", async () => {
    const id = await createdId();
    expect((await server.call("PATCH", `/users/${id}`)).body.error_code).toBe("parameter_missing");
    const unknown = await patch("01900000-0000-7000-8000-000000000000", { city: "Porto" });
    expect(refusal(unknown)).toEqual(["404", "user_id record_not_found"]);
  });
});

async function catalogueFile(content: unknown): Promise<string> {
  const file = `${server.data_dir}/catalogue-${made}.json`;
  await writeFile(file, JSON.stringify(content));
  return file;
}

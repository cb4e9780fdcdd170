import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { claimUnfunded } from "../../src/offramps/claim-store.ts";
import { SET_BYTES_MAX } from "../../src/platform/tasks/split-by-bytes.ts";
import { addApprovedUser, addPaymentDetail, addQuote, execute } from "../harness/ramp.ts";
import { type Answer, startTestServer, type TestServer } from "../harness/server.ts";
import { advance, EXPIRY_MS, findFault, good, openStory } from "./story.ts";

type Detail = "eur" | "eur_swift" | "usd" | "usd_swift" | "mxn";

let server: TestServer;
let user_id: string;
let details: Record<Detail, string>;
beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
  user_id = await addApprovedUser(server);
  details = {
    eur: await addPaymentDetail(server, user_id, "eur"),
    eur_swift: await addPaymentDetail(server, user_id, "eur_swift"),
    usd: await addPaymentDetail(server, user_id, "usd"),
    usd_swift: await addPaymentDetail(server, user_id, "usd_swift"),
    mxn: await addPaymentDetail(server, user_id, "mxn"),
  };
});
afterAll(async () => {
  expect(await findFault(server)).toBeNull();
  await server.close();
});

const URL = "https://files.test/invoice.pdf";
const document = { supporting_document_attributes: { submitted_url: URL } };

type Item = Record<string, unknown>;

/** An item for one of the user's bank accounts. */
const item = (detail: Detail, amount: number | string, more: Item = {}): Item => ({
  payment_detail_id: details[detail],
  destination_amount: amount,
  destination_currency: detail.slice(0, 3),
  ...more,
});

async function add(items: unknown, quote_id?: string): Promise<Answer> {
  const id = quote_id ?? (await addQuote(server, user_id));
  return server.call("POST", `/users/${user_id}/quotes/${id}/offramps`, { offramps: items });
}

const addOne = (detail: Detail, amount: number | string, more: Item = {}) =>
  add([item(detail, amount, more)]);

async function expectProblem(
  answering: Promise<Answer>,
  field: string,
  code: string,
  status = 422,
): Promise<void> {
  const answer = await answering;
  expect(answer.body.errors, answer.text).toMatchObject([{ field, code }]);
  expect(answer.body.error_code).toBe(code);
  expect(answer.status).toBe(status);
}

describe("a request as a whole", () => {
  it("400 without items or without the array, 422 with more than 500 items", async () => {
    await expectProblem(add([]), "offramps", "parameter_missing", 400);
    await expectProblem(add(undefined), "offramps", "parameter_missing", 400);
    const many = Array.from({ length: 501 }, () => item("eur", 1));
    await expectProblem(add(many), "offramps", "record_invalid");
  });

  it("accepts 500 items and keeps their order", async () => {
    const quote_id = await addQuote(server, user_id);
    const items = Array.from({ length: 500 }, (_, index) => item("eur", index + 1));
    const { offramps } = good(await add(items, quote_id));
    expect(offramps.map((one: Item) => one.destination_amount)).toEqual(
      items.map((one) => one.destination_amount),
    );
    const shown = good(await server.call("GET", `/users/${user_id}/quotes/${quote_id}`));
    expect(shown.offramps.map((one: Item) => one.id)).toEqual(offramps.map((one: Item) => one.id));
    good(await add([item("eur", 1)], quote_id));
    const more = good(await server.call("GET", `/users/${user_id}/quotes/${quote_id}`));
    expect(more.offramps.length).toBe(500);
    expect(more.has_more_offramps).toBe(true);
  });

  it("creates all or none: one bad item leaves the quote unchanged, and every problem is reported", async () => {
    const quote_id = await addQuote(server, user_id);
    const answer = await add(
      [
        item("eur", 10),
        item("eur", 0.5),
        { ...item("usd", 50), payment_detail_id: crypto.randomUUID() },
        item("usd", 10_001, { refrence: "typo" }),
        { ...item("eur", 5), payment_detail_id: "nonsense", destination_currency: null },
      ],
      quote_id,
    );
    expect(answer.body.error_code).toBe("parameter_unknown");
    const found = answer.body.errors.map((one: Item) => [one.field, one.code]);
    expect(new Map(found)).toEqual(
      new Map([
        ["offramps[1].destination_amount", "below_currency_limit"],
        ["offramps[2].payment_detail_id", "record_not_found"],
        ["offramps[3].refrence", "parameter_unknown"],
        [
          "offramps[3].supporting_document_attributes.submitted_url",
          "supporting_document_required",
        ],
        ["offramps[4].payment_detail_id", "record_invalid"],
        ["offramps[4].destination_currency", "parameter_missing"],
      ]),
    );
    const { quote } = good(await server.call("GET", `/users/${user_id}/quotes/${quote_id}`));
    expect(quote.deposit_token_amount).toBe(0);
  });

  it("404 for an unknown quote, another user's quote, or a malformed id", async () => {
    const other_user = await addApprovedUser(server);
    const foreign = await addQuote(server, other_user);
    for (const id of [crypto.randomUUID(), foreign, "nonsense"]) {
      const answer = await add([item("eur", 10)], id);
      expect(answer.status, answer.text).toBe(404);
      expect(answer.body.error_code).toBe("record_not_found");
    }
  });
});

describe("the payment detail", () => {
  it("404 when it belongs to another user or another account", async () => {
    const other_user = await addApprovedUser(server);
    const foreign = await addPaymentDetail(server, other_user, "eur");
    const more = { payment_detail_id: foreign };
    await expectProblem(
      addOne("eur", 10, more),
      "offramps[0].payment_detail_id",
      "record_not_found",
      404,
    );
  });

  it("422 when it was deactivated or refused; a pending one is checked at execution", async () => {
    const set = async (status: string) => {
      const id = await addPaymentDetail(server, user_id, "eur");
      const path = `/sandbox/users/${user_id}/payment_details/${id}`;
      good(await server.call("PATCH", path, { payment_detail: { status } }));
      return id;
    };
    const field = "offramps[0].payment_detail_id";
    const gone = { payment_detail_id: await set("deactivated") };
    await expectProblem(addOne("eur", 10, gone), field, "payment_detail_deactivated");
    const refused = { payment_detail_id: await set("failed") };
    await expectProblem(addOne("eur", 10, refused), field, "payment_detail_not_approved");
    const pending = { payment_detail_id: await set("pending") };
    const quote_id = await addQuote(server, user_id);
    good(await add([item("eur", 10, pending)], quote_id));
    const executed = await execute(server, user_id, quote_id);
    expect(executed.body.error_code).toBe("payment_detail_not_approved");
  });

  it("422 when its currency differs, or is not paid out", async () => {
    const field = "offramps[0].destination_currency";
    await expectProblem(
      addOne("eur", 10, { destination_currency: "usd" }),
      field,
      "currency_mismatch",
    );
    await expectProblem(
      addOne("eur", 10, { destination_currency: "xxx" }),
      field,
      "currency_not_supported",
    );
    good(await addOne("eur", 10, { destination_currency: " EUR " }));
  });
});

describe("the rail", () => {
  const railOf = async (answering: Promise<Answer>) => good(await answering).offramps[0].rails;

  it("in eur is always the payment detail's", async () => {
    expect(await railOf(addOne("eur", 40))).toBe("local");
    expect(await railOf(addOne("eur", 40, { rails: "swift" }))).toBe("local");
    expect(await railOf(addOne("eur_swift", 40, { rails: "local", ...document }))).toBe("swift");
  });

  it("in other currencies is the requested one, else the payment detail's", async () => {
    expect(await railOf(addOne("usd", 40))).toBe("local");
    expect(await railOf(addOne("usd", 40, { rails: "wire" }))).toBe("wire");
    expect(await railOf(addOne("usd", 40, { rails: "SWIFT", ...document }))).toBe("swift");
    expect(await railOf(addOne("usd_swift", 40, document))).toBe("swift");
  });

  it("422 when the currency does not offer it, the account lacks its fields, or it does not exist", async () => {
    const field = "offramps[0].rails";
    await expectProblem(addOne("mxn", 4000, { rails: "swift" }), field, "rails_not_available");
    await expectProblem(addOne("mxn", 4000, { rails: "wire" }), field, "rails_not_available");
    await expectProblem(addOne("usd_swift", 40, { rails: "local" }), field, "rails_not_available");
    await expectProblem(addOne("usd", 40, { rails: "pigeon" }), field, "rails_not_available");
  });
});

describe("minimums and documents, on the rail that is used", () => {
  it.each<[Detail, number, number, Item]>([
    ["usd", 1, 0.99, {}],
    ["usd", 30, 29.99, { rails: "swift", ...document }],
    ["eur", 1, 0.99, {}],
    // In eur the payment detail's rail applies, so its minimum does too.
    ["eur", 1, 0.99, { rails: "swift" }],
    ["eur_swift", 30, 29.99, { rails: "local", ...document }],
    ["mxn", 400, 399.99, {}],
  ])("%s: %d passes, %d is below the minimum", async (detail, minimum, less, more) => {
    good(await addOne(detail, minimum, more));
    const field = "offramps[0].destination_amount";
    await expectProblem(addOne(detail, less, more), field, "below_currency_limit");
  });

  const field = "offramps[0].supporting_document_attributes.submitted_url";
  it.each<[Detail, number, number]>([
    ["usd", 10_000, 10_000.01],
    ["eur", 15_000, 15_000.01],
  ])("%s: %d needs no document, %d does", async (detail, at, above) => {
    good(await addOne(detail, at));
    await expectProblem(addOne(detail, above), field, "supporting_document_required");
    const { offramps } = good(await addOne(detail, above, document));
    expect(offramps[0].supporting_document).toEqual({ submitted_url: URL, status: "not_checked" });
  });

  it("swift needs a document at any amount; a blank URL counts as none", async () => {
    const missing = "supporting_document_required";
    await expectProblem(addOne("usd_swift", 30), field, missing);
    const blank = { supporting_document_attributes: { submitted_url: "  " } };
    await expectProblem(addOne("usd_swift", 30, blank), field, missing);
    const absent = { supporting_document_attributes: null };
    await expectProblem(addOne("usd", 30, { rails: "swift", ...absent }), field, missing);
    // In eur the payment detail's rail applies: local, so no document is needed.
    good(await addOne("eur", 30, { rails: "swift" }));
  });

  it("422 for a URL that is malformed, contains a password or is too long", async () => {
    const at = (submitted_url: string) =>
      addOne("eur", 30, { supporting_document_attributes: { submitted_url } });
    await expectProblem(at("files.test/a.pdf"), field, "record_invalid");
    await expectProblem(at("ftp://files.test/a.pdf"), field, "record_invalid");
    await expectProblem(at("https://me:secret@files.test/a.pdf"), field, "record_invalid");
    // Parsing would change these: what is stored must be what is fetched.
    const changed = ["https://files.test/a\tb", "https://files.test/a b", "https:\\\\files.test/a"];
    for (const url of [...changed, "https://files.test\\a", "https:files.test/a"]) {
      await expectProblem(at(url), field, "record_invalid");
    }
    const long = `https://files.test/${"a".repeat(2048 - 19)}`;
    expect(long.length).toBe(2048);
    good(await at(long));
    await expectProblem(at(`${long}a`), field, "value_too_long");
    good(await at("http://files.test/a.pdf"));
  });
});

describe("the size of a request", () => {
  it("16 MiB are accepted; one byte more is 413 and stores nothing", async () => {
    const quote_id = await addQuote(server, user_id);
    const path = `/users/${user_id}/quotes/${quote_id}/offramps`;
    const json = JSON.stringify({ offramps: [item("eur", 10)] });
    // Blanks between values are valid JSON, so the request is valid at the maximum size.
    const padded = (bytes: number) => json + " ".repeat(bytes - json.length);
    const limit = 16 * 1024 * 1024;
    const over = await server.call("POST", path, undefined, { raw: padded(limit + 1) });
    expect([over.status, over.body.error_code]).toEqual([413, "body_too_large"]);
    const made = await server.call("POST", path, undefined, { raw: padded(limit) });
    expect(good(made).offramps).toHaveLength(1);
    const shown = good(await server.call("GET", `/users/${user_id}/quotes/${quote_id}`));
    expect(shown.offramps).toHaveLength(1);
  });
});

describe("amounts, references and metadata", () => {
  const wrong = [0, -1, "0", "1e3", " 1", "1,5", "1.", "0x10", 1e16, "10.001", true, [1], {}];
  it.each(wrong.map((amount) => ({ amount })))("422 for the amount $amount", async ({ amount }) => {
    const field = "offramps[0].destination_amount";
    await expectProblem(addOne("eur", amount as number), field, "record_invalid");
  });

  it.each([null, "", "  ", undefined])("400 for the amount %j", async (amount) => {
    const field = "offramps[0].destination_amount";
    await expectProblem(addOne("eur", amount as string), field, "parameter_missing", 400);
  });

  it("a reference has at most 140 characters, on one line", async () => {
    const field = "offramps[0].reference";
    const kept = good(await addOne("eur", 10, { reference: "é".repeat(140) }));
    expect(kept.offramps[0].reference).toBe("é".repeat(140));
    const long = { reference: "a".repeat(141) };
    await expectProblem(addOne("eur", 10, long), field, "value_too_long");
    await expectProblem(addOne("eur", 10, { reference: "a\nb" }), field, "record_invalid");
    expect(good(await addOne("eur", 10, { reference: " " })).offramps[0].reference).toBe("");
  });

  it("metadata has at most 50 keys of 40 characters, values of 500", async () => {
    const keys = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`key_${index}`, index]));
    const field = "offramps[0].metadata";
    good(await addOne("eur", 10, { metadata: keys(50) }));
    await expectProblem(addOne("eur", 10, { metadata: keys(51) }), field, "record_invalid");
    const full = { ["k".repeat(40)]: "v".repeat(500), yes: true, number: 1.5 };
    const kept = good(await addOne("eur", 10, { metadata: full }));
    expect(kept.offramps[0].metadata).toEqual(full);
    const long_key = { metadata: { ["k".repeat(41)]: "v" } };
    await expectProblem(addOne("eur", 10, long_key), field, "value_too_long");
    const long_value = { metadata: { k: "v".repeat(501) } };
    await expectProblem(addOne("eur", 10, long_value), `${field}.k`, "value_too_long");
    const nested = { metadata: { k: { deeper: 1 } } };
    await expectProblem(addOne("eur", 10, nested), `${field}.k`, "record_invalid");
  });
});

describe("the quote's state", () => {
  it("an expired quote is refused; an executed one is reported as executed, even if expired", async () => {
    const [idle, executed] = [await addQuote(server, user_id), await addQuote(server, user_id)];
    good(await add([item("eur", 10)], executed));
    good(await execute(server, user_id, executed));
    await expectProblem(add([item("eur", 10)], executed), "quote_id", "quote_already_executed");
    const empty = await execute(server, user_id, idle);
    expect(empty.body.error_code).toBe("no_offramps_present");
    await advance(server, EXPIRY_MS);
    await expectProblem(add([item("eur", 10)], idle), "quote_id", "quote_expired");
    await expectProblem(add([item("eur", 10)], executed), "quote_id", "quote_already_executed");
    expect((await execute(server, user_id, idle)).body.error_code).toBe("quote_expired");
  });
});

describe("changing and listing", () => {
  const patch = (quote_id: string, offramp_id: string, offramp: Item) =>
    server.call("PATCH", `/users/${user_id}/quotes/${quote_id}/offramps/${offramp_id}`, {
      offramp,
    });

  it("reference and metadata can change while it is initiated; nothing else can", async () => {
    const quote_id = await addQuote(server, user_id);
    const metadata = { sandbox_outcome: "stuck", kept: "yes" };
    const made = good(await add([item("eur", 10, { reference: "one", metadata })], quote_id));
    const { id } = made.offramps[0];
    const first = good(await patch(quote_id, id, { reference: "two" })).offramp;
    expect(first).toMatchObject({ reference: "two", metadata });
    expect(first.updated_at > first.created_at).toBe(true);
    const outcome = { sandbox_outcome: "stuck" };
    const second = good(await patch(quote_id, id, { reference: null, metadata: outcome })).offramp;
    expect(second).toMatchObject({ reference: "", metadata: outcome });
    expect((await patch(quote_id, id, { rails: "swift" })).body.error_code).toBe(
      "parameter_unknown",
    );
    const long = await patch(quote_id, id, { reference: "a".repeat(141) });
    expect(long.body.errors).toMatchObject([{ field: "offramp.reference" }]);
    const elsewhere = await patch(await addQuote(server, user_id), id, { reference: "x" });
    expect(elsewhere.status).toBe(404);
    const offramp = { status: "pending_internal_assessment" };
    good(await server.call("PATCH", `/sandbox/offramps/${id}`, { offramp }));
    expect((await patch(quote_id, id, { reference: "x" })).body.error_code).toBe(
      "offramp_not_editable",
    );
  });

  it.each<[what: string, change: object, field: string, code: string]>([
    ["a line break in the reference", { reference: "a\nb" }, "reference", "record_invalid"],
    ["a reference that is no text", { reference: 7 }, "reference", "record_invalid"],
    [
      "51 keys of metadata",
      { metadata: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, "v"])) },
      "metadata",
      "record_invalid",
    ],
    ["a long value", { metadata: { a: "x".repeat(501) } }, "metadata.a", "value_too_long"],
    ["an amount", { destination_amount: 11 }, "destination_amount", "parameter_unknown"],
  ])("a change with %s is refused, and changes nothing", async (_, change, field, code) => {
    const quote_id = await addQuote(server, user_id);
    const kept = { reference: "kept", metadata: { kept: "yes" } };
    const [{ id }] = good(await add([item("eur", 10, kept)], quote_id)).offramps;
    const both = { reference: "new", metadata: { is: "new" }, ...change };
    const refused = await patch(quote_id, id, both);
    expect(refused.body.errors).toMatchObject([{ field: `offramp.${field}`, code }]);
    const shown = await server.call("GET", `/users/${user_id}/offramps/${id}`);
    expect(good(shown).offramp).toMatchObject(kept);
  });

  it("another account or user cannot change it; a change without a field is 400", async () => {
    const quote_id = await addQuote(server, user_id);
    const [{ id }] = good(await add([item("eur", 10)], quote_id)).offramps;
    const { key } = await server.addAccount("Other payer");
    const path = `/users/${user_id}/quotes/${quote_id}/offramps/${id}`;
    const body = { offramp: { reference: "x" } };
    expect((await server.call("PATCH", path, body, { key })).status).toBe(404);
    const other = path.replace(user_id, await addApprovedUser(server));
    expect((await server.call("PATCH", other, body)).status).toBe(404);
    expect((await server.call("PATCH", path, {})).body.error_code).toBe("parameter_missing");
  });

  it("the list is newest first, in pages, filtered by quote and by status", async () => {
    const owner = await addApprovedUser(server);
    const detail = await addPaymentDetail(server, owner, "eur");
    const quotes = [await addQuote(server, owner), await addQuote(server, owner)];
    const ids: string[] = [];
    for (const quote_id of quotes) {
      const items = [1, 2, 3].map((amount) => ({
        ...item("eur", amount),
        payment_detail_id: detail,
      }));
      const path = `/users/${owner}/quotes/${quote_id}/offramps`;
      const made = good(await server.call("POST", path, { offramps: items }));
      ids.push(...made.offramps.map((one: Item) => one.id));
    }
    const newest_first = ids.toReversed();
    const list = async (query: string) => {
      const body = good(await server.call("GET", `/users/${owner}/offramps?${query}`));
      return { ids: body.offramps.map((one: Item) => one.id), has_more: body.has_more };
    };
    expect(await list("")).toEqual({ ids: newest_first, has_more: false });
    expect(await list("limit=4")).toEqual({ ids: newest_first.slice(0, 4), has_more: true });
    expect(await list(`limit=4&starting_after=${newest_first[3]}`)).toEqual({
      ids: newest_first.slice(4),
      has_more: false,
    });
    expect((await list(`quote_id=${quotes[0]}`)).ids).toEqual(newest_first.slice(3));
    expect((await list(`quote_id=${crypto.randomUUID()}`)).ids).toEqual([]);
    const failed = { offramp: { status: "failed" } };
    good(await server.call("PATCH", `/sandbox/offramps/${ids[0]}`, failed));
    // An unpaid offramp fails only with its whole quote.
    expect((await list("status=failed")).ids).toEqual(newest_first.slice(3));
    expect((await list(`status=initiated&quote_id=${quotes[0]}`)).ids).toEqual([]);
    const wrong = await server.call("GET", `/users/${owner}/offramps?quote_id=nonsense`);
    expect(wrong.body.errors).toMatchObject([{ field: "quote_id", code: "record_invalid" }]);
    const stranger = await addApprovedUser(server);
    const path = `/users/${stranger}/offramps/${ids[0]}`;
    expect((await server.call("GET", path)).status).toBe(404);
  });
});

it("large offramps are paid in parts of a megabyte, and their details are encrypted once", async () => {
  const value = "v".repeat(500);
  const metadata = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`key ${at}`, value]));
  const story = await openStory(server, Array(60).fill({ amount: 10, metadata }));
  const { database } = server.core;
  const read = () =>
    database.query<{ details: Buffer }>(
      "select details from offramps where quote_id = $1 order by id",
      [story.quote_id],
    );
  const before = await read();
  const quote = { account_id: server.account_id, id: story.quote_id };
  const claimed = await database.transaction((tx) => claimUnfunded(tx, quote, null, 200));
  const bytes = claimed.reduce((sum, { details }) => sum + details.length, 0);
  expect(bytes).toBeLessThanOrEqual(SET_BYTES_MAX);
  expect(bytes).toBeGreaterThan(SET_BYTES_MAX / 2);
  await story.execute();
  for (const id of story.offramp_ids) await story.waitForStatus("fiat_sent", id);
  expect(await read()).toEqual(before);
});

import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { Sliproad } from "../../sdk/src/index.ts";
import { findActiveKeys } from "../../src/accounts/api-key-store.ts";
import { changeBatches } from "../../src/dashboard/batches/change-batches.ts";
import type { Batch } from "../../src/dashboard/batches/model.ts";
import { createExecutor } from "../../src/platform/commands/executor.ts";
import { Refusal } from "../../src/platform/errors.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { type BrowserMember, signInMember } from "./dashboard-server.ts";
import { ibanAt } from "./payout-files.ts";

const PATH = "/dashboard/api/batches";
const DAY_MS = 86_400_000;

let server: TestServer;
let sliproad: Sliproad;
let member: BrowserMember;
let user_id: string;

beforeAll(async () => {
  server = await startTestServer();
  sliproad = new Sliproad({ baseUrl: server.url, apiKey: server.key });
  const { account_id } = server;
  const email = "finance@example.test";
  member = await signInMember(server, { account_id, role: "finance_manager", email });
  user_id = await newPayer("payer@example.test");
});
afterAll(() => server.close());

async function newPayer(email: string): Promise<string> {
  const name = { first_name: "Ana", last_name: "Sample" };
  const user = await sliproad.users.create({ beneficiary_type: "individual", email, ...name });
  await sliproad.sandbox.setKycStatus(user.id, "approved");
  return user.id;
}

type Cells = Record<string, string>;

function newRow(n: number, cells: Cells = {}): { n: number; cells: Cells } {
  const payee = {
    ...{ account_name: `Payee ${n}`, currency: "eur", beneficiary_type: "business" },
    ...{ bank_name: "Sample Bank", address_line1: "1 Sample Street", city: "Lisbon" },
    ...{ postal_code: "1100-148", country: "PT", iban: ibanAt(n) },
  };
  return { n, cells: { ...payee, amount: `${100 + n}.50`, reference: `Invoice ${n}`, ...cells } };
}

let files = 0;
function newBatch(rows: unknown[], change: object = {}) {
  files += 1;
  return {
    batch: {
      ...{ user_id, deposit_token: "usdc", deposit_token_chain: "polygon" },
      ...{ file_name: "payouts.csv", file_hash: files.toString(16).padStart(64, "0"), rows },
      ...change,
    },
  };
}

async function upload(rows: unknown[], change: object = {}) {
  const answer = await member.call("POST", PATH, newBatch(rows, change));
  expect(answer.statusCode).toBe(200);
  return answer.json();
}

/** Repeats the step until all is created. */
async function createAll(id: string, digest: string) {
  for (let step = 0; step < 20; step += 1) {
    const answer = await member.call("POST", `${PATH}/${id}/payouts`, { digest });
    if (answer.statusCode !== 200) return answer;
    if (answer.json().batch.status === "created") return answer;
  }
  throw new Error("it is never created");
}

type Row = {
  n: number;
  payee: string;
  problems: { cell: string; severity: string; code: string }[];
};
const problemsOf = (shown: { rows: Row[] }) =>
  shown.rows.flatMap(({ n, problems }) =>
    problems.map(({ cell, severity, code }) => [n, cell, severity, code]),
  );

it("a file that was stored although its check failed is not stored twice", async () => {
  const { database } = server.core;
  const body = newBatch([newRow(901)]);
  const send = () => member.call("POST", PATH, body, { "idempotency-key": "batch-901" });
  const count = async () => (await database.query("select from payout_batches")).length;
  const before = await count();
  // The check reads it, and storing does not.
  await database.query("alter table payment_details rename to payment_details_away");
  const failed = await send();
  await database.query("alter table payment_details_away rename to payment_details");
  expect([failed.statusCode, await count()]).toEqual([500, before + 1]);
  const again = await send();
  expect([again.statusCode, await count()]).toEqual([200, before + 1]);
  expect(again.json().rows).toHaveLength(1);
});

describe("the check", () => {
  it("names every problem in its cell, by the rules of the API, and creates nothing", async () => {
    const shown = await upload([
      newRow(1),
      newRow(2, { iban: "DE00370400440532013000" }),
      newRow(3, { amount: "1.234,50" }),
      newRow(4, { amount: "0.01" }),
      newRow(5, { currency: "xxx" }),
      newRow(6, { amount: "20000" }),
      newRow(7, { city: "", amount: "" }),
      newRow(8, { payment_detail_id: crypto.randomUUID() }),
      newRow(9, { country: "KP", reference: "x".repeat(141) }),
    ]);
    expect(problemsOf(shown)).toEqual([
      [2, "iban", "error", "record_invalid"],
      [3, "amount", "error", "record_invalid"],
      [4, "amount", "error", "below_currency_limit"],
      [5, "currency", "error", "currency_not_supported"],
      [6, "document_url", "error", "supporting_document_required"],
      [7, "city", "error", "parameter_missing"],
      [7, "amount", "error", "parameter_missing"],
      [8, "payment_detail_id", "error", "record_not_found"],
      [9, "country", "error", "country_not_supported"],
      [9, "reference", "error", "value_too_long"],
    ]);
    expect(shown.is_ready).toBe(false);
    expect(shown.rows[0]).toMatchObject({ n: 1, payee: "new", is_ready: true });
    const refused = await createAll(shown.batch.id, shown.batch.digest);
    expect(refused.json().errors[0].message).toMatch(/exclude the rows with problems/);
    const details = await sliproad.paymentDetails.list(user_id).page();
    expect(details.records).toEqual([]);
  });

  it("is done again after each change; excluded rows do not count", async () => {
    const shown = await upload([newRow(1), newRow(2, { amount: "x" }), newRow(3, { city: "" })]);
    const rows = [
      { n: 2, cells: { amount: "12.00" } },
      { n: 3, is_excluded: true },
    ];
    const path = `${PATH}/${shown.batch.id}`;
    const changed = (await member.call("PATCH", path, { batch: { rows } })).json();
    expect(changed.is_ready).toBe(true);
    expect(changed.sums).toEqual([{ currency: "eur", amount: "113.5", count: 2 }]);
    expect(changed.batch.digest).not.toBe(shown.batch.digest);
    const stale = await createAll(shown.batch.id, shown.batch.digest);
    expect(stale.statusCode).toBe(422);
    expect(stale.json().errors[0].message).toMatch(/has changed since it was shown/);
  });
});

it("creates payees, a quote and payouts once, however often a step is repeated", async () => {
  const payer = await newPayer("once@example.test");
  const rows = [newRow(11), newRow(12), newRow(13, { ...newRow(11).cells, amount: "77.00" })];
  const shown = await upload(rows, { user_id: payer });
  const { id, digest } = shown.batch;
  const created = (await createAll(id, digest)).json();
  expect(created.batch).toMatchObject({
    status: "created",
    progress: { payees: 2, payees_created: 2, payouts: 3, payouts_created: 3 },
  });
  const again = (await createAll(id, digest)).json();
  expect(again.batch.quote_id).toBe(created.batch.quote_id);
  const { records: details } = await sliproad.paymentDetails.list(payer).page();
  expect(details).toHaveLength(2);
  const { records } = await sliproad.offramps.listAll({ user_id: payer }).page();
  expect(records.map(({ destination_amount, status }) => [destination_amount, status])).toEqual([
    [77, "initiated"],
    [112.5, "initiated"],
    [111.5, "initiated"],
  ]);
  const refused = await member.call("PATCH", `${PATH}/${id}`, { batch: { rows: [] } });
  expect(refused.json().errors[0].message).toMatch(/when the quote has expired/);

  // The second file: its payees are known, its payouts look like the first ones.
  const second = await upload([newRow(11, { city: "", reference: "New" }), newRow(12)], {
    user_id: payer,
  });
  expect(second.rows.map(({ payee }: Row) => payee)).toEqual(["known", "known"]);
  expect(problemsOf(second)).toEqual([[12, "amount", "duplicate", "duplicate_payout"]]);
  const path = `${PATH}/${second.batch.id}`;
  const known = { batch: { rows: [{ n: 12, is_acknowledged: true }] } };
  expect((await member.call("PATCH", path, known)).json().is_ready).toBe(true);
});

it("an account of the same number and name at another bank is not the one of a row", async () => {
  const payer = await newPayer("two-banks@example.test");
  const usd = { iban: "", currency: "usd", account_number: "000555666777" };
  const register = async (n: number, cells: Cells) => {
    const given = Object.entries({ ...newRow(n, cells).cells, amount: "", reference: "" });
    const payment_detail = Object.fromEntries(given.filter(([, text]) => text !== ""));
    const path = `/users/${payer}/payment_details`;
    expect((await member.call("POST", path, { payment_detail })).statusCode).toBe(200);
  };
  await register(1, { iban: "DE84100100100532013000" });
  await register(2, { ...usd, routing_number: "011401533" });
  // Its rail has no code of the bank.
  const dop = { iban: "", currency: "dop", account_number: "0012345678", country: "DO" };
  const in_dop = { ...dop, account_type: "savings", document_number: "00112345678" };
  await register(3, { ...in_dop, bank_name: "Other Bank" });
  const row1 = { iban: "DE89370400440532013000" };
  const row2 = { ...usd, routing_number: "021000021" };
  const row3 = { ...in_dop, bank_name: "Sample Bank" };
  const payeesOf = async () => {
    const rows = [newRow(1, row1), newRow(2, row2), newRow(3, row3)];
    const shown = await upload(rows, { user_id: payer });
    return shown.rows.map(({ payee }: Row) => payee);
  };
  expect(await payeesOf()).toEqual(["new", "new", "new"]);
  await register(1, row1);
  await register(2, row2);
  await register(3, row3);
  expect(await payeesOf()).toEqual(["known", "known", "known"]);
});

it("a row with the id of a bank account does not show another account as the payee", async () => {
  const payer = await newPayer("by-id@example.test");
  const { amount: _, reference: __, ...payee } = newRow(801).cells;
  const { id: payment_detail_id } = await sliproad.paymentDetails.create(payer, payee as never);
  const { cells } = newRow(802, { swift_bic: "COBADEFFXXX", payment_detail_id });
  const alone = { amount: "5.00", currency: "eur", payment_detail_id };
  const rows = [
    { n: 1, cells },
    {
      n: 2,
      cells: { ...payee, amount: "6.00", iban: payee.iban!.toLowerCase(), payment_detail_id },
    },
    { n: 3, cells: alone },
  ];
  const shown = await upload(rows, { user_id: payer });
  expect(problemsOf(shown)).toEqual(
    ["account_name", "iban", "swift_bic"].map((cell) => [1, cell, "error", "record_invalid"]),
  );
});

it("a row is compared with the twenty newest registrations of its account number", async () => {
  const payer = await newPayer("one-account@example.test");
  const { amount: _, reference: __, ...payee } = newRow(701).cells;
  for (let n = 1; n <= 22; n += 1) {
    const registered = { ...payee, account_name: `Holder ${n}` } as never;
    await sliproad.paymentDetails.create(payer, registered);
  }
  const rows = [2, 3, 22].map((n) => newRow(n, { ...payee, account_name: `Holder ${n}` }));
  const shown = await upload(rows, { user_id: payer });
  expect(shown.rows.map((row: Row) => row.payee)).toEqual(["new", "known", "known"]);
});

it("the same file again, and the same row twice, must be acknowledged", async () => {
  const payer = await newPayer("twice@example.test");
  const file_hash = "f".repeat(64);
  const rows = [newRow(21), newRow(22, { ...newRow(21).cells })];
  const first = await upload(rows, { user_id: payer, file_hash });
  expect(problemsOf(first)).toEqual([[22, "amount", "duplicate", "duplicate_row"]]);
  const { id } = first.batch;
  const change = { batch: { rows: [{ n: 22, is_excluded: true }] } };
  const { batch } = (await member.call("PATCH", `${PATH}/${id}`, change)).json();
  expect((await createAll(id, batch.digest)).statusCode).toBe(200);
  const second = await upload([newRow(23)], { user_id: payer, file_hash });
  expect(second.notes).toMatchObject([{ severity: "duplicate", code: "duplicate_file" }]);
  expect(second.is_ready).toBe(false);
  const acknowledged = { batch: { is_file_acknowledged: true } };
  const after = await member.call("PATCH", `${PATH}/${second.batch.id}`, acknowledged);
  expect(after.json().is_ready).toBe(true);
});

it("the same file must be acknowledged while its payouts are being created", async () => {
  const payer = await newPayer("beside@example.test");
  const file_hash = "e".repeat(64);
  const [first, second] = [
    await upload([newRow(24)], { user_id: payer, file_hash }),
    await upload([newRow(24)], { user_id: payer, file_hash }),
  ];
  const step = (shown: typeof first) =>
    member.call("POST", `${PATH}/${shown.batch.id}/payouts`, { digest: shown.batch.digest });
  expect((await step(first)).json().batch.status).toBe("creating");
  expect((await step(second)).statusCode).toBe(422);
});

it("of eight batches of one file that are begun at once, one goes on", async () => {
  const payer = await newPayer("at-once@example.test");
  const file_hash = "d".repeat(64);
  const batches: { id: string; digest: string }[] = [];
  while (batches.length < 8) {
    batches.push((await upload([newRow(25)], { user_id: payer, file_hash })).batch);
  }
  const step = ({ id, digest }: (typeof batches)[0]) =>
    member.call("POST", `${PATH}/${id}/payouts`, { digest });
  const answers = await Promise.all(batches.map(step));
  const codes = answers.map(({ statusCode }) => statusCode).sort();
  expect(codes).toEqual([200, ...Array(7).fill(422)]);
  // The first one is interrupted here: the others wait until somebody acknowledges the file.
  const other = batches[answers.findIndex(({ statusCode }) => statusCode === 422)]!;
  expect((await step(other)).statusCode).toBe(422);
  const batch = { is_file_acknowledged: true };
  await member.call("PATCH", `${PATH}/${other.id}`, { batch });
  expect((await step(other)).json().batch.status).toBe("creating");
});

it("of eight processes that begin with one file at once, one goes on", async () => {
  const payer = await newPayer("processes@example.test");
  const file_hash = "c".repeat(64);
  const ids: string[] = [];
  while (ids.length < 8) {
    ids.push((await upload([newRow(26)], { user_id: payer, file_hash })).batch.id);
  }
  const { account_id, core } = server;
  const [key] = await core.database.query<{ id: string }>(
    "select id from api_keys where account_id = $1 limit 1",
    [account_id],
  );
  const begun = ids.map((batch_id) => {
    const submit = createExecutor({
      ...core,
      across_accounts: true,
      findActiveCredentials: findActiveKeys,
      afterCommit: () => {},
    }).register(changeBatches(core.keyring));
    const change = (batch: Batch): Batch => ({ ...batch, status: "creating" });
    const caller = { account_id, credential_id: key!.id, bytes: 0, idempotency: null };
    return submit({ ...caller, input: { batch_id, change, action: "create" } });
  });
  const settled = await Promise.allSettled(begun);
  expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  for (const one of settled) {
    if (one.status === "rejected") expect(one.reason).toBeInstanceOf(Refusal);
  }
});

it("when its quote has expired, it can be changed and created with new rates", async () => {
  const payer = await newPayer("late@example.test");
  const shown = await upload([newRow(31)], { user_id: payer });
  const { id, digest } = shown.batch;
  const first = (await createAll(id, digest)).json();
  await server.call("POST", "/sandbox/clock", { advance_ms: 3_600_000 });
  const expired = (await member.call("GET", `${PATH}/${id}`)).json();
  expect(expired.rows).toMatchObject([{ n: 31, payee: "known", is_ready: true }]);
  const second = (await createAll(id, expired.batch.digest)).json();
  expect(second.batch.status).toBe("created");
  expect(second.batch.quote_id).not.toBe(first.batch.quote_id);
  const { records } = await sliproad.paymentDetails.list(payer).page();
  expect(records).toHaveLength(1);

  // Another bank account in the same row.
  await server.call("POST", "/sandbox/clock", { advance_ms: 3_600_000 });
  const batch = { rows: [{ n: 31, cells: newRow(32).cells }] };
  const corrected = (await member.call("PATCH", `${PATH}/${id}`, { batch })).json();
  expect(corrected.rows).toMatchObject([{ n: 31, payee: "new", is_ready: true }]);
  const third = (await createAll(id, corrected.batch.digest)).json();
  expect(third.batch.status).toBe("created");
  expect((await sliproad.paymentDetails.list(payer).page()).records).toHaveLength(2);
});

it("belongs to its account and to those who prepare payouts; erasure and time end it", async () => {
  const payer = await newPayer("gone@example.test");
  const shown = await upload([newRow(41)], { user_id: payer });
  const path = `${PATH}/${shown.batch.id}`;
  const other = await server.addAccount("other");
  const admin = { account_id: other.account_id, role: "admin" } as const;
  const stranger = await signInMember(server, { ...admin, email: "other@example.test" });
  expect((await stranger.call("GET", path)).statusCode).toBe(404);
  const theirs = await stranger.call("POST", PATH, newBatch([newRow(1)]));
  expect(theirs.statusCode).toBe(404);
  const { account_id } = server;
  const email = "accountant@example.test";
  const accountant = await signInMember(server, { account_id, role: "accountant", email });
  expect((await accountant.call("GET", path)).statusCode).toBe(403);
  // Nothing of a file is readable in the database.
  const [row] = await server.core.database.query<{ title: Buffer; content: Buffer }>(
    "select title, content from payout_batches where id = $1",
    [shown.batch.id],
  );
  const stored = Buffer.concat([row!.title, row!.content]).toString("latin1");
  expect(stored).not.toMatch(/Payee|payouts|rows/);
  const { retention } = (await server.call("DELETE", `/users/${payer}`)).body;
  expect(retention.status).toBe("erased");
  expect((await member.call("GET", path)).statusCode).toBe(404);

  const kept = await upload([newRow(42)]);
  await server.call("POST", "/sandbox/clock", { advance_ms: 8 * DAY_MS });
  expect((await member.call("GET", `${PATH}/${kept.batch.id}`)).statusCode).toBe(404);
});

it("an account's batches are checked one after the other", async () => {
  const { batch } = await upload([newRow(1), newRow(2)]);
  const { database } = server.core;
  const query = database.query.bind(database);
  let [running, at_once, checks] = [0, 0, 0];
  const spy = vi.spyOn(database, "query").mockImplementation(async (text, values) => {
    if (!text.includes("file_index = ")) return query(text, values);
    running += 1;
    checks += 1;
    at_once = Math.max(at_once, running);
    return query(text, values).finally(() => {
      running -= 1;
    });
  });
  const looks = Array.from({ length: 4 }, () => member.call("GET", `${PATH}/${batch.id}`));
  const answers = await Promise.all(looks).finally(() => spy.mockRestore());
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200]);
  expect({ checks, at_once }).toEqual({ checks: 4, at_once: 1 });
});

describe("a batch of the largest size", () => {
  const wide = (n: number, cells: Cells) => ({
    n,
    cells: { amount: "100", currency: "eur", ...cells },
  });
  const rowsOf = (name: string, length: number) =>
    Array.from({ length: 2_000 }, (_, at) => wide(at + 1, { [name]: "x".repeat(length) }));

  it("is refused when its cells are too long together, also when they grow by changes", async () => {
    const refused = await member.call("POST", PATH, newBatch(rowsOf("reference", 2_000)));
    expect(refused.statusCode).toBe(422);
    const [problem] = refused.json().errors;
    expect(problem).toMatchObject({ field: "batch.rows", code: "value_too_long" });
    expect(problem.message).toContain("at most 4000000 fit into a batch. Split the file.");

    const { batch } = await upload(rowsOf("reference", 1_000));
    const path = `${PATH}/${batch.id}`;
    const more = await member.call("PATCH", path, { batch: { rows: rowsOf("city", 1_000) } });
    expect(more.statusCode).toBe(422);
    expect(more.json().errors[0]).toMatchObject({ field: "batch.rows", code: "value_too_long" });
    const kept = (await member.call("GET", path)).json();
    expect(kept.rows[0].cells).toEqual({
      amount: "100",
      currency: "eur",
      reference: "x".repeat(1_000),
    });
  });

  it("leaves others their time, however often it is changed at once", async () => {
    const { batch } = await upload(rowsOf("reference", 1_900));
    const body = { batch: { is_file_acknowledged: true } };
    // That they take turns is checked above; `npm run soak` sends more.
    const length = process.env.LONG_TESTS ? 12 : 4;
    const changes = Promise.all(
      Array.from({ length }, () => member.call("PATCH", `${PATH}/${batch.id}`, body)),
    );
    let is_over = false;
    void changes.finally(() => {
      is_over = true;
    });
    let slowest_ms = 0;
    while (!is_over) {
      const begun_ms = performance.now();
      expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
      slowest_ms = Math.max(slowest_ms, performance.now() - begun_ms);
    }
    const statuses = new Set((await changes).map(({ statusCode }) => statusCode));
    expect([...statuses].every((status) => status === 200 || status === 503)).toBe(true);
    // Without turns and a set for each, nobody was answered for many seconds.
    expect(slowest_ms).toBeLessThan(3_000);
  });
});

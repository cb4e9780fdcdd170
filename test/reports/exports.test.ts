import { createHash } from "node:crypto";
import { readdir, readFile, truncate } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { recordAudit } from "../../src/accounts/audit.ts";
import { openLocalDirectory } from "../../src/partners/files/local-directory.ts";
import { MINUTE_MS } from "../../src/platform/durations.ts";
import { verifyExports } from "../../src/verify/verify-exports.ts";
import { runCommand } from "../harness/command-line.ts";
import { addApprovedUser, addPaymentDetail, addQuote, execute } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";

let server: TestServer;
let offramp_id: string;
let user_id: string;
let began: string;
/** After the payout; everything that is exported was before. */
let ended: string;

beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
  began = await nowText();
  user_id = await addApprovedUser(server);
  const payment_detail_id = await addPaymentDetail(server, user_id, "usd");
  const quote_id = await addQuote(server, user_id);
  const created = await server.call("POST", `/users/${user_id}/quotes/${quote_id}/offramps`, {
    offramps: [{ payment_detail_id, destination_amount: 100, destination_currency: "usd" }],
  });
  offramp_id = created.body.offramps[0].id;
  await execute(server, user_id, quote_id);
  await waitFor(async () => {
    const shown = await server.call("GET", `/users/${user_id}/offramps/${offramp_id}`);
    return shown.body.offramp.status === "fiat_sent" ? true : undefined;
  });
  await addAudit('=HYPERLINK("http://example.com","x"), "quoted"\r\nsecond line');
  await addAudit("\n =1+1");
  await server.call("POST", "/sandbox/clock", { advance_ms: 5 });
  ended = await nowText();
  await server.call("POST", "/sandbox/clock", { advance_ms: 2 * MINUTE_MS });
});
afterAll(() => server?.close());

async function nowText(): Promise<string> {
  return (await server.call("GET", "/sandbox/clock")).body.clock.now;
}

async function addAudit(reason: string): Promise<void> {
  const { database, clock } = server.core;
  const entry = {
    account_id: server.account_id,
    actor: "command line",
    action: "account.update",
  } as const;
  await database.transaction(async (tx) =>
    recordAudit(tx, { ...entry, record: `user:${user_id}`, reason }, clock.now()),
  );
}

async function create(kind: string, format = "csv") {
  const body = { export: { kind, format, from: began, to: ended } };
  const { body: created, status, text } = await server.call("POST", "/exports", body);
  expect(status, text).toBe(200);
  return readyOf(created.export.id);
}

function readyOf(id: string) {
  return waitFor(async () => {
    const shown = await server.call("GET", `/exports/${id}`);
    return shown.body.export.status === "ready" ? shown.body.export : undefined;
  });
}

async function download(id: string): Promise<string> {
  const headers = { authorization: `Bearer ${server.key}`, accept: "text/csv, application/jsonl" };
  const answer = await fetch(`${server.url}/exports/${id}/file`, { headers });
  expect(answer.status).toBe(200);
  return answer.text();
}

const digestOf = (content: string) => createHash("sha256").update(content).digest("hex");

const findFault = async () => {
  const files = await openLocalDirectory(server.data_dir);
  const { keyring, database } = server.core;
  return database.transaction((tx) => verifyExports(tx, { keyring, files }, server.account_id));
};

describe("an export", () => {
  test("has the lines of the ledger of its period, which balance, and its digest", async () => {
    const made = await create("ledger", "jsonl");
    const content = await download(made.id);
    const rows = content
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(made).toMatchObject({ rows: rows.length, bytes: content.length });
    expect(made.digest).toBe(digestOf(content));
    const booked = rows.filter((row) => row.kind === "payout_booked");
    expect(booked).toMatchObject([
      { line: "1", currency: "usd", debit: "100", credit: null },
      {
        line: "2",
        ledger_account: "bank:sandbox-usd",
        currency: "usd",
        debit: null,
        credit: "100",
      },
    ]);
    const cents = (text: string | null) => Math.round(Number(text ?? 0) * 100);
    const sides = rows.filter(({ currency }) => currency === "usd");
    const sum = (side: "debit" | "credit") => sides.reduce((all, row) => all + cents(row[side]), 0);
    expect(sum("debit")).toBe(sum("credit"));
  });

  test("of payouts has their amounts and status, and nobody's name", async () => {
    const content = await download((await create("payouts")).id);
    const [head, row, ...rest] = content.split("\r\n");
    expect(rest).toEqual([""]);
    const names = head!.split(",");
    const values = Object.fromEntries(row!.split(",").map((value, at) => [names[at], value]));
    expect(values).toMatchObject({
      offramp_id,
      status: "fiat_sent",
      currency: "usd",
      amount: "100",
    });
    expect(content).not.toContain("Sample");
  });

  test("of the audit log cannot run a formula in a spreadsheet, and keeps quotes and lines", async () => {
    const content = await download((await create("audit_log")).id);
    expect(content).toContain(
      `"'=HYPERLINK(""http://example.com"",""x""), ""quoted""\r\nsecond line"`,
    );
    // Quoted: otherwise the line break would begin a row, and the formula its first cell.
    expect(content).toContain(`"'\n =1+1"`);
  });

  test("of deposits has the transfer with its sender", async () => {
    const content = await download((await create("deposits", "jsonl")).id);
    const [row] = content
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(row).toMatchObject({ source: "crypto", user_id, chain: "polygon", currency: "usdc" });
    expect(row.sender).toMatch(/^0x/);
  });

  test("of a period without records has its head only", async () => {
    const period = { kind: "approvals", from: "2020-01-01", to: "2020-02-01" };
    const { body } = await server.call("POST", "/exports", { export: period });
    const made = await readyOf(body.export.id);
    expect(made.rows).toBe(0);
    expect((await download(made.id)).split("\r\n")).toHaveLength(2);
  });

  test("names every wrong field of its request", async () => {
    const wrong = { kind: "salaries", format: "xls", from: "yesterday", to: "2999-01-01" };
    const { status, body } = await server.call("POST", "/exports", { export: wrong });
    expect(status).toBe(422);
    const fields = body.errors.map(({ field }: { field: string }) => field).sort();
    expect(fields).toEqual(["export.format", "export.from", "export.kind"]);
    const cases = [
      [{ from: "2026-01-02", to: "2026-01-01" }, "export.from"],
      [{ from: "2020-01-01", to: "2022-01-01" }, "export.from"],
      [{ from: "2026-01-01", to: "2999-01-01" }, "export.to"],
    ] as const;
    for (const [period, field] of cases) {
      const refused = await server.call("POST", "/exports", {
        export: { kind: "ledger", ...period },
      });
      expect(refused.body.errors).toMatchObject([{ field }]);
    }
    const blank = await server.call("POST", "/exports", { export: { kind: "ledger", from: " " } });
    expect(blank.body).toMatchObject({ status: 400, error_code: "parameter_missing" });
    const nul = { kind: "ledger", from: "2026-01-01\0" };
    const refused = await server.call("POST", "/exports", { export: nul });
    expect(refused.body.errors).toMatchObject([{ field: "export.from", code: "record_invalid" }]);
  });

  test("of another account cannot be found", async () => {
    const { id } = await create("ledger");
    const { key } = await server.addAccount("Other");
    for (const path of [`/exports/${id}`, `/exports/${id}/file`]) {
      expect((await server.call("GET", path, undefined, { key })).status).toBe(404);
    }
  });
});

test("an export can be removed: its file goes, its digest stays, and it no longer counts", async () => {
  const made = await create("payouts");
  const { body } = await server.call("DELETE", `/exports/${made.id}`);
  expect(body.export).toMatchObject({ id: made.id, status: "removed", digest: made.digest });
  const again = await server.call("DELETE", `/exports/${made.id}`);
  expect(again.body).toEqual(body);
  expect((await server.call("GET", `/exports/${made.id}/file`)).status).toBe(404);
  const files = await openLocalDirectory(server.data_dir);
  const file = { account_id: server.account_id, record_id: made.id };
  await waitFor(async () => ((await files.listVersions(file)).length === 0 ? true : undefined));
  const acts = await server.core.database.query(
    "select action, actor from audit_entries where record = $1 order by id",
    [`export:${made.id}`],
  );
  expect(acts).toMatchObject([{ action: "export.write" }, { action: "export.remove" }]);
  expect(acts[1]!.actor).toMatch(/^api_key:/);
  expect(await findFault()).toBeNull();
});

test("an export that is removed before its file was written gets none", async () => {
  const period = { kind: "payouts", from: began, to: await nowText() };
  const { body } = await server.call("POST", "/exports", { export: period });
  const { id } = body.export;
  expect((await server.call("DELETE", `/exports/${id}`)).body.export.status).toBe("removed");
  await server.call("POST", "/sandbox/clock", { advance_ms: 2 * MINUTE_MS });
  const shown = (await server.call("GET", `/exports/${id}`)).body.export;
  expect(shown).toMatchObject({ status: "removed", digest: null });
});

describe("verify", () => {
  test("finds no fault in exports, and names one whose file, digest or records were changed", async () => {
    const made = await create("audit_log");
    expect(await findFault()).toBeNull();
    const { database } = server.core;
    const change = (digest: string) =>
      database.query("update exports set digest = $2 where id = $1", [
        made.id,
        Buffer.from(digest, "hex"),
      ]);
    await change(digestOf("forged"));
    expect(await findFault()).toBe(
      `export ${made.id} of account ${server.account_id}: it differs from the audit log`,
    );
    await change(made.digest);
    await database.query(
      "update audit_entries set reason = reason || '.' where action = 'account.update'",
    );
    expect(await findFault()).toContain("the records of its period give another digest");
    await database.query(
      "update audit_entries set reason = rtrim(reason, '.') where action = 'account.update'",
    );
    expect(await findFault()).toBeNull();
    const folder = join(server.data_dir, "files");
    const paths = await readdir(folder, { recursive: true });
    const path = paths.find((name) => name.includes(`${made.id}/`));
    const size = (await readFile(join(folder, path!))).length;
    await truncate(join(folder, path!), size - 1);
    expect(await findFault()).toContain("its file was changed");
  });
});

test("twenty files at most; after seven days they are removed, and their digests stay", async () => {
  const period = { kind: "ledger", from: "2020-01-01", to: "2020-02-01" };
  const { body: listed } = await server.call("GET", "/exports?limit=100");
  const gone = listed.exports.filter(({ status }: { status: string }) => status === "removed");
  for (let count = listed.exports.length - gone.length; count < 20; count += 1) {
    expect((await server.call("POST", "/exports", { export: period })).status).toBe(200);
  }
  const refused = await server.call("POST", "/exports", { export: period });
  expect(refused.body.error_code).toBe("limit_exceeded");
  await server.app.worker.runUntilIdle(10_000);
  await server.call("POST", "/sandbox/clock", { advance_ms: 8 * 24 * 60 * MINUTE_MS });
  const removed = (await server.call("GET", "/exports?status=removed&limit=100")).body.exports;
  expect(removed).toHaveLength(20 + gone.length);
  expect(removed[0].digest).toMatch(/^[0-9a-f]{64}$/);
  expect((await server.call("GET", `/exports/${removed[0].id}/file`)).status).toBe(404);
  const left = await readdir(join(server.data_dir, "files"), { recursive: true });
  expect(
    left.filter((name) => removed.some(({ id }: { id: string }) => name.includes(`${id}/`))),
  ).toEqual([]);
});

test("the command line writes a file, and verify recognizes it", async () => {
  const environment = { DATABASE_URL: server.db.url, SLIPROAD_DATA_DIR: server.data_dir };
  const output = join(server.data_dir, "ledger.csv");
  const args = ["exports", "create", "--kind", "ledger", "--from", began, "--to", ended];
  const made = await runCommand([...args, "--output", output, "--json"], environment);
  expect(made.stderr).toBe("");
  const { digest } = JSON.parse(made.stdout).export;
  expect(digestOf(await readFile(output, "utf8"))).toBe(digest);
  const known = await runCommand(["verify", "--export", output], environment);
  expect(known).toMatchObject({ code: 0, stdout: expect.stringContaining("ledger from") });
  await truncate(output, 100);
  const unknown = await runCommand(["verify", "--export", output], environment);
  expect(unknown).toMatchObject({ code: 1, stdout: expect.stringContaining("No export has") });
});

test("exports of one account are written one at a time, and delay no other account's", async () => {
  const { keyring } = server.core;
  const other = await server.addAccount("Beside");
  const openAccount = keyring.openAccount.bind(keyring);
  const gate = Promise.withResolvers<void>();
  let writing = 0;
  const spy = vi.spyOn(keyring, "openAccount").mockImplementation(async (session, account_id) => {
    if (account_id === server.account_id) {
      writing += 1;
      await gate.promise;
    }
    return openAccount(session, account_id);
  });
  const body = { export: { kind: "ledger", format: "csv", from: began, to: ended } };
  const ask = async (key: string) =>
    (await server.call("POST", "/exports", body, { key })).body.export.id;
  const statusOf = async (key: string, id: string) =>
    (await server.call("GET", `/exports/${id}`, undefined, { key })).body.export.status;
  const own = [await ask(server.key), await ask(server.key), await ask(server.key)];
  await waitFor(async () => writing > 0);
  const theirs = await ask(other.key);
  await waitFor(async () => (await statusOf(other.key, theirs)) === "ready");
  expect(writing).toBe(1);
  gate.resolve();
  spy.mockRestore();
  for (const id of own) await readyOf(id);
});

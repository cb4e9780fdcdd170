import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  exampleBody,
  fillPath,
  type Operation,
  readDocument,
  type Schema,
  UPLOAD,
  UPLOAD_TYPE,
} from "../../harness/api-document.ts";
import { createRecords, type RecordIds } from "../../harness/records.ts";
import { type Answer, startTestServer, type TestServer } from "../../harness/server.ts";

const CALLERS = 8;
const TEST_LIMIT_MS = 300_000;

let server: TestServer;
/** Another process on the same database. */
let beside: TestServer;
let operations: Operation[];
beforeAll(async () => {
  server = await startTestServer();
  beside = await startTestServer({ beside: server });
  operations = readDocument(server.app.server).operations.filter(({ method }) => method !== "GET");
});
afterAll(async () => {
  await beside.close();
  await server.close();
});

type Prepared = { ids?: Partial<RecordIds> & Record<string, string>; body?: Schema };
type Prepare = (own: RecordIds) => Promise<Prepared | undefined>;

async function send(method: string, path: string, body?: unknown): Promise<Answer> {
  const answer = await server.call(method, path, body);
  if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.text}`);
  return answer;
}

async function listen(): Promise<{ ids: { app_id: string } }> {
  const endpoint = { webhook_url: "http://127.0.0.1:9/nowhere", events: ["kyc_update"] };
  const created = await send("POST", "/apps", { app: { name: "Receiver", ...endpoint } });
  return { ids: { app_id: created.body.app.id } };
}

async function bounce({ offramp_id }: RecordIds): Promise<undefined> {
  await send("PATCH", `/sandbox/offramps/${offramp_id}`, { offramp: { status: "bounced" } });
}

async function payIn(amount: number, more: Record<string, unknown> = {}): Promise<string> {
  const deposit = { amount, currency: "usd", deposit_message: "no code", ...more };
  return (await send("POST", "/sandbox/deposits", { deposit })).body.deposit.id;
}

/** The preconditions for an operation to succeed with its documented example. */
const PREPARE: Record<string, Prepare> = {
  createUser: async () => {
    const user = { beneficiary_type: "individual", first_name: "Ina", last_name: "Vented" };
    return { body: { user: { ...user, email: `${randomUUID()}@example.com` } } };
  },
  createInvoice: async (own) => {
    const operation = operations.find(({ name }) => name === "createInvoice")!;
    return { body: { ...exampleBody(operation, own), invoiceNumber: randomUUID() } };
  },
  updateUser: async () => {
    const user = { beneficiary_type: "individual", first_name: "Ina", last_name: "Vented" };
    const created = await send("POST", "/users", {
      user: { ...user, email: `${randomUUID()}@example.com` },
    });
    return { ids: { user_id: created.body.user.id } };
  },
  createKycSession: (own) => PREPARE.updateUser!(own),
  deleteUser: (own) => PREPARE.updateUser!(own),
  rotateWebhookSecret: listen,
  pauseApp: listen,
  resumeApp: async () => {
    const { ids } = await listen();
    await send("POST", `/apps/${ids.app_id}/pause`);
    return { ids };
  },
  switchWebhookSecret: async () => {
    const { ids } = await listen();
    await send("POST", `/apps/${ids.app_id}/rotate_webhook_secret`, {});
    return { ids };
  },
  replayApp: listen,
  redeliverWebhookEvent: listen,
  sendSandboxWebhook: async () => {
    await listen();
    return { body: { webhook_type: "kyc_update" } };
  },
  changeInvoice: async ({ invoice_id }) => {
    await send("POST", `/invoices/${invoice_id}`);
    return undefined;
  },
  setSandboxInvoice: async ({ invoice_id }) => {
    await send("POST", `/invoices/${invoice_id}`);
    return undefined;
  },
  fundQuote: async ({ user_id }) => {
    const quote = { deposit_token: "usdc", deposit_token_chain: "polygon" };
    const created = await send("POST", `/users/${user_id}/quotes`, { quote });
    const crypto_deposit = { quote_id: created.body.quote.id, amount: 5_000 };
    await send("POST", "/sandbox/crypto_deposits", { crypto_deposit });
    return undefined;
  },
  rerouteOfframp: bounce,
  refundOfframp: bounce,
  matchDeposit: async ({ user_id, onramp_id }) => {
    const { body } = await send("GET", `/users/${user_id}/onramps/${onramp_id}`);
    return { ids: { deposit_id: await payIn(body.onramp.deposit_amount) } };
  },
  acceptDepositDifference: async () => ({ ids: { deposit_id: await payIn(1_000) } }),
  dismissDeposit: async () => {
    const bank_reference = `TWICE-${randomUUID().slice(0, 8)}`;
    await payIn(5, { bank_reference });
    return { ids: { deposit_id: await payIn(6, { bank_reference }) } };
  },
};

/** For work whose answer would look the same if it ran twice: its side effects. */
const EFFECTS: Record<string, { sql: string; step: number }> = {
  createSandboxCryptoDeposit: { sql: "select count(*) from sandbox_transfers", step: 1 },
  createSandboxCryptoTransfer: { sql: "select count(*) from sandbox_wallet_transfers", step: 1 },
  createSandboxDeposit: { sql: "select count(*) from sandbox_bank_credits", step: 1 },
  replayApp: { sql: "select count(*) from webhook_replays", step: 1 },
  advanceSandboxClock: { sql: "select clock_offset_ms from installation", step: 60_000 },
};

async function measure(name: string): Promise<number> {
  const effect = EFFECTS[name];
  if (!effect) return 0;
  const [row] = await server.core.database.query<Record<string, unknown>>(effect.sql);
  return Number(Object.values(row!)[0]);
}

describe("one key, eight callers at once, in two processes", () => {
  it(
    "every POST, PATCH and DELETE has one effect and one answer",
    async () => {
      const problems: string[] = [];
      for (const operation of operations) {
        const problem = await judge(operation).catch((error: Error) => error.message);
        if (problem) problems.push(`${operation.name}: ${problem}`);
      }
      expect(problems).toEqual([]);
    },
    TEST_LIMIT_MS,
  );
});

async function judge(operation: Operation): Promise<string | undefined> {
  const own = await createRecords(server, server.key);
  const prepared = await PREPARE[operation.name]?.(own);
  const path = fillPath(operation, { ...own, ...prepared?.ids });
  const body = prepared?.body ?? exampleBody(operation, own);
  const file = operation.is_upload ? { raw: UPLOAD } : {};
  const headers: Record<string, string> = { "idempotency-key": randomUUID() };
  if (operation.is_upload) headers["content-type"] = UPLOAD_TYPE;
  const before = await measure(operation.name);
  const answers = await Promise.all(
    Array.from({ length: CALLERS }, (_, at) =>
      (at % 2 === 0 ? server : beside).call(operation.method, path, body, {
        ...file,
        headers,
        key: server.key,
      }),
    ),
  );
  const refused = answers.find(({ status }) => status !== 200);
  if (refused) return `teach PREPARE, or it was refused: ${refused.text}`;
  if (new Set(answers.map(({ text }) => text)).size !== 1) return "the answers differ";
  const replayed = answers.filter(({ headers }) => headers.get("idempotent-replayed") === "true");
  if (replayed.length !== CALLERS - 1) return `${replayed.length} answers say they are repeated`;
  const step = (await measure(operation.name)) - before;
  if (step !== (EFFECTS[operation.name]?.step ?? 0)) return `it was done with the effect ${step}`;
  return undefined;
}

describe("a key", () => {
  const post = (path: string, body: unknown, key: string, on = server) =>
    on.call("POST", path, body, { headers: { "idempotency-key": key }, key: server.key });

  it("can be used again after a refusal, also on a route that stores no record", async () => {
    const key = randomUUID();
    const bad = await post("/sandbox/deposits", { deposit: { amount: 0, currency: "usd" } }, key);
    expect(bad.status).toBe(422);
    const good = await post("/sandbox/deposits", { deposit: { amount: 2, currency: "usd" } }, key);
    expect([good.status, good.headers.get("idempotent-replayed")]).toEqual([200, null]);
  });

  it("of another request is refused before any work", async () => {
    const key = randomUUID();
    await post("/sandbox/deposits", { deposit: { amount: 2, currency: "usd" } }, key);
    const before = await measure("createSandboxDeposit");
    for (const on of [server, beside]) {
      const again = await post(
        "/sandbox/deposits",
        { deposit: { amount: 3, currency: "usd" } },
        key,
        on,
      );
      expect([again.status, again.body.error_code]).toEqual([409, "idempotency_key_reused"]);
    }
    expect(await measure("createSandboxDeposit")).toBe(before);
  });

  it.each([
    ["createSandboxDeposit", "fiat_deposits", "one"],
    ["createSandboxCryptoDeposit", "deposits", "one"],
    ["createSandboxCryptoDeposit", "deposits", "one of a named transaction"],
    ["createSandboxCryptoTransfer", "commands", "one"],
    ["createSandboxCryptoTransfer", "commands", "one of a named transaction"],
  ])(
    "of %s, failing at %s, creates %s, also if the first request failed half-way",
    async (name, table, what) => {
      const { database } = server.core;
      const { quote_id } = await createRecords(server, server.key);
      const tx = what === "one" ? {} : { tx_id: `0x${randomBytes(32).toString("hex")}` };
      const wallets = { from: `0x${"1".repeat(40)}`, to: `0x${"2".repeat(40)}` };
      const requests: Record<string, [string, object]> = {
        createSandboxDeposit: ["/sandbox/deposits", { deposit: { amount: 7, currency: "usd" } }],
        createSandboxCryptoDeposit: [
          "/sandbox/crypto_deposits",
          { crypto_deposit: { quote_id, amount: 7, ...tx } },
        ],
        createSandboxCryptoTransfer: [
          "/sandbox/crypto_transfers",
          { crypto_transfer: { blockchain: "polygon", amount: 7, ...wallets, ...tx } },
        ],
      };
      const [path, body] = requests[name]!;
      const [before, key] = [await measure(name), randomUUID()];
      await database.query(
        "create function fail() returns trigger language plpgsql as $$begin raise 'failed'; end$$",
      );
      await database.query(`create trigger fail before insert on ${table} execute function fail()`);
      const failed = await post(path, body, key);
      await database.query(`drop trigger fail on ${table}`);
      await database.query("drop function fail()");
      expect([failed.status, await measure(name)]).toEqual([500, before + 1]);
      const again = await post(path, body, key);
      expect([again.status, await measure(name)]).toEqual([200, before + 1]);
      const replayed = await post(path, body, key);
      expect(replayed.text).toBe(again.text);
      const other = await post(path, body, randomUUID());
      expect([other.status, await measure(name)]).toEqual([200, before + 2]);
    },
  );

  it("belongs to one account", async () => {
    const key = randomUUID();
    const { key: other } = await server.addAccount("Other");
    const body = { conversion: { from: "usdc", to: "eur", amount: 10 } };
    const one = await post("/conversions", body, key);
    const two = await server.call("POST", "/conversions", body, {
      key: other,
      headers: { "idempotency-key": key },
    });
    expect([one, two].map(({ headers }) => headers.get("idempotent-replayed"))).toEqual([
      null,
      null,
    ]);
  });

  it("identifies a body whatever the order of its names", async () => {
    const key = randomUUID();
    const send_raw = (raw: string) =>
      server.call("POST", "/sandbox/deposits", undefined, {
        raw,
        headers: { "idempotency-key": key },
      });
    const one = await send_raw('{"deposit":{"amount":2,"currency":"usd"}}');
    const two = await send_raw('{"deposit":{ "currency":"usd", "amount":2}}');
    expect(two.text).toBe(one.text);
    expect(two.headers.get("idempotent-replayed")).toBe("true");
  });

  it.each(["", " ".repeat(256), "x".repeat(256), "caf\u00e9"])(
    "%j is refused: it must have 1 to 255 printable characters",
    async (key) => {
      const answer = await post("/conversions", {}, key);
      expect([400, 422]).toContain(answer.status);
      expect(answer.body.errors).toContainEqual(
        expect.objectContaining({ field: "Idempotency-Key", code: "record_invalid" }),
      );
    },
  );
});

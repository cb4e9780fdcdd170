import { spawn } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { openCore } from "../../../src/app/open-app.ts";
import type { Session } from "../../../src/platform/db/database.ts";
import { open, seal } from "../../../src/platform/encryption/cipher.ts";
import { readKeyFile } from "../../../src/platform/encryption/local-keys.ts";
import { rotateEncryption } from "../../../src/platform/encryption/rotate-encryption.ts";
import { signingKey } from "../../../src/platform/sealing/seal.ts";
import { signingSeed } from "../../../src/platform/sealing/signing-seed.ts";
import { StartupError } from "../../../src/platform/startup-error.ts";
import { realTime } from "../../../src/platform/tasks/real-time.ts";
import { verify } from "../../../src/verify/verify.ts";
import { runCommand } from "../../harness/command-line.ts";
import { eraseUser } from "../../harness/erase-user.ts";
import { type Answer, startTestServer, type TestServer } from "../../harness/server.ts";
import { waitFor } from "../../harness/wait-for.ts";

const word = () => `canary${randomBytes(8).toString("hex")}`;
const digits = (count: number) =>
  Array.from({ length: count }, () => String(randomInt(10))).join("");

function canaryUser() {
  return {
    beneficiary_type: "individual",
    email: `${word()}@example.com`,
    first_name: word(),
    last_name: word(),
    company_name: word(),
    date_of_birth: "13/07/1931",
    address_line1: word(),
    address_line2: word(),
    city: word(),
    state: word(),
    postcode: digits(17),
    country: "PT",
    nationality: "PT",
    phone: `+351${digits(11)}`,
    ssn: word(),
    source_of_funds: word(),
    business_activity: word(),
    metadata: { [word()]: word() },
  };
}

function canaryDetail() {
  const iban = germanIban();
  return {
    account_name: word(),
    currency: "usd",
    rails: "swift",
    beneficiary_type: "individual",
    bank_name: word(),
    address_line1: word(),
    address_line2: word(),
    city: word(),
    state: word(),
    postal_code: digits(17),
    country: "PT",
    date_of_birth: "17/03/1932",
    // A part of the IBAN, since both must identify the same account.
    account_number: iban.slice(5),
    iban,
    swift_bic: "DEUTDEFF",
    document_number: word(),
    company_number: word(),
    neighbourhood: word(),
    activity: word(),
    metadata: { [word()]: word() },
  };
}

function germanIban(): string {
  const account = digits(18);
  const check = 98n - (BigInt(`${account}131400`) % 97n);
  return `DE${String(check).padStart(2, "0")}${account}`;
}

/** Values that identify a person, and dates in both formats; not values that many people share. */
function canariesOf(fields: Record<string, unknown>): string[] {
  return Object.values(fields).flatMap((value) => {
    if (typeof value === "object") return Object.entries(value as object).flat();
    const text = String(value);
    if (/^\d\d\/\d\d\/\d{4}$/.test(text)) return [text, text.split("/").reverse().join("-")];
    return /\d{8}|canary/.test(text) ? [text] : [];
  });
}

const create = async (on: TestServer, path: string, body: unknown, idempotency?: string) => {
  const options = idempotency === undefined ? {} : { headers: { "idempotency-key": idempotency } };
  const answer = await on.call("POST", path, body, options);
  expect(answer.status, answer.text).toBe(200);
  return answer;
};

async function createUser(on: TestServer, fields: object = {}): Promise<string> {
  const user = { beneficiary_type: "individual", email: `${word()}@example.com`, ...fields };
  const named = { first_name: "Ina", last_name: "Vented", ...user };
  return (await create(on, "/users", { user: named })).body.user.id;
}

async function createDetail(on: TestServer, user_id: string): Promise<string> {
  const body = { payment_detail: canaryDetail() };
  const answer = await create(on, `/users/${user_id}/payment_details`, body);
  return answer.body.payment_detail.id;
}

describe("planted canaries", () => {
  const lines: string[] = [];
  const canaries: string[] = [];
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer({ log_destination: { write: (line) => lines.push(line) } });
    const user = canaryUser();
    const path = `/users/${(await create(server, "/users", { user }, word())).body.user.id}`;
    const detail = canaryDetail();
    await create(server, `${path}/payment_details`, { payment_detail: detail }, word());
    const changed = {
      city: word(),
      email: `${word()}@example.com`,
      metadata: { [word()]: word() },
    };
    expect((await server.call("PATCH", path, { user: changed })).status).toBe(200);
    // Refused and failed requests must not store clear text either.
    const refused = { ...canaryDetail(), iban: word() };
    await server.call("POST", `${path}/payment_details`, { payment_detail: refused });
    await server.call("POST", `${path}/payment_details/validate`, { payment_detail: refused });
    await server.call("GET", `/users/${word()}?${word()}=${word()}`);
    const lost = canaryDetail();
    await server.db.database.query("alter table payment_details rename to away");
    const failed = await server.call("POST", `${path}/payment_details`, { payment_detail: lost });
    expect(failed.status).toBe(500);
    await server.db.database.query("alter table away rename to payment_details");
    canaries.push(...[user, detail, changed, refused, lost].flatMap(canariesOf));
  });
  afterAll(() => server.close());

  it("appear in clear text in no column of any table", async () => {
    const rows = await dump(server.db.database);
    expect(rows.length).toBeGreaterThan(10);
    expect(canaries.length).toBeGreaterThan(60);
    for (const canary of canaries) {
      // A bytea column is shown in hexadecimal.
      const forms = [canary, canary.toLowerCase(), Buffer.from(canary).toString("hex")];
      expect(rows.filter((row) => forms.some((form) => row.includes(form)))).toEqual([]);
    }
  });

  it("appear in clear text in no file of the server, including the write-ahead log", async ({
    skip,
  }) => {
    skip(inject("server_data_dir") === "", "the server's files are on another machine");
    const { database } = server.db;
    await database.query("checkpoint");
    const [place] = await database.query<{ directory: string; oid: string }>(
      `select current_setting('data_directory') as directory, oid::text as oid
       from pg_database where datname = current_database()`,
    );
    const { directory, oid } = place!;
    const parts = [`base/${oid}`, "global", "pg_wal"].map((part) => join(directory, part));
    const files = await listFiles([...parts, inject("server_data_dir")], 1);
    expect(files.some((file) => file.endsWith("postgres.log"))).toBe(true);
    const needles = canaries.map((canary) => Buffer.from(canary));
    let bytes = 0;
    for (const file of files) {
      const content = await readFile(file);
      bytes += content.length;
      const found = needles.filter((needle) => content.includes(needle)).map(String);
      expect({ file, found }).toEqual({ file, found: [] });
    }
    expect(bytes).toBeGreaterThan(1_000_000);
  });

  it("appear in no line of the log", async () => {
    const text = lines.join("");
    expect(lines.length).toBeGreaterThan(5);
    expect(text).toContain('"msg":"failed"');
    expect(canaries.filter((canary) => text.includes(canary))).toEqual([]);
  });
});

describe("a ciphertext in another place", () => {
  const lines: string[] = [];
  let server: TestServer;
  let fresh: TestServer;
  beforeAll(async () => {
    server = await startTestServer({ log_destination: { write: (line) => lines.push(line) } });
  });
  afterAll(async () => {
    await fresh?.app.close();
    await server.close();
  });

  /** Swaps a column's values between two rows, as only an attacker with database access could. */
  const swap = async (table: string, column: string, key: string, ids: [string, string]) => {
    const rows = await server.db.database.query(
      `update ${table} as one set ${column} = other.${column} from ${table} as other
       where one.${key}::text = any($1) and other.${key}::text = any($1)
         and one.${key} <> other.${key} returning one.${key}`,
      [ids],
    );
    expect(rows).toHaveLength(2);
  };
  const expectNoticed = (answer: Answer) => {
    expect(answer.body).toMatchObject({ error_code: "internal_error", status: 500 });
    expect(answer.text).not.toContain("canary");
    const line = lines.find((text) => text.includes(answer.body.request_id));
    expect(line).toContain("altered, moved or sealed with another key");
  };

  it("of an identity is detected: 500 and a log line, never another person's data", async () => {
    const ids: [string, string] = [
      await createUser(server, { city: word() }),
      await createUser(server, { city: word() }),
    ];
    await swap("users", "identity", "id", ids);
    for (const id of ids) expectNoticed(await server.call("GET", `/users/${id}`));
    expectNoticed(await server.call("GET", "/users"));
    expectNoticed(await server.call("PATCH", `/users/${ids[0]}`, { user: { city: "Porto" } }));
    await swap("users", "identity", "id", ids);
    expect((await server.call("GET", `/users/${ids[0]}`)).status).toBe(200);
  });

  it("of a payment detail is detected, even between accounts of one person", async () => {
    const user_id = await createUser(server);
    const ids: [string, string] = [
      await createDetail(server, user_id),
      await createDetail(server, user_id),
    ];
    await swap("payment_details", "details", "id", ids);
    const path = `/users/${user_id}/payment_details`;
    expectNoticed(await server.call("GET", `${path}/${ids[0]}`));
    expectNoticed(await server.call("GET", path));
    expectNoticed(await server.call("PATCH", `${path}/${ids[1]}/deactivate`));
  });

  it("of a stored answer is detected when it is replayed", async () => {
    const bodies = [canaryUser(), canaryUser()].map((user) => ({ user }));
    for (const [at, body] of bodies.entries()) await create(server, "/users", body, `swap-${at}`);
    const rows = await server.db.database.query<{ id: string }>(
      "select id from commands where idempotency_index is not null order by id desc limit 2",
    );
    await swap("commands", "answer", "id", [rows[0]!.id, rows[1]!.id]);
    for (const [at, body] of bodies.entries()) {
      const headers = { "idempotency-key": `swap-${at}` };
      expectNoticed(await server.call("POST", "/users", body, { headers }));
    }
  });

  it("of a person's key is detected by a process that has not cached the key", async () => {
    const ids: [string, string] = [
      await createUser(server, { city: word() }),
      await createUser(server, { city: word() }),
    ];
    await swap("subject_keys", "wrapped", "subject_id", ids);
    const log_destination = { write: (line: string) => void lines.push(line) };
    fresh = await startTestServer({ beside: server, log_destination });
    expectNoticed(await fresh.call("GET", `/users/${ids[0]}`));
  });

  it("with a changed byte is detected too", async () => {
    const id = await createUser(server, { city: word() });
    await server.db.database.query(
      "update users set identity = set_byte(identity, 40, get_byte(identity, 40) # 1) where id = $1",
      [id],
    );
    expectNoticed(await server.call("GET", `/users/${id}`));
  });
});

describe("starting", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  });
  afterAll(() => server.close());
  const key = () => randomBytes(32).toString("base64");
  const refusedStart = (environment: Record<string, string>): Promise<Error> =>
    startTestServer({ beside: server, environment }).then(
      () => new Error("it started"),
      (error) => error,
    );

  it("with another encryption key is refused with one sentence", async () => {
    const error = await refusedStart({ SLIPROAD_ENCRYPTION_KEY: key() });
    expect(error).toBeInstanceOf(StartupError);
    expect(error.message).toMatch(/^The encryption key is not the one [^\n]+\.$/);
    expect(error.message).toContain("SLIPROAD_ENCRYPTION_KEY");
  });

  it("in live mode on a sandbox's database is refused with one sentence", async () => {
    const error = await refusedStart({
      SLIPROAD_MODE: "live",
      SLIPROAD_PUBLIC_URL: "https://pay.example.com",
      SLIPROAD_ENCRYPTION_KEY: key(),
      SLIPROAD_SIGNING_KEY: key(),
    });
    expect(error).toBeInstanceOf(StartupError);
    expect(error.message).toBe(
      "This database was created in sandbox mode; SLIPROAD_MODE=live cannot use it.",
    );
  });

  it("concurrently with others on a new data directory gives all the same keys", async () => {
    const data_dir = await mkdtemp(join(tmpdir(), "sliproad-keys-"));
    const source = (path: string) =>
      JSON.stringify(new URL(`../../../src/${path}`, import.meta.url));
    const script = `
      const { readConfig } = await import(${source("platform/config/config.ts")});
      const { masterKeys } = await import(${source("platform/encryption/master-keys.ts")});
      const { signingSeed } = await import(${source("platform/sealing/signing-seed.ts")});
      const config = readConfig({ SLIPROAD_DATA_DIR: ${JSON.stringify(data_dir)} });
      process.stdin.once("data", async () => {
        console.log(await masterKeys(config).currentId(), signingSeed(config).toString("hex"));
        process.exit();
      });
      console.log("waiting");`;
    try {
      const children = Array.from({ length: 4 }, () =>
        spawn(process.execPath, ["--input-type=module", "-e", script], {
          stdio: ["pipe", "pipe", "inherit"],
        }),
      );
      const printed = children.map(() => "");
      for (const [at, child] of children.entries()) {
        child.stdout.on("data", (text) => {
          printed[at] += text;
        });
      }
      await Promise.all(children.map((child) => once(child.stdout, "data")));
      for (const child of children) child.stdin.end("go");
      await Promise.all(children.map((child) => once(child, "close")));
      expect(printed[0]).toMatch(/^waiting\n[0-9a-f]{16} [0-9a-f]{64}\n$/);
      expect(new Set(printed).size).toBe(1);
      expect((await readdir(data_dir)).sort()).toEqual(["encryption.keys", "signing.key"]);
    } finally {
      await rm(data_dir, { recursive: true });
    }
  });
});

describe("rotating the master key", () => {
  let server: TestServer;
  let beside: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
    beside = await startTestServer({ beside: server });
  });
  afterAll(async () => {
    await beside.app.close();
    await server.close();
  });

  type Written = { key: string; user_id: string }[];

  /** Reads and writes on both servers, and creates accounts on one, while the work runs. */
  async function whileBusy(work: () => Promise<void>): Promise<Written> {
    let busy = true;
    const records: Written = [];
    let accounts = 0;
    const writeAndRead = async (on: TestServer, key: string) => {
      const user = { ...canaryUser() };
      const created = await on.call("POST", "/users", { user }, { key });
      expect(created.status, created.text).toBe(200);
      records.push({ key, user_id: created.body.user.id });
      const { key: read_key, user_id } = records[randomInt(records.length)]!;
      const path = `/users/${user_id}`;
      for (const reader of [server, beside]) {
        const shown = await reader.call("GET", path, undefined, { key: read_key });
        expect(shown.status, shown.text).toBe(200);
      }
    };
    const loops = [server, beside].map(async (on) => {
      while (busy) {
        accounts += 1;
        const account = await beside.addAccount(`Rotated ${accounts} ${word()}`);
        await writeAndRead(on, account.key);
        await writeAndRead(on, server.key);
      }
    });
    const ended = Promise.all(loops);
    ended.catch(() => {});
    try {
      await work();
    } finally {
      busy = false;
    }
    await ended;
    return records;
  }

  const expectReadable = async (on: TestServer, records: Written) => {
    for (const { key, user_id } of records) {
      const answer = await on.call("GET", `/users/${user_id}`, undefined, { key });
      expect(answer.status, answer.text).toBe(200);
    }
  };

  it("does not disturb servers, and data created meanwhile survives the old key", async () => {
    const [first] = readKeyFile(server.data_dir);
    const { database, masters, config } = await openCore(server.core.config, server.db.url);
    let accounts = 0;
    const records = await whileBusy(async () => {
      for (let count = 0; count < 5; count += 1) {
        const rotation = await rotateEncryption(database, masters, config);
        expect(rotation.kept_in).toBe("data directory");
        expect(readKeyFile(server.data_dir).map((key) => key.id)).toEqual([rotation.key_id]);
        accounts += rotation.accounts;
      }
    }).finally(database.close);
    expect(accounts).toBeGreaterThanOrEqual(5);
    expect(readKeyFile(server.data_dir).some((key) => key.id === first!.id)).toBe(false);
    const fresh = await startTestServer({ beside: server });
    try {
      await expectReadable(fresh, records);
    } finally {
      await fresh.app.close();
    }
  });

  it("works from the command line, which prints one JSON document", async () => {
    const environment = { DATABASE_URL: server.db.url, SLIPROAD_DATA_DIR: server.data_dir };
    let stdout = "";
    const records = await whileBusy(async () => {
      const ended = await runCommand(["keys", "rotate-encryption", "--json"], environment);
      expect({ code: ended.code, stderr: ended.stderr }).toEqual({ code: 0, stderr: "" });
      stdout = ended.stdout;
    });
    const [key, ...others] = readKeyFile(server.data_dir);
    expect(others).toEqual([]);
    expect(JSON.parse(stdout)).toEqual({
      accounts: expect.any(Number),
      key_id: key!.id,
      kept_in: "data directory",
    });
    const fresh = await startTestServer({ beside: server });
    try {
      await expectReadable(fresh, records);
    } finally {
      await fresh.app.close();
    }
  });

  it("concurrently with another rotation loses no key", async () => {
    const cores = await Promise.all(
      [1, 2, 3].map(() => openCore(server.core.config, server.db.url)),
    );
    try {
      const outcomes = await Promise.allSettled(
        cores.map(({ database, masters, config }) => rotateEncryption(database, masters, config)),
      );
      expect(outcomes.some(({ status }) => status === "fulfilled")).toBe(true);
      for (const outcome of outcomes) {
        if (outcome.status === "fulfilled") continue;
        expect(outcome.reason).toBeInstanceOf(StartupError);
        expect(outcome.reason.message).toContain("Another rotation is running");
      }
    } finally {
      for (const { database } of cores) await database.close();
    }
    const fresh = await startTestServer({ beside: server });
    await fresh.app.close();
  });

  it("can be run again after an interruption", async () => {
    const user_id = await createUser(server);
    const { database, masters, config } = await openCore(server.core.config, server.db.url);
    try {
      // The second account's key is unreadable for now: the rotation stops halfway.
      const [row] = await database.query<{ account_id: string; wrapped: Buffer }>(
        "select account_id, wrapped from account_keys order by account_id desc limit 1",
      );
      const update = "update account_keys set wrapped = $2 where account_id = $1";
      await database.query(update, [row!.account_id, Buffer.alloc(60, 1)]);
      await expect(rotateEncryption(database, masters, config)).rejects.toThrow();
      expect(readKeyFile(server.data_dir)).toHaveLength(2);
      expect((await beside.call("GET", `/users/${user_id}`)).status).toBe(200);
      await database.query(update, [row!.account_id, row!.wrapped]);
      await rotateEncryption(database, masters, config);
      expect(readKeyFile(server.data_dir)).toHaveLength(1);
    } finally {
      await database.close();
    }
    const fresh = await startTestServer({ beside: server });
    expect((await fresh.call("GET", `/users/${user_id}`)).status).toBe(200);
    await fresh.app.close();
  });

  it("with keys from the environment needs the current and the previous one", async () => {
    const [first, second] = [randomBytes(32), randomBytes(32)].map((key) => key.toString("base64"));
    const old = await startTestServer({ environment: { SLIPROAD_ENCRYPTION_KEY: first! } });
    try {
      const user_id = await createUser(old);
      const both = { SLIPROAD_ENCRYPTION_KEY: second!, SLIPROAD_ENCRYPTION_KEY_PREVIOUS: first! };
      const bridge = await startTestServer({ beside: old, environment: both });
      const { database, masters, config } = bridge.core;
      const during = await createUser(bridge);
      const rotation = await rotateEncryption(database, masters, config);
      expect(rotation).toMatchObject({ accounts: 1, kept_in: "environment" });
      const again = await rotateEncryption(database, masters, config);
      expect(again).toMatchObject({ accounts: 0, key_id: rotation.key_id });
      const after = await createUser(bridge);
      await bridge.app.close();

      const environment = { SLIPROAD_ENCRYPTION_KEY: second! };
      const next = await startTestServer({ beside: old, environment });
      for (const id of [user_id, during, after]) {
        expect((await next.call("GET", `/users/${id}`)).status).toBe(200);
      }
      await next.app.close();
      const stale = await startTestServer({
        beside: old,
        environment: { SLIPROAD_ENCRYPTION_KEY: first! },
      }).catch((error) => error);
      expect(stale).toBeInstanceOf(StartupError);
    } finally {
      await old.close();
    }
  });
});

describe("erasing a person", () => {
  let server: TestServer;
  let beside: TestServer;
  const user = canaryUser();
  let user_id: string;
  let detail_id: string;
  const canaries = canariesOf(user);
  const body = { user };
  const headers = { "idempotency-key": "creation" };
  const erase = async (id: string) => {
    // As the command line does it: in a process that shares nothing with the servers.
    const core = await openCore(server.core.config, server.db.url);
    const erased = await eraseUser(core, { account_id: server.account_id, user_id: id });
    await core.database.close();
    return erased;
  };
  beforeAll(async () => {
    server = await startTestServer();
    beside = await startTestServer({ beside: server });
    user_id = (await server.call("POST", "/users", body, { headers })).body.user.id;
    detail_id = await createDetail(server, user_id);
    // Both servers have cached the person's key by now.
    for (const on of [server, beside]) {
      const path = `/users/${user_id}/payment_details/${detail_id}`;
      expect((await on.call("GET", path)).status).toBe(200);
    }
    const readable = await openEverything(server);
    expect(canaries.filter((canary) => !readable.includes(canary))).toEqual([]);
    expect(await erase(user_id)).toBe(true);
  });
  afterAll(async () => {
    await beside.app.close();
    await server.close();
  });

  it("makes every route answer 404 on every server, whatever it cached", async () => {
    const path = `/users/${user_id}`;
    const payment_detail = canaryDetail();
    for (const on of [server, beside]) {
      const answers = [
        await on.call("GET", path),
        await on.call("PATCH", path, { user: { city: "Porto" } }),
        await on.call("GET", `${path}/payment_details`),
        await on.call("GET", `${path}/payment_details/${detail_id}`),
        await on.call("POST", `${path}/payment_details`, { payment_detail }),
        await on.call("POST", `${path}/payment_details/validate`, { payment_detail }),
        await on.call("PATCH", `${path}/payment_details/${detail_id}/deactivate`),
      ];
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404));
      const listed = await on.call("GET", "/users?limit=100");
      expect(listed.text).not.toContain(user_id);
    }
    expect(await erase(user_id)).toBe(false);
  });

  it("leaves nothing readable, even with all keys", async () => {
    const readable = await openEverything(server);
    expect(canaries.filter((canary) => readable.includes(canary))).toEqual([]);
  });

  it("frees the e-mail address, and a repeated creation replays no stored answer", async () => {
    const answer = await beside.call("POST", "/users", body, { headers });
    expect(answer.status).toBe(200);
    expect(answer.headers.has("idempotent-replayed")).toBe(false);
    expect(answer.body.user.id).not.toBe(user_id);
  });

  it("leaves no copy behind if it runs during a write", async () => {
    const { database } = server.db;
    const id = await createUser(server);
    const countWaiting = async () => {
      const rows = await database.query(
        `select 1 from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return rows.length;
    };
    const writing = await database.connection(async (session) => {
      await session.query("begin");
      await session.query("lock table payment_details in exclusive mode");
      const place = `/users/${id}/payment_details`;
      const options = { headers: { "idempotency-key": word() } };
      const body = { payment_detail: canaryDetail() };
      const written = server.call("POST", place, body, options);
      // The writer has decided and waits for its lock; now the erasure starts.
      await waitFor(async () => (await countWaiting()) > 0);
      let erased = false;
      const erasing = erase(id).then(() => {
        erased = true;
      });
      await waitFor(async () => erased || (await countWaiting()) > 1);
      await session.query("commit");
      return [written, erasing];
    });
    const [answer] = await Promise.all(writing);
    expect([200, 404]).toContain((answer as Answer).status);
    const left = "select 1 from commands where account_id = $1 and subject_id = $2";
    expect(await database.query(left, [server.account_id, id])).toEqual([]);
  });

  it("leaves the sealed logs valid, with an entry that says who did it and why", async () => {
    const [entry] = await server.db.database.query<Record<string, string>>(
      "select actor, reason, record from audit_entries where record = $1",
      [`user:${user_id}`],
    );
    expect(entry).toMatchObject({ actor: "command line", reason: "asked to" });
    const { clock, config } = server.core;
    const key = signingKey(signingSeed(config));
    const time = { now: clock.now(), real_now: realTime(clock) };
    const verified = await verify(server.db.database, key, time);
    expect(verified).toMatchObject({ fault: null });
  });
});

/** Every row of every table as text, as the database itself formats it. */
async function dump(session: Session): Promise<string[]> {
  const tables = await session.query<{ name: string }>(
    "select table_name as name from information_schema.tables where table_schema = 'public'",
  );
  const rows: string[] = [];
  for (const { name } of tables) {
    const found = await session.query<{ text: string }>(`select t::text as text from ${name} as t`);
    rows.push(...found.map(({ text }) => text));
  }
  return rows;
}

/** Everything readable with all keys: every encrypted value, tried with every key. */
async function openEverything(server: TestServer): Promise<string> {
  const { database } = server.db;
  const masters = readKeyFile(server.data_dir).map((key) => key.bytes);
  const keys = [...masters, server.core.index_key];
  const opened: Buffer[] = [];
  const columns = await database.query<{ table: string; column: string }>(
    `select table_name as table, column_name as column from information_schema.columns
     where table_schema = 'public' and data_type = 'bytea'`,
  );
  // First the wrapped keys, from the outermost in.
  const order = (table: string) => ["account_keys", "subject_keys"].indexOf(table) >>> 0;
  columns.sort((a, b) => order(a.table) - order(b.table));
  for (const { table, column } of columns) {
    const rows = await database.query<Record<string, unknown>>(`select * from ${table}`);
    for (const row of rows) {
      const sealed = row[column] as Buffer | null;
      if (!sealed) continue;
      const record_id = String(row.subject_id ?? row.id ?? row.account_id);
      const places = [...new Set([record_id, String(row.id)])].map((id) => ({
        ...{ account_id: String(row.account_id), table, column, record_id: id },
      }));
      for (const place of places) {
        for (const key of [...keys]) {
          const plain = tryOpen(() => open(key, place, sealed));
          if (!plain) continue;
          opened.push(plain);
          if (column === "wrapped") keys.push(plain);
        }
      }
    }
  }
  return Buffer.concat(opened).toString();
}

function tryOpen(work: () => Buffer): Buffer | null {
  try {
    return work();
  } catch {
    return null;
  }
}

/** The files of these directories, down to a depth; files that vanish meanwhile are skipped. */
async function listFiles(directories: string[], depth: number): Promise<string[]> {
  const found: string[] = [];
  for (const directory of directories) {
    const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      const path = join(directory, entry.name);
      if (entry.isFile()) found.push(path);
      else if (entry.isDirectory() && depth > 1)
        found.push(...(await listFiles([path], depth - 1)));
    }
  }
  return found;
}

describe("the seal", () => {
  it("differs each time, opens only in its place, and contains the version of its key", () => {
    const key = randomBytes(32);
    const place = { account_id: "a", table: "t", column: "c", record_id: "r" };
    const text = Buffer.from("plain");
    const [one, two] = [seal(key, 1, place, text), seal(key, 1, place, text)];
    expect(one.equals(two)).toBe(false);
    expect(open(key, place, one).toString()).toBe("plain");
    for (const part of ["account_id", "table", "column", "record_id"] as const) {
      expect(() => open(key, { ...place, [part]: "other" }, one)).toThrow("altered, moved");
    }
    const other_version = Buffer.from(one);
    other_version.writeUInt32BE(2, 1);
    expect(() => open(key, place, other_version)).toThrow("altered, moved");
    expect(() => open(key, place, Buffer.from("short"))).toThrow("not a ciphertext");
  });
});

import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { findActiveKeys } from "../../../src/accounts/api-key-store.ts";
import { type Core, openCore } from "../../../src/app/open-app.ts";
import { createExecutor, type ExecutorDeps } from "../../../src/platform/commands/executor.ts";
import { addOpenApi } from "../../../src/platform/http/docs.ts";
import { type AddRoute, addRoute, type Caller } from "../../../src/platform/http/route.ts";
import { createServer } from "../../../src/platform/http/server.ts";
import { addUserRoutes } from "../../../src/users/routes.ts";
import { type CuttingProxy, startCuttingProxy } from "../../harness/cutting-proxy.ts";
import { openNoteFixture } from "../../harness/note-fixture.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { waitFor } from "../../harness/wait-for.ts";

/** Connects to the database directly; the other connects through the proxy. */
let direct: TestServer;
let proxy: CuttingProxy;
let core: Core;
let caller: Caller;
beforeAll(async () => {
  direct = await startTestServer();
  const [key] = await direct.db.database.query<{ id: string }>("select id from api_keys");
  caller = { account_id: direct.account_id, credential_id: key!.id, key_label: "test" };
});
afterAll(() => direct.close());
beforeEach(async () => {
  proxy = await startCuttingProxy(direct.db.url);
  core = await openCore(direct.core.config, proxy.url);
});
afterEach(async () => {
  await proxy.close();
  await core.database.close();
});

type Limits = Pick<ExecutorDeps, "answer_max_ms" | "find_outcome_max_ms">;

/** The users' routes on the database behind the proxy, with the test's limits. */
async function serveUsers(limits: Limits = {}) {
  const { config, index_key } = core;
  const server = createServer({
    ...config,
    public_url: () => "http://127.0.0.1",
    // Authentication does not use the database: only the commands themselves meet the outage.
    authenticate: async () => caller,
  });
  const executor = createExecutor({
    ...core,
    across_accounts: true,
    findActiveCredentials: findActiveKeys,
    afterCommit: () => {},
    ...limits,
  });
  await addOpenApi(server);
  const screenWritten = async () => {};
  const add: AddRoute = (spec) => addRoute(server, index_key, spec);
  addUserRoutes(add, { ...core, executor, screenWritten });
  const create = async (email: string, headers: Record<string, string> = {}) => {
    const answer = await server.inject({
      method: "POST",
      url: "/users",
      headers: { authorization: `Bearer ${direct.key}`, ...headers },
      payload: bodyOf(email),
    });
    return { status: answer.statusCode, headers: answer.headers, body: answer.json() };
  };
  return { create };
}

function bodyOf(email: string) {
  const user = { beneficiary_type: "individual", email, first_name: "A", last_name: "B" };
  return { user };
}

let addresses = 0;
function newEmail(): string {
  addresses += 1;
  return `lost${addresses}@example.com`;
}

/** The ids of existing users, read over a connection that is never cut. */
async function listIds(): Promise<string[]> {
  const { body } = await direct.call("GET", "/users?limit=100");
  return body.users.map((user: { id: string }) => user.id);
}

async function listNewIds(before: readonly string[]): Promise<string[]> {
  return (await listIds()).filter((id) => !before.includes(id));
}

const isInsertOfUsers = (statement: string) => statement.includes("insert into users");
const isInsertOfCommands = (statement: string) =>
  statement.includes("insert into commands") && !statement.includes("on conflict");
const isReadOfKeys = (statement: string) => statement.includes("from api_keys");

describe("when COMMIT's answer is lost", () => {
  it("a commit that succeeded is answered 200, and the record exists once", async () => {
    const before = await listIds();
    const { create } = await serveUsers();
    proxy.spoil({ matches: isInsertOfUsers, how: "lose_answer" });
    const answer = await create(newEmail());
    expect(proxy.cuts()).toBe(1);
    expect(answer.status).toBe(200);
    expect(await listNewIds(before)).toEqual([answer.body.user.id]);
  });

  it("a commit that never arrived is run again: 200, and the record exists once", async () => {
    const before = await listIds();
    const { create } = await serveUsers();
    proxy.spoil({ matches: isInsertOfUsers, how: "lose_commit" });
    const answer = await create(newEmail());
    expect(proxy.cuts()).toBe(1);
    expect(answer.status).toBe(200);
    expect(await listNewIds(before)).toEqual([answer.body.user.id]);
  });

  it("every command of a batch is answered with its own actual outcome", async () => {
    for (const how of ["lose_answer", "lose_commit"] as const) {
      const before = await listIds();
      const { create } = await serveUsers();
      proxy.spoil({ matches: isInsertOfUsers, how, times: 3 });
      const emails = Array.from({ length: 15 }, newEmail);
      const answers = await Promise.all(emails.map((email) => create(email)));
      expect(answers.map((answer) => answer.status)).toEqual(emails.map(() => 200));
      expect(answers.map((answer) => answer.body.user.email)).toEqual(emails);
      const ids = answers.map((answer) => answer.body.user.id);
      expect((await listNewIds(before)).sort()).toEqual(ids.sort());
    }
  });

  it("a commit that arrives late, after the command was run again, does nothing", async () => {
    // Notes may be equal: only the command's own row distinguishes the two attempts.
    const notes = await openNoteFixture(core);
    proxy.spoil({ matches: isInsertOfCommands, how: "hold_writes" });
    await notes.submit(caller, "late");
    expect(proxy.cuts()).toBe(1);
    expect(await notes.list("late")).toHaveLength(1);
    // Others begin and end meanwhile.
    await waitFor(async () => (await countOpenTransactions()) === 1n);
    proxy.releaseWrites();
    await waitFor(async () => (await countOpenTransactions()) === 0n);
    expect(await notes.list("late")).toHaveLength(1);
  });

  it("a connection that stays silent counts as lost", async () => {
    const before = await listIds();
    const { create } = await serveUsers({ answer_max_ms: 1_000 });
    proxy.spoil({ matches: isInsertOfUsers, how: "keep_answer" });
    const answer = await create(newEmail());
    expect(answer.status).toBe(200);
    expect(await listNewIds(before)).toEqual([answer.body.user.id]);
  });

  it("outcome_unknown without Retry-After if the outcome is not known in time", async () => {
    const before = await listIds();
    const { create } = await serveUsers({ find_outcome_max_ms: 500 });
    const headers = { "idempotency-key": randomUUID() };
    const email = newEmail();
    proxy.spoil({ matches: isInsertOfUsers, how: "lose_answer_and_go_down" });
    const answer = await create(email, headers);
    expect(answer.status).toBe(503);
    expect(answer.body.error_code).toBe("outcome_unknown");
    expect(answer.headers["retry-after"]).toBeUndefined();

    // Its advice is correct: a repetition with the same key returns the outcome.
    proxy.comeUp();
    const again = await create(email, headers);
    expect(again.status).toBe(200);
    expect(again.headers["idempotent-replayed"]).toBe("true");
    expect(await listNewIds(before)).toEqual([again.body.user.id]);
  });

  it("outcome_unknown while the transaction still runs and the wait has timed out", async () => {
    const before = await listIds();
    const { create } = await serveUsers({ answer_max_ms: 1_000, find_outcome_max_ms: 300 });
    const email = newEmail();
    const status = await direct.db.database.transaction(async (tx) => {
      // The insert waits for this lock, its COMMIT waits for the insert, the caller times out.
      await tx.query("lock table users in exclusive mode");
      const answer = await create(email);
      expect(answer.body.error_code).toBe("outcome_unknown");
      return answer.status;
    });
    expect(status).toBe(503);
    // The answer was correct: the outcome was unknown, and the commit succeeded later.
    await waitFor(async () => (await listNewIds(before)).length === 1);
  });
});

describe("when the commit did not wait for its replica", () => {
  it("a later commit that waited confirms it", async () => {
    const before = await listIds();
    const { create } = await serveUsers();
    proxy.spoil({ matches: isInsertOfUsers, how: "warn" });
    const answer = await create(newEmail());
    expect(proxy.cuts()).toBe(1);
    expect(answer.status).toBe(200);
    expect(await listNewIds(before)).toEqual([answer.body.user.id]);
  });

  it("outcome_unknown as long as no commit waits", async () => {
    const { create } = await serveUsers({ find_outcome_max_ms: 300 });
    proxy.spoil({
      matches: (statement) => isInsertOfUsers(statement) || statement.includes("on conflict"),
      how: "warn",
      times: 1_000,
    });
    const answer = await create(newEmail());
    expect(answer.status).toBe(503);
    expect(answer.body.error_code).toBe("outcome_unknown");
  });
});

describe("when the database is lost before COMMIT", () => {
  it("503 unavailable with Retry-After, and nothing was written", async () => {
    const before = await listIds();
    const { create } = await serveUsers();
    proxy.spoil({ matches: isReadOfKeys, how: "lose_statement" });
    const answer = await create(newEmail());
    expect(proxy.cuts()).toBe(1);
    expect(answer.status).toBe(503);
    expect(answer.body.error_code).toBe("unavailable");
    expect(Number(answer.headers["retry-after"])).toBeGreaterThan(0);
    expect(await listNewIds(before)).toEqual([]);
  });

  it("a whole batch is refused at once, and works again when the database is back", async () => {
    const before = await listIds();
    const { create } = await serveUsers();
    expect((await create(newEmail())).status).toBe(200);
    proxy.goDown();
    const answers = await Promise.all(Array.from({ length: 30 }, () => create(newEmail())));
    for (const answer of answers) {
      expect(answer.status).toBe(503);
      expect(answer.body.error_code).toBe("unavailable");
      expect(Number(answer.headers["retry-after"])).toBeGreaterThan(0);
    }
    // No command caused this: they are not run one by one.
    expect(proxy.refusals()).toBeLessThan(10);
    proxy.comeUp();
    expect((await create(newEmail())).status).toBe(200);
    expect(await listNewIds(before)).toHaveLength(2);
  });

  it("503 unavailable if no COMMIT succeeds, however often it is run again", async () => {
    const before = await listIds();
    const { create } = await serveUsers();
    proxy.spoil({ matches: isInsertOfUsers, how: "lose_commit", times: 1_000 });
    const answer = await create(newEmail());
    expect(proxy.cuts()).toBe(6);
    expect(answer.status).toBe(503);
    expect(answer.body.error_code).toBe("unavailable");
    expect(await listNewIds(before)).toEqual([]);
  });

  it("503 unavailable from a server that became a standby, until another takes over", async () => {
    const before = await listIds();
    const { create } = await serveUsers();
    const { database } = direct.db;
    const name = new URL(direct.db.url).pathname.slice(1);
    await database.query(`alter database ${name} set default_transaction_read_only = on`);
    try {
      // New connections are read-only, like those to a standby.
      proxy.goDown();
      proxy.comeUp();
      await waitFor(() => isReadOnly().catch(() => false));
      const answer = await create(newEmail());
      expect(answer.status).toBe(503);
      expect(answer.body.error_code).toBe("unavailable");
    } finally {
      await database.connection(async (session) => {
        await session.query("set default_transaction_read_only = off");
        await session.query(`alter database ${name} reset default_transaction_read_only`);
      });
    }
    expect((await create(newEmail())).status).toBe(200);
    expect(await listNewIds(before)).toHaveLength(1);
  });
});

async function isReadOnly(): Promise<boolean> {
  const [row] = await core.database.query("show transaction_read_only");
  return row?.transaction_read_only === "on";
}

/** Transactions of the program behind the proxy that a lost connection left open. */
async function countOpenTransactions(): Promise<bigint> {
  const [row] = await direct.db.database.query<{ open: bigint }>(
    `select count(*) as open from pg_stat_activity
     where datname = current_database() and state like 'idle in transaction%'`,
  );
  return row!.open;
}

import { afterAll, beforeAll, expect, it } from "vitest";
import { deleteRequests } from "../../src/platform/request-log/store.ts";
import { TRIM_REQUESTS_TASK } from "../../src/platform/request-log/tasks.ts";
import { newUser } from "../harness/records.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { type BrowserMember, signInMember } from "./dashboard-server.ts";

let server: TestServer;
let account: { account_id: string; key: string };
let other: { account_id: string; key: string };
let admin: BrowserMember;
let other_admin: BrowserMember;

const person = (email: string) => ({ user: { ...newUser().user, email } });

beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_SECOND_FACTOR: "optional" } });
  [account, other] = [await server.addAccount("Tenant"), await server.addAccount("Other")];
  const role = "admin" as const;
  const { account_id } = account;
  admin = await signInMember(server, { account_id, role, email: "admin@example.test" });
  const its = { account_id: other.account_id, role, email: "other@example.test" };
  other_admin = await signInMember(server, its);
});
afterAll(() => server?.close());

const read = async (member: BrowserMember, rest = "") =>
  (await member.call("GET", `/dashboard/api/requests${rest}`)).json();

/** Sends one with the account's key; returns its id. */
async function send(method: string, url: string, body?: unknown): Promise<string> {
  const answer = await server.call(method, url, body, { key: account.key });
  return answer.headers.get("x-request-id")!;
}

/** The request, once it was written. */
async function find(id: string) {
  await waitFor(async () => (await read(admin, `/${id}`)).request !== undefined);
  return (await read(admin, `/${id}`)).request;
}

it("a write and a refused read are found by the id of their answer, without their content", async () => {
  const created = await find(await send("POST", "/users", person("sam.sample@example.test")));
  expect(created).toMatchObject({ method: "POST", path: "/users", status: 200, problems: [] });
  expect(created.actor).toMatch(/^api_key:/);
  const refused = await find(await send("POST", "/users", person("no address")));
  expect(refused).toMatchObject({ status: 422, error_code: "record_invalid" });
  expect(refused.problems.map(([field]: [string]) => field)).toContain("user.email");
  const unknown = crypto.randomUUID();
  const missed = await find(await send("GET", `/users/${unknown}`));
  expect(missed).toMatchObject({ path: `/users/${unknown}`, error_code: "record_not_found" });
  const query = await find(await send("GET", "/users?created_after=secret"));
  expect(query).toMatchObject({
    path: "/users",
    problems: [["created_after", expect.any(String)]],
  });
  const odd = await find(await send("GET", "/users/sk_test_secret"));
  expect(odd.path).toBe("/users/:user_id");
  const stored = await server.core.database.query("select * from requests");
  expect(JSON.stringify(stored)).not.toMatch(/sam\.sample|no address|secret/);
});

it("a successful read is not kept, and neither is what the dashboard itself asks", async () => {
  const seen = await send("GET", "/users");
  await admin.call("POST", "/dashboard/api/search", { text: "x" });
  const after = await find(await send("POST", "/users", person("b@example.test")));
  const { requests } = await read(admin, "?limit=100");
  expect(requests.map(({ id }: { id: string }) => id)).not.toContain(seen);
  const missing = await admin.call("GET", `/dashboard/api/requests/${seen}`);
  expect(missing.statusCode).toBe(404);
  expect(missing.json().message).toMatch(/reads that succeeded are not/);
  expect(requests[0].id).toBe(after.id);
  expect(requests.map(({ path }: { path: string }) => path)).not.toContain("/dashboard/api/search");
});

it("another account sees none of them", async () => {
  const { id } = await find(await send("POST", "/users", person("c@example.test")));
  const answer = await other_admin.call("GET", `/dashboard/api/requests/${id}`);
  expect(answer.statusCode).toBe(404);
  expect(await read(other_admin)).toMatchObject({ requests: [], refusals: [] });
});

it("lists refusals by code, with who sent them, page by page", async () => {
  const id = await send("GET", `/users/${crypto.randomUUID()}`);
  await find(id);
  const first = await read(admin, "?limit=1&error_code=record_not_found");
  expect(first).toMatchObject({ requests: [{ id }], has_more: true, days: 7 });
  const [kind, key_id] = first.requests[0].actor.split(":");
  expect([kind, first.names[key_id]]).toEqual(["api_key", expect.any(String)]);
  expect(first.refusals).toContainEqual({
    error_code: "record_not_found",
    count: expect.any(Number),
  });
  const next = await read(admin, `?limit=100&refused=true&starting_after=${id}`);
  expect(next.requests.length).toBeGreaterThan(0);
  for (const { status } of next.requests) expect(status).toBeGreaterThanOrEqual(400);
});

it("keeps the newest rows of an account and those of the last days", async () => {
  const { database } = server.core;
  const { account_id } = account;
  const before = await read(admin, "?limit=100");
  const [newest, second] = before.requests;
  const old = "01900000-0000-7000-8000-000000000000";
  await database.query(
    `insert into requests select account_id, $2, actor, method, path, status, null, null, 1
     from requests where account_id = $1 and id = $3`,
    [account_id, old, newest.id],
  );
  await database.query("update tasks set due_at = created_at where kind = $1", [
    TRIM_REQUESTS_TASK,
  ]);
  await waitFor(async () => (await read(admin, `/${old}`)).request === undefined);
  expect((await read(admin, "?limit=100")).requests).toEqual(before.requests);
  await deleteRequests(database, account_id, { from_id: old, rows: 2 }, 1_000);
  const kept = (await read(admin, "?limit=100")).requests;
  expect(kept.map(({ id }: { id: string }) => id)).toEqual([newest.id, second.id]);
});

it("NUL in a filter is refused, with the name of the field", async () => {
  const filters = {
    ...{ requests: "actor", audit: "kind" },
    ...{ journal: "ledger_account", "deposits/x/candidates": "search" },
  };
  for (const [path, field] of Object.entries(filters)) {
    const answer = await admin.call("GET", `/dashboard/api/${path}?${field}=a%00b`);
    expect(answer.statusCode, `${path}: ${answer.body}`).toBe(422);
    expect(answer.json().errors).toMatchObject([{ field, code: "record_invalid" }]);
  }
});

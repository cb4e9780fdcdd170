import { afterAll, beforeAll, expect, it } from "vitest";
import { newId } from "../../src/platform/ids.ts";
import { createRecords } from "../harness/records.ts";
import { listRoutes } from "../harness/routes.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { addApp, emit, idle } from "../webhooks/webhook-fixture.ts";
import { type BrowserMember, signInMember } from "./dashboard-server.ts";

/** What these require. */
const QUERIES: Readonly<Record<string, string>> = {
  "/dashboard/api/apps/:app_id/replay_count": "from=2020-01-01",
  "/dashboard/api/documents/:offramp_id/file": `hash=${"0".repeat(64)}`,
};
/** Of lists that continue after a record: those must not differ either. */
const CURSORS = ["", "starting_after", "after"];

let server: TestServer;
let owner: BrowserMember;
let stranger: BrowserMember;
let ids: Record<string, string>;
let paths: string[];

beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_SECOND_FACTOR: "optional" } });
  const { account_id } = server;
  const email = "owner@example.test";
  owner = await signInMember(server, { account_id, role: "admin", email });
  const { id: app_id } = await addApp(server, { webhook_url: "http://127.0.0.1:9/" });
  await emit(server, {});
  await idle(server);
  const read = async (path: string) => (await owner.call("GET", `/dashboard/api/${path}`)).json();
  const { deliveries } = await read(`apps/${app_id}/deliveries`);
  const records = await createRecords(server, server.key);
  const requests = await waitFor(async () => {
    const { requests: logged } = await read("requests");
    return logged.length > 0 && logged;
  });
  ids = {
    ...{ ...records, app_id, account_id, payout_id: records.offramp_id },
    ...{ delivery_id: deliveries[0].id, request_id: requests[0].id },
  };
  const other = await server.addAccount("Other");
  stranger = await signInMember(server, {
    ...{ account_id: other.account_id, role: "admin", email: "stranger@example.test" },
  });
  paths = listRoutes(server.app.server)
    .filter(({ method, path }) => method === "GET" && /^\/dashboard\/api\/.*:/.test(path))
    .map(({ path }) => path);
});
afterAll(() => server?.close());

function ask(path: string, idOf: (name: string) => string, cursor: string, who = stranger) {
  const filled = path.replaceAll(/:(\w+)/g, (_all, name: string) => idOf(name));
  const query = [QUERIES[path], cursor && `${cursor}=${newId(new Date())}`].filter(Boolean);
  return who.call("GET", `${filled}?${query.join("&")}`);
}

it("404 for everything below another account's record, and below an unknown one", async () => {
  expect(paths.length).toBeGreaterThan(10);
  const found: string[] = [];
  for (const path of paths) {
    for (const cursor of CURSORS) {
      const foreign = await ask(path, (name) => ids[name] ?? newId(new Date()), cursor);
      const unknown = await ask(path, () => newId(new Date()), cursor);
      for (const { statusCode } of [foreign, unknown]) {
        // 403: the role or the account never reads it; 422: there is no such cursor.
        const is_refused = [404, 403].includes(statusCode) || (cursor && statusCode === 422);
        if (!is_refused) found.push(`${path}?${cursor}: ${statusCode}`);
      }
      expect(foreign.statusCode, path).toBe(unknown.statusCode);
    }
  }
  expect(found).toEqual([]);
});

it("no answer to a member contains the MAC of a row", async () => {
  const deposit = { quote_id: ids.quote_id, amount: 1, token: "usdc" };
  const paid = await server.call("POST", "/sandbox/crypto_deposits", { crypto_deposit: deposit });
  expect(paid.status, paid.text).toBe(200);
  const all = listRoutes(server.app.server)
    .filter(({ method, path }) => method === "GET" && /^\/[\w/:-]+$/.test(path))
    .map(({ path }) => path)
    // It never ends.
    .filter((path) => path !== "/dashboard/api/changes");
  const leaks: string[] = [];
  let seen = 0;
  for (const path of all) {
    const answer = await ask(path, (name) => ids[name] ?? newId(new Date()), "", owner);
    if (answer.statusCode === 200) seen += 1;
    if (/"\w*mac":/.test(answer.body)) leaks.push(path);
  }
  expect(seen).toBeGreaterThan(50);
  expect(leaks).toEqual([]);
});

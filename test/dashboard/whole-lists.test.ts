import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { good, openStory } from "../offramps/story.ts";
import { type BrowserMember, signInMember } from "./dashboard-server.ts";

let server: TestServer;
let admin: BrowserMember;

beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_SECOND_FACTOR: "optional" } });
  const { account_id } = server;
  admin = await signInMember(server, { account_id, role: "admin", email: "admin@example.test" });
});
afterAll(() => server.close());

type Page = { ids: string[]; next: string | null };

/** The ids of a list read to its end, as the dashboard reads it. */
async function readAll(path: string, pageOf: (answer: never) => Page): Promise<string[]> {
  const ids: string[] = [];
  for (let after: string | null = ""; after !== null; ) {
    const query = new URLSearchParams(after ? { starting_after: after } : {});
    const answer = await admin.call("GET", `/dashboard/api${path}?${query}`);
    expect(answer.statusCode, answer.body).toBe(200);
    const page = pageOf(answer.json() as never);
    ids.push(...page.ids);
    after = page.next;
  }
  return ids;
}

const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);

it("API keys are listed to the last, however many there are", async () => {
  await server.core.database.query(
    `insert into api_keys (account_id, id, name, prefix, last_four, created_at)
     select $1, ('0197f5c0-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'Key ' || n,
       'sk_test_', '0000', now() from generate_series(1, 130) as n`,
    [server.account_id],
  );
  const ids = await readAll("/keys", ({ keys, has_more }: { keys: []; has_more: boolean }) => {
    const listed = idsOf(keys);
    return { ids: listed, next: has_more ? listed.at(-1)! : null };
  });
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.length).toBeGreaterThan(130);
  expect(ids).toContain("0197f5c0-0000-7000-8000-000000000001");
});

it("batches are listed to the last, however many there are", async () => {
  const { user_id } = await openStory(server);
  const row = { n: 1, cells: { amount: "10", currency: "eur" } };
  const made: string[] = [];
  for (let count = 1; count <= 26; count += 1) {
    const batch = {
      ...{ user_id, deposit_token: "usdc", deposit_token_chain: "polygon", rows: [row] },
      ...{ file_name: `${count}.csv`, file_hash: count.toString(16).padStart(64, "0") },
    };
    const answer = await admin.call("POST", "/dashboard/api/batches", { batch });
    made.unshift(answer.json().batch.id);
  }
  const ids = await readAll("/batches", (page: { batches: []; next: string | null }) => {
    return { ids: idsOf(page.batches), next: page.next };
  });
  expect(ids).toEqual(made);
});

it("all events of a payout are listed with their deliveries, page by page", async () => {
  const story = await openStory(server);
  const { account_id } = server;
  await server.core.database.query(
    `insert into events (account_id, id, name, record_id, sequence, to_status, facts, created_at)
     select $1, ('0197f5c0-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'offramp.updated',
       $2, 1000 + n, 'initiated', '', now() from generate_series(1, 120) as n`,
    [account_id, story.offramp_id],
  );
  const path = `/records/${story.offramp_id}/webhooks`;
  const ids = await readAll(path, ({ events, has_more }: { events: []; has_more: boolean }) => {
    const listed = idsOf(events);
    return { ids: listed, next: has_more ? listed.at(-1)! : null };
  });
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.length).toBeGreaterThanOrEqual(120);
  const { history } = good(await server.call("GET", `/records/${story.offramp_id}/history`));
  const changes = history.filter(({ kind }: { kind: string }) => kind === "event");
  expect(ids.length).toBe(changes.length);
  const unknown = `/dashboard/api/records/${crypto.randomUUID()}/webhooks`;
  expect((await admin.call("GET", unknown)).statusCode).toBe(404);
  const odd = await admin.call("GET", `/dashboard/api${path}?starting_after=x`);
  expect(odd.statusCode).toBe(422);
});

import { afterAll, beforeAll, expect, it } from "vitest";
import { newId } from "../../src/platform/ids.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { good, openStory, type Story, settle } from "../offramps/story.ts";
import { type BrowserMember, signInMember } from "./dashboard-server.ts";

type Line = { ledger_account: string; currency: string };
type Entry = { id: string; kind: string; lines: Line[]; record_id: string | null };

let server: TestServer;
let member: BrowserMember;
let story: Story;

beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
  const { account_id } = server;
  const email = "accountant@example.test";
  member = await signInMember(server, { account_id, role: "accountant", email });
  [story] = [await openStory(server), await openStory(server)];
  good(await story.execute());
  await story.waitForStatus("fiat_sent");
  await settle(server);
});
afterAll(() => server.close());

type Page = {
  entries: Entry[];
  records: Record<string, object>;
  users: Record<string, { name: string }>;
  next: string;
  looked_until: string | null;
};

async function read(query: Record<string, string> = {}): Promise<Page> {
  const path = `/dashboard/api/journal?${new URLSearchParams(query)}`;
  const answer = await member.call("GET", path);
  expect(answer.statusCode, answer.body).toBe(200);
  return answer.json();
}

it("each entry leads to the payout, quote or person that it is about", async () => {
  const { entries, records, users } = await read();
  const recordOf = (kind: string) => entries.find((entry) => entry.kind === kind)?.record_id;
  expect(recordOf("payout_booked")).toBe(story.offramp_id);
  expect(recordOf("deposit_final")).toBe(story.user_id);
  expect(records[story.offramp_id]).toMatchObject({ kind: "payout", title: "1000 eur" });
  expect(records[story.user_id]).toMatchObject({ kind: "person" });
  expect(users[story.user_id]!.name).not.toBe("");
});

it("is filtered by account, currency, record and time", async () => {
  const all = (await read()).entries;
  const hasLine = (matches: (line: Line) => boolean) => (entry: Entry) => entry.lines.some(matches);
  const fees = (await read({ ledger_account: "fees" })).entries;
  expect(fees.length).toBeGreaterThan(0);
  expect(fees).toEqual(all.filter(hasLine(({ ledger_account }) => ledger_account === "fees")));
  const owed = (await read({ ledger_account: "owed" })).entries;
  expect(owed).toEqual(all.filter(hasLine((line) => line.ledger_account.startsWith("owed:"))));
  const eur = (await read({ currency: "eur" })).entries;
  expect(eur).toEqual(all.filter(hasLine(({ currency }) => currency === "eur")));
  expect(eur.length).toBeLessThan(all.length);
  // One line must be both: fees are taken in the currency.
  expect((await read({ ledger_account: "fees", currency: "usdc" })).entries).toEqual([]);
  const own = (await read({ record_id: story.offramp_id })).entries;
  expect(own.map(({ kind }) => kind)).toEqual([...["payout_booked", "payout_funded"]]);
  expect((await read({ record_id: crypto.randomUUID() })).entries).toEqual([]);
  expect((await read({ created_before: "2020-01-01" })).entries).toEqual([]);
  const wrong = await member.call("GET", "/dashboard/api/journal?record_id=x");
  expect(wrong.statusCode).toBe(422);
});

it("looks at a bounded number of entries, says how far, and goes on from there", async () => {
  const { account_id, core } = server;
  const ids = Array.from({ length: 1_200 }, () => newId(core.clock.now()));
  await core.database.query(
    `with entries as (
       insert into ledger_entries (account_id, id, key, kind, created_at)
       select $1, id, 'opening:' || id, 'bank_opened', now() from unnest($2::uuid[]) as t (id)
       returning id)
     insert into ledger_lines (account_id, entry_id, number, ledger_account, currency, amount)
     select $1, id, 1, 'treasury', 'gbp', 1 from entries`,
    [account_id, ids],
  );
  const first = await read({ ledger_account: "fees" });
  expect(first.entries).toEqual([]);
  expect(first.looked_until).not.toBeNull();
  const next = await read({ ledger_account: "fees", starting_after: first.next });
  expect(next.entries.length).toBeGreaterThan(0);
  expect(next.looked_until).toBeNull();
});

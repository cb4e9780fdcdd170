import { afterAll, beforeAll, expect, it } from "vitest";
import { addOwedUser, proposalIn, STRANGE } from "../approvals/proposal-fixture.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { good, openStory, type Story } from "../offramps/story.ts";
import { type BrowserMember, signInMember } from "./dashboard-server.ts";

let server: TestServer;
let admin: BrowserMember;
let developer: BrowserMember;
let story: Story;
let proposal: { id: string; summary: string };
let app: { id: string };

beforeAll(async () => {
  server = await startTestServer({
    environment: { SLIPROAD_SECOND_FACTOR: "optional", SLIPROAD_DOCUMENTS: "never" },
  });
  const { account_id } = server;
  const add = (role: "admin" | "developer") =>
    signInMember(server, { account_id, role, email: `${role}@example.test` });
  [admin, developer] = [await add("admin"), await add("developer")];
  story = await openStory(server, [{ amount: 1800.5 }]);
  good(await story.execute());
  await story.waitForStatus("fiat_sent");
  const offramp = { status: "bounced" };
  good(await server.call("PATCH", `/sandbox/offramps/${story.offramp_id}`, { offramp }));
  good(await story.giveUp());
  const user = await addOwedUser(server, 500);
  proposal = proposalIn(await user.refund(25, STRANGE));
  app = good(await server.call("POST", "/apps", { app: { name: "Bookkeeping" } })).app;
  await server.core.database.query("update apps set deleted_at = now() where id = $1", [app.id]);
});
afterAll(() => server.close());

async function read(member: BrowserMember) {
  return (await member.call("GET", "/dashboard/api/audit?limit=100")).json();
}

it("shows what each entry is about: its amount, its person, its summary", async () => {
  const { entries, records, names } = await read(admin);
  const acts = entries.map(({ action, record }: { action: string; record: string }) => [
    action,
    record,
  ]);
  expect(acts).toContainEqual(["offramp.refund", `offramp:${story.offramp_id}`]);
  expect(records[story.offramp_id]).toMatchObject({ kind: "payout", title: "1800.5 eur" });
  expect(records[story.quote_id]).toMatchObject({ kind: "quote", user_id: story.user_id });
  expect(records[story.quote_id].title).toMatch(/^Quote of \S+/);
  expect(records[story.payment_detail_id]).toMatchObject({ kind: "bank_account" });
  const { id, summary: title } = proposal;
  expect(records[id]).toEqual({ kind: "proposal", id, title, note: "pending" });
  // The log still names what was deleted.
  expect(names[app.id]).toBe("Bookkeeping");
});

it("shows no person and no payout to those who may not see them", async () => {
  const { entries, records } = await read(developer);
  expect(entries.length).toBeGreaterThan(5);
  expect(Object.keys(records)).toEqual([proposal.id]);
});

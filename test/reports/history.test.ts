import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addMember, type TestMember } from "../approvals/proposal-fixture.ts";
import { addUser } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { addBilledAccount, BANK_OPTION, sendInvoice } from "../invoices/invoice-fixture.ts";
import { addWaiting, decide } from "../kyc/review/review-fixture.ts";
import { good } from "../offramps/story.ts";
import { listOf } from "../partners/screening/sample-lists.ts";
import { idle } from "../webhooks/webhook-fixture.ts";

let folder: string;
let server: TestServer;
let operator: TestMember;
let tenant: { account_id: string; key: string };
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sliproad-history-"));
  const list = join(folder, "targets.csv");
  await writeFile(list, listOf([{ id: "listed", name: "Tesrik Varlomov" }]));
  server = await startTestServer({ environment: { SLIPROAD_SCREENING_LISTS: list } });
  operator = await addMember(server, "approver");
  tenant = await server.addAccount("Tenant");
});
afterAll(async () => {
  await server?.close();
  await rm(folder, { recursive: true });
});

type Item = { what: string; who: string | null; after: string | null; why: string | null };

async function historyOf(record_id: string, key = server.key): Promise<Item[]> {
  const path = `/records/${record_id}/history`;
  return good(await server.call("GET", path, undefined, { key })).history;
}

/** The page of a record of the tenant. */
async function pageOf({ visitor }: TestMember, record_id: string): Promise<string> {
  const query = `account=${tenant.account_id}`;
  const page = await visitor.get(`/dashboard/records/${record_id}?${query}`);
  expect(page.statusCode, page.body).toBe(200);
  return page.body;
}

test("whoever changed a person's data, or got a link to their identity check, is named", async () => {
  const user_id = await addUser(server);
  const member = await addMember(server, "finance_manager");
  const who = `member:${member.person_id}`;
  const user = { company_name: "Another Payroll Ltd", city: "Porto" };
  const changed = await member.visitor.call("PATCH", `/users/${user_id}`, { user });
  expect(changed.statusCode, changed.body).toBe(200);
  expect((await member.call("POST", `/users/${user_id}/kycs`, {})).statusCode).toBe(200);
  const history = await historyOf(user_id);
  expect(history).toMatchObject([
    { what: "kyc.create_session", who },
    { what: "user.update", who, after: "fields city company_name" },
  ]);
  // The entry is still there when the person is erased.
  expect(JSON.stringify(history)).not.toMatch(/Payroll|Porto/);
});

test("the operator reads why it put another account's user on hold, the account does not", async () => {
  const user_id = await addUser(server, tenant.key);
  const reason = "Asked by the police";
  good(await server.call("POST", `/users/${user_id}/freeze`, { reason }));
  const own = await addMember(server, "approver", tenant.account_id);
  expect(await pageOf(own, user_id)).not.toContain(reason);
  const shown = await pageOf(operator, user_id);
  expect(shown).toContain(reason);
  expect(shown.match(/User freeze/g)).toHaveLength(1);
});

test("a decision about a screening match is on the page of the person, for reviewers only", async () => {
  const user = {
    ...{ beneficiary_type: "individual", email: "t@example.com" },
    ...{ first_name: "Tesrik", last_name: "Varlomov" },
  };
  const created = await server.call("POST", "/users", { user }, { key: tenant.key });
  const { id } = good(created).user;
  const { screening_matches } = good(await server.call("GET", "/screening_matches?status=open"));
  const match = screening_matches.find((one: { record_id: string }) => one.record_id === id);
  const reason = "Born in another year";
  const path = `/screening_matches/${match.id}/clear`;
  const cleared = await operator.call("POST", path, { reason });
  expect(cleared.statusCode, cleared.body).toBe(200);
  const shown = await pageOf(operator, id);
  expect(shown).toContain(reason);
  expect(shown).toContain(operator.email);
  const bookkeeper = await addMember(server, "accountant");
  expect(await pageOf(bookkeeper, id)).not.toContain(reason);
  const own = await addMember(server, "admin", tenant.account_id);
  expect(await pageOf(own, id)).not.toMatch(/Born in another year|screening/i);
});

test("a decision on an identity says the reason that the person was told", async () => {
  const { user_id, path } = await addWaiting(server);
  const decided = await decide(operator.visitor, path, "refuse", "The face is not the same");
  expect(decided.statusCode, decided.body).toBe(200);
  const refused = (await historyOf(user_id)).find(({ after }) => after === "failed");
  expect(refused?.why).toBe("The face is not the same");
});

test("whoever changed where an invoice is paid, or accepted it, is named to their own account", async () => {
  const [seller, buyer] = [
    await addBilledAccount(server, "Seller"),
    await addBilledAccount(server, "Buyer"),
  ];
  const { id } = await sendInvoice(server, seller, buyer);
  const eve = await addMember(server, "finance_manager", seller.account_id);
  const bob = await addMember(server, "finance_manager", buyer.account_id);
  const path = `/invoices/${id}/changes`;
  const redirected = { type: "changePaymentOptions", input: { paymentOptions: [BANK_OPTION] } };
  expect((await eve.call("POST", path, redirected)).statusCode).toBe(200);
  expect((await bob.call("POST", path, { type: "accept" })).statusCode).toBe(200);
  await idle(server);
  const actsOf = async (key: string) =>
    (await historyOf(id, key)).filter(({ what }) => what === "invoice.change");
  expect(await actsOf(seller.key)).toMatchObject([
    { who: `member:${eve.person_id}`, after: "change changePaymentOptions" },
  ]);
  expect(await actsOf(buyer.key)).toMatchObject([
    { who: `member:${bob.person_id}`, after: "change accept" },
  ]);
});

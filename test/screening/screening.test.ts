import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { SECOND_MS } from "../../src/platform/durations.ts";
import { listMatchFacts } from "../../src/screening/store.ts";
import {
  addMember,
  addOwedUser,
  proposalIn,
  STRANGE,
  showProposal,
} from "../approvals/proposal-fixture.ts";
import { addApprovedUser, addPaymentDetail, addQuote } from "../harness/ramp.ts";
import { type Answer, startTestServer, type TestServer } from "../harness/server.ts";
import { advance, deposit, good, openStory, settle } from "../offramps/story.ts";
import { openOnramp, REQUEST, receive, showDeposit } from "../onramps/story.ts";
import { type Listed, listOf } from "../partners/screening/sample-lists.ts";

const SENDER = `0x${"5".repeat(40)}`;
/** Enough that one more or less is no tenth of the list. */
const OTHERS: Listed[] = Array.from({ length: 30 }, (_, at) => ({
  id: `other-${at}`,
  name: `Zorvak Quimble${"abcdefghijklmnopqrstuvwxyzäöüß"[at]}um`,
}));
/** The users of the stories are called Invented Payroll Ltd. */
const PAYER: Listed = { id: "payer", name: "INVENTED PAYROLL", schema: "Company" };

let folder: string;
let server: TestServer;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sliproad-screening-"));
  await writeFile(join(folder, "targets.csv"), listOf(OTHERS));
  server = await startTestServer({
    environment: {
      SLIPROAD_DOCUMENTS: "never",
      SLIPROAD_SCREENING_LISTS: join(folder, "targets.csv"),
    },
  });
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});
beforeEach(() => publish([]));

/** Replaces the list, and waits until everybody has been screened against it. */
async function publish(listed: readonly Listed[]): Promise<void> {
  await writeFile(join(folder, "targets.csv"), listOf([...OTHERS, ...listed]));
  await advance(server, 11 * SECOND_MS);
}

const heldBy = (answer: Answer) => {
  expect(answer.status, answer.text).toBe(422);
  expect(answer.body.errors.map(({ code }: { code: string }) => code)).toContain("on_hold");
  // Nobody must learn from us that they are on a list.
  expect(answer.text).not.toMatch(/screen|sanction|match/i);
};
async function openMatches(record_id: string) {
  const { screening_matches } = good(
    await server.call("GET", "/screening_matches?status=open&limit=100"),
  );
  return screening_matches.filter((match: { record_id: string }) => match.record_id === record_id);
}
async function decide(record_id: string, action: "clear" | "confirm"): Promise<void> {
  for (const { id } of await openMatches(record_id)) {
    good(await server.call("POST", `/screening_matches/${id}/${action}`, { reason: "Compared" }));
  }
  await settle(server);
}

it("a list that names a user holds their money at every door until a reviewer clears it", async () => {
  const story = await openStory(server, [{ amount: 50 }]);
  const bounced = await openStory(server, [
    { amount: 50, metadata: { sandbox_outcome: "bounced" } },
  ]);
  await bounced.execute();
  await bounced.waitForStatus("bounced");
  const owed = await addOwedUser(server, 100);
  await settle(server);
  await publish([PAYER]);
  heldBy(await story.execute());
  heldBy(await story.fund(story.quote_id));
  heldBy(await bounced.reroute());
  heldBy(await server.call("POST", `/users/${owed.user_id}/onramps`, { onramp: REQUEST }));
  // A refund needs two members, one of them the operator's.
  expect(proposalIn(await owed.refund(10)).summary).toContain("Refund 10");
  expect(await owed.refunds()).toEqual([]);
  const quote_id = await story.addQuote();
  await deposit(server, { quote_id, amount: 7 });
  expect(await story.owed()).toBe(7);
  const [match] = await openMatches(story.user_id);
  expect(match).toMatchObject({
    verdict: "possible_match",
    record_kind: "user",
    person: { names: ["Invented Payroll Ltd"] },
    entry: { list: "opensanctions", entry_id: "payer", names: ["INVENTED PAYROLL"] },
  });
  await decide(story.user_id, "clear");
  expect((await story.execute()).status).toBe(200);
  expect(await story.waitForStatus("fiat_sent")).toBeDefined();
});

it("a cleared match stays cleared until the entry changes", async () => {
  const story = await openStory(server, [{ amount: 50 }]);
  await publish([PAYER]);
  await decide(story.user_id, "clear");
  await publish([PAYER, { id: "new", name: "Somebody Else" }]);
  expect(await openMatches(story.user_id)).toEqual([]);
  await publish([{ ...PAYER, countries: "pt" }]);
  expect(await openMatches(story.user_id)).toHaveLength(1);
  heldBy(await story.execute());
  // And it is closed when the entry leaves the list.
  await publish([]);
  expect(await openMatches(story.user_id)).toEqual([]);
  expect((await story.execute()).status).toBe(200);
});

it("a changed name leaves the match open; a closed one is not read again", async () => {
  await publish([{ id: "tesrik", name: "Tesrik Varlomov" }]);
  const user = { beneficiary_type: "individual", email: "t@example.com", first_name: "Tesrik" };
  const body = { user: { ...user, last_name: "Varlomov" } };
  const { id: user_id } = good(await server.call("POST", "/users", body)).user;
  const rename = async (first_name: string, last_name: string) =>
    good(await server.call("PATCH", `/users/${user_id}`, { user: { first_name, last_name } }));
  const [match] = await openMatches(user_id);
  const facts = () =>
    listMatchFacts(server.core.database, [{ account_id: server.account_id, user_id }]);
  expect((await facts()).map(({ id }) => id)).toEqual([match.id]);
  const openIds = async () => (await openMatches(user_id)).map(({ id }: { id: string }) => id);
  await rename("Quentin", "Abernathy");
  expect(await openIds()).toEqual([match.id]);
  await rename("Tesrik", "Varlomov");
  expect(await openIds()).toEqual([match.id]);
  // Another spelling of the same person takes its place.
  await rename("Tezrik", "Varlomov");
  const [later, ...others] = await openIds();
  expect(others).toEqual([]);
  expect(later).not.toBe(match.id);
  expect((await facts()).map(({ id }) => id)).toEqual([later]);
  await rename("Tesrik", "Varlomov");
  expect(await openIds()).toEqual([match.id]);
  await publish([]);
  expect(await facts()).toEqual([]);
});

it("a paid onramp of a user on a list is delivered only once cleared", async () => {
  const onramp = await openOnramp(server);
  await publish([PAYER]);
  const received = await receive(server, { amount: 1004, deposit_message: onramp.code });
  expect(received.status).toBe("matched");
  const held = await onramp.show();
  expect(held).toMatchObject({ status: "sending_fiat", tx_id: null });
  expect(held.status_message).toContain("Checks on this user are still running");
  // Nor does it go back to the bank by one key.
  const giveBack = () => server.call("POST", `/deposits/${received.id}/return`);
  expect(proposalIn(await giveBack()).summary).toContain("Return a deposit to its payer");
  const freeze = { reason: "test" };
  good(await server.call("POST", `/users/${onramp.user_id}/freeze`, freeze));
  heldBy(await giveBack());
  good(await server.call("POST", `/users/${onramp.user_id}/unfreeze`, freeze));
  await decide(onramp.user_id, "clear");
  expect((await onramp.show()).status).toBe("crypto_sent");
});

it("money of a payer on a list who is nobody's user goes back only if two members confirm it", async () => {
  await publish([{ id: "depositor", name: "Sandbox Payer" }]);
  const unknown = await receive(server, { amount: 20, deposit_message: "no code" });
  expect(unknown.status).toBe("unmatched");
  const giveBack = () => server.call("POST", `/deposits/${unknown.id}/return`);
  expect(proposalIn(await giveBack()).why).toContain("similar to an entry of a sanctions list");
  expect((await showDeposit(server, unknown.id)).status).toBe("unmatched");
  await publish([]);
  expect(good(await giveBack()).deposit.status).toBe("returning");
});

it("an onramp that somebody on a list has paid for is delivered only once cleared", async () => {
  await publish([{ id: "depositor", name: "Sandbox Payer" }]);
  const onramp = await openOnramp(server);
  await receive(server, { amount: 1004, deposit_message: onramp.code });
  expect(await onramp.show()).toMatchObject({ status: "sending_fiat", tx_id: null });
  const [match] = await openMatches(onramp.user_id);
  expect(match).toMatchObject({
    verdict: "possible_match",
    record_kind: "user",
    person: { names: ["Sandbox Payer (invented)"] },
  });
  await decide(onramp.user_id, "clear");
  expect((await onramp.show()).status).toBe("crypto_sent");
});

it("a payee who is like an entry is pending before the answer, then approved or failed", async () => {
  const payee: Listed = { id: "payee", name: "Maria Invented", birth_date: "1988-04-21" };
  await publish([payee]);
  const user_id = await addApprovedUser(server);
  const statusOf = async (id: string) =>
    good(await server.call("GET", `/users/${user_id}/payment_details/${id}`)).payment_detail.status;
  const first = await addPaymentDetail(server, user_id, "eur");
  expect(await statusOf(first)).toBe("pending");
  const [match] = await openMatches(first);
  expect(match).toMatchObject({ verdict: "match", record_kind: "payment_detail", score: 1 });
  await decide(first, "clear");
  expect(await statusOf(first)).toBe("approved");
  const second = await addPaymentDetail(server, user_id, "mxn");
  await decide(second, "confirm");
  expect(await statusOf(second)).toBe("failed");
  const other = await addPaymentDetail(server, user_id, "usd", { account_name: "Olav Fictive" });
  expect(await statusOf(other)).toBe("approved");
});

it("a payee who is like an entry is approved by a reviewer, not by a call of the sandbox", async () => {
  await publish([{ id: "payee", name: "Maria Invented", birth_date: "1988-04-21" }]);
  const user_id = await addApprovedUser(server);
  const id = await addPaymentDetail(server, user_id, "eur");
  const path = `/sandbox/users/${user_id}/payment_details/${id}`;
  const set = (status: string) => server.call("PATCH", path, { payment_detail: { status } });
  heldBy(await set("approved"));
  // Nor is a payout to them moved on by one.
  const quote_id = await addQuote(server, user_id);
  const money = { destination_amount: 50, destination_currency: "eur" };
  const added = await server.call("POST", `/users/${user_id}/quotes/${quote_id}/offramps`, {
    offramps: [{ payment_detail_id: id, ...money }],
  });
  const { id: offramp_id } = good(added).offramps[0];
  const pay = () =>
    server.call("PATCH", `/sandbox/offramps/${offramp_id}`, { offramp: { status: "fiat_sent" } });
  heldBy(await pay());
  await decide(id, "clear");
  good(await pay());
  good(await set("pending"));
  good(await set("approved"));
});

it("a match of a payee is not erased with the user before a reviewer has cleared it", async () => {
  await publish([{ id: "payee", name: "Maria Invented", birth_date: "1988-04-21" }]);
  const user_id = await addApprovedUser(server);
  const id = await addPaymentDetail(server, user_id, "eur");
  const erase = async () => good(await server.call("DELETE", `/users/${user_id}`)).retention;
  expect((await erase()).kept).toMatchObject([{ record: "hold" }]);
  expect(await openMatches(id)).toHaveLength(1);
  await decide(id, "clear");
  expect((await erase()).status).toBe("erased");
});

it("a person with the listed name and birth date is a match when created, also if renamed", async () => {
  await publish([{ id: "p", name: "Tesrik Varlomov", birth_date: "1954-10-07" }]);
  const user = {
    beneficiary_type: "individual",
    email: "tesrik@example.com",
    first_name: "Тесрик",
    last_name: "Варломов",
    // A company beside it is one more name, not another one.
    company_name: "Harmless Flowers",
    date_of_birth: "07/10/1954",
  };
  const created = await server.call("POST", "/users", { user });
  const { id } = good(created).user;
  expect(created.text).not.toMatch(/screen|sanction/i);
  expect((await openMatches(id))[0]).toMatchObject({ verdict: "match" });
  const renamed = { user: { first_name: "Olav", last_name: "Fictive" } };
  good(await server.call("PATCH", `/users/${id}`, renamed));
  expect((await openMatches(id))[0]).toMatchObject({ verdict: "match" });
  const quote_id = await addQuote(server, id);
  await deposit(server, { quote_id, amount: 7, from: SENDER });
  const refund = { token: "usdc", chain: "polygon", amount: 7, address: SENDER };
  const giveBack = () => server.call("POST", `/users/${id}/refunds`, { refund });
  expect(proposalIn(await giveBack()).why).toContain("is being checked");
  await decide(id, "clear");
  expect(good(await giveBack()).refund.status).toBe("pending");
  // Whoever is confirmed to be on a list is not erased: the proof would go too.
  const again = { ...user, email: "again@example.com" };
  const listed = good(await server.call("POST", "/users", { user: again })).user.id;
  await decide(listed, "confirm");
  const { retention } = good(await server.call("DELETE", `/users/${listed}`));
  expect(retention.kept).toMatchObject([{ record: "hold" }]);
  good(await server.call("GET", `/users/${listed}`));
});

it("tokens from a listed wallet hold the money of the user who received them", async () => {
  const story = await openStory(server, [{ amount: 50 }]);
  await publish([{ id: "wallet", name: "Wallet", wallet: SENDER }]);
  const quote_id = await story.addQuote();
  await deposit(server, { quote_id, amount: 7, from: SENDER.toUpperCase().replace("0X", "0x") });
  await settle(server);
  expect((await openMatches(story.user_id))[0]).toMatchObject({ verdict: "match", listed: SENDER });
  heldBy(await story.execute());
  await decide(story.user_id, "confirm");
  heldBy(await story.execute());
});

it("of thousands of wallets that have sent dust, a match contains those on the list", async () => {
  const story = await openStory(server, [{ amount: 50 }]);
  const quote_id = await story.addQuote();
  const last = `0x${"f".repeat(40)}`;
  await deposit(server, { quote_id, amount: 7, from: last });
  await server.core.database.query(
    `insert into deposits
     select (jsonb_populate_record(d, jsonb_build_object('id', gen_random_uuid(), 'log_index', at,
       'sender', '0x' || lpad(to_hex(at), 40, '0')))).*
     from deposits d, generate_series(1, 2500) as at where d.quote_id = $1`,
    [quote_id],
  );
  const { user_id } = story;
  await publish([{ id: "last", name: "Wallet", wallet: last }, PAYER]);
  const matches = await openMatches(user_id);
  expect(matches.map(({ listed }: { listed: string }) => listed).sort()).toEqual(
    [last, PAYER.name].sort(),
  );
  for (const { person } of matches) expect(person.wallets).toEqual([last]);
});

it("two members, one of them the operator's, may refund a user whose screening is open", async () => {
  const tenant = await server.addAccount("Tenant");
  const owed = await addOwedUser(server, 100, tenant.key);
  await settle(server);
  await publish([PAYER]);
  const { id } = proposalIn(await owed.refund(10));
  const own = await addMember(server, "admin", tenant.account_id);
  const operators = await addMember(server, "admin");
  await own.confirm(id);
  await settle(server);
  expect(await owed.refunds()).toEqual([]);
  await operators.confirm(id);
  await settle(server);
  expect(await owed.refunds()).toMatchObject([{ status: "sent", amount: 10 }]);
  const confirmed = await addOwedUser(server, 100, tenant.key);
  await settle(server);
  await decide(confirmed.user_id, "confirm");
  heldBy(await confirmed.refund(10));
});

it("votes from before a match let no refund go, also in the operator's account", async () => {
  await publish([]);
  const owed = await addOwedUser(server, 100);
  await settle(server);
  const { id } = proposalIn(await owed.refund(10, STRANGE));
  const [first, second] = [await addMember(server, "admin"), await addMember(server, "approver")];
  await first.confirm(id);
  await publish([PAYER]);
  await second.confirm(id);
  await settle(server);
  expect((await showProposal(server, id)).status).toBe("void");
  expect(await owed.refunds()).toEqual([]);
});

it("matches are shown to the operator only, on a page with person and entry side by side", async () => {
  const story = await openStory(server, [{ amount: 50 }]);
  await publish([PAYER]);
  const tenant = await server.addAccount("Other tenant");
  const denied = await server.call("GET", "/screening_matches", undefined, { key: tenant.key });
  expect(denied.body.error_code).toBe("insufficient_scope");
  const stranger = await addMember(server, "admin", tenant.account_id);
  expect((await stranger.visitor.get("/dashboard/screening")).statusCode).toBe(404);
  const reviewer = await addMember(server, "approver");
  const page = await reviewer.visitor.get("/dashboard/screening");
  expect(page.body).toContain("INVENTED PAYROLL");
  expect(page.body).toContain("Invented Payroll Ltd");
  const [match] = await openMatches(story.user_id);
  const path = `/dashboard/screening/${match.id}`;
  const empty = await reviewer.visitor.post(path, { action: "clear", reason: " " });
  expect([empty.statusCode, empty.body.includes("Give a reason")]).toEqual([400, true]);
  const done = await reviewer.visitor.post(path, { action: "clear", reason: "Other company" });
  expect(done.statusCode).toBe(303);
  expect(await openMatches(story.user_id)).toEqual([]);
  const entries = await server.db.database.query(
    "select account_id, actor, reason from audit_entries where record = $1",
    [`screening_match:${match.id}`],
  );
  const actor = `member:${reviewer.person_id}`;
  expect(entries).toEqual([{ account_id: server.account_id, actor, reason: "Other company" }]);
  const again = await server.call("POST", `/screening_matches/${match.id}/clear`, { reason: "x" });
  expect(again.body.error_code).toBe("invalid_transition");
});

it("a broken list keeps the old one in use and raises an alarm", async () => {
  const story = await openStory(server, [{ amount: 50 }]);
  await publish([PAYER]);
  await writeFile(join(folder, "targets.csv"), "not a list");
  await advance(server, 11 * SECOND_MS);
  heldBy(await story.execute());
  const metrics = await server.call("GET", "/metrics");
  expect(metrics.text).toMatch(/sliproad_screening_list_broken 1/);
  expect(metrics.text).toMatch(/sliproad_screening_matches_open\{verdict="possible_match"\} [1-9]/);
});

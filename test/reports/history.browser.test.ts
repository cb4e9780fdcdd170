import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  addMember,
  addOwedUser,
  proposalIn,
  type TestMember,
} from "../approvals/proposal-fixture.ts";
import {
  findBarriers,
  openBrowser,
  scrollsSideways,
  takeShot,
  watchErrors,
} from "../harness/browser.ts";
import { PASSWORD } from "../harness/password.ts";
import { addApprovedUser, addPaymentDetail, addQuote, execute } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";

type Item = Record<"kind" | "what", string> & {
  who: string | null;
  before: string | null;
  after: string | null;
  why: string | null;
  lines: { ledger_account: string; currency: string; amount: string }[];
};

let server: TestServer;
let browser: Browser;
beforeAll(async () => {
  const environment = { SLIPROAD_APPROVAL_ABOVE_USD: "5000", SLIPROAD_DOCUMENTS: "never" };
  server = await startTestServer({ environment });
  browser = await openBrowser();
});
afterAll(async () => {
  try {
    await browser?.close();
  } finally {
    await server?.close();
  }
});

async function historyOf(record_id: string): Promise<Item[]> {
  const answer = await server.call("GET", `/records/${record_id}/history`);
  expect(answer.status, answer.text).toBe(200);
  return answer.body.history;
}

const keyOf = async () => {
  const [row] = await server.db.database.query<{ id: string }>("select id from api_keys");
  return `api_key:${row!.id}`;
};

async function payOne(): Promise<string> {
  const user_id = await addApprovedUser(server);
  const payment_detail_id = await addPaymentDetail(server, user_id, "usd");
  const quote_id = await addQuote(server, user_id);
  const created = await server.call("POST", `/users/${user_id}/quotes/${quote_id}/offramps`, {
    offramps: [{ payment_detail_id, destination_amount: 100, destination_currency: "usd" }],
  });
  const { id } = created.body.offramps[0];
  await execute(server, user_id, quote_id);
  await waitFor(async () => {
    const shown = await server.call("GET", `/users/${user_id}/offramps/${id}`);
    return shown.body.offramp.status === "fiat_sent" ? true : undefined;
  });
  return id;
}

/** A refund above the approval amount, confirmed by two members. */
async function refundByApproval(): Promise<{ user_id: string; members: TestMember[] }> {
  const user = await addOwedUser(server, 9000);
  const proposal = proposalIn(await user.refund(6000));
  const members = [await addMember(server, "admin"), await addMember(server, "approver")];
  for (const member of members) await member.confirm(proposal.id);
  await server.app.worker.runUntilIdle(10_000);
  return { user_id: user.user_id, members };
}

test("a payout's history has every change, every posting, and who caused them", async () => {
  const history = await historyOf(await payOne());
  const changes = history.filter(({ kind }) => kind === "event").reverse();
  expect(changes.map(({ before, after }) => [before, after])).toEqual([
    [null, "initiated"],
    ["initiated", "pending_internal_assessment"],
    ["pending_internal_assessment", "sending_fiat"],
    ["sending_fiat", "fiat_sent"],
  ]);
  // The key created it; what followed is background work.
  expect(changes.map(({ who }) => who)).toEqual([await keyOf(), null, null, null]);
  const postings = history.filter(({ kind }) => kind === "posting").reverse();
  expect(postings.map(({ what }) => what)).toEqual(["payout_funded", "payout_booked"]);
  expect(postings.at(-1)).toMatchObject({
    why: "The bank confirms the payment.",
    lines: [
      { currency: "usd", amount: "100" },
      { ledger_account: "bank:sandbox-usd", currency: "usd", amount: "-100" },
    ],
  });
});

test("whoever let money go is named on the quote, payout, refund and user", async () => {
  const who = await keyOf();
  const actsOf = async (id: string) =>
    (await historyOf(id))
      .filter(({ kind }) => kind === "act")
      .map((item) => `${item.what} ${item.who === who ? "by the key" : item.who}`);
  const id = await payOne();
  const { quote_id, user_id, payment_detail_id } = (await server.call("GET", `/offramps`)).body
    .offramps[0];
  expect(await actsOf(id)).toEqual(["quote.execute by the key"]);
  expect(await actsOf(quote_id)).toEqual(["quote.execute by the key"]);
  expect(await actsOf(user_id)).toEqual(["quote.execute by the key"]);
  expect(await actsOf(payment_detail_id)).toEqual(["payment_detail.create by the key"]);
  const user = await addOwedUser(server, 300);
  const { refund } = (await user.refund(10)).body;
  expect(await actsOf(refund.id)).toEqual(["refund.create by the key"]);
  const detail_id = await addPaymentDetail(server, user.user_id, "usd");
  const to_fund = await addQuote(server, user.user_id);
  const path = `/users/${user.user_id}/quotes/${to_fund}`;
  const item = {
    payment_detail_id: detail_id,
    destination_amount: 100,
    destination_currency: "usd",
  };
  expect((await server.call("POST", `${path}/offramps`, { offramps: [item] })).status).toBe(200);
  expect((await server.call("POST", `${path}/fund`)).status).toBe(200);
  expect(await actsOf(to_fund)).toEqual(["quote.fund by the key"]);
  expect(await actsOf(user.user_id)).toEqual([
    "quote.fund by the key",
    "refund.create by the key",
    "refund_address.create by the key",
  ]);
});

test("a decision's history names the key that asked, and both members who confirmed", async () => {
  const { user_id, members } = await refundByApproval();
  const history = await historyOf(user_id);
  const of = (kind: string) => history.filter((item) => item.kind === kind);
  expect(of("proposal")).toEqual([
    expect.objectContaining({ who: await keyOf(), after: expect.stringMatching(/^done/) }),
  ]);
  expect(
    of("vote")
      .map(({ who, what }) => [who, what])
      .sort(),
  ).toEqual(members.map(({ person_id }) => [`member:${person_id}`, "confirm"]).sort());
  expect(of("posting").map(({ what }) => what)).toContain("refund_started");
});

test("what came back says the bank's reason, and a refund the reason that was given", async () => {
  const id = await payOne();
  const offramp = { status: "bounced" };
  const forced = await server.call("PATCH", `/sandbox/offramps/${id}`, { offramp });
  expect(forced.status, forced.text).toBe(200);
  await server.app.worker.runUntilIdle(10_000);
  const { user_id } = (await server.call("GET", "/offramps")).body.offramps[0];
  const path = `/users/${user_id}/offramps/${id}/refund`;
  const long = await server.call("POST", path, { reason: "x".repeat(501) });
  expect(long.body.errors).toMatchObject([{ field: "reason", code: "value_too_long" }]);
  const reason = "The payee closed the account";
  expect((await server.call("POST", path, { reason })).status).toBe(200);
  const history = await historyOf(id);
  const why = (name: string) =>
    history.find(({ kind, what, after }) => (kind === "event" ? after : what) === name)?.why;
  expect(why("bounced")).toContain("The bank returned the payment");
  expect(why("failed")).toContain("The payout was refunded");
  expect(why("fiat_sent")).toBe(null);
  expect(why("offramp.refund")).toBe(reason);
});

test("another account sees none of it", async () => {
  const id = await payOne();
  const { key } = await server.addAccount("Other");
  const answer = await server.call("GET", `/records/${id}/history`, undefined, { key });
  expect([answer.status, answer.body.error_code]).toEqual([404, "record_not_found"]);
});

test.each([
  [1280, "light"],
  [360, "dark"],
] as const)("the page shows it on a screen of %i px, %s", async (width, colorScheme) => {
  const { user_id } = await refundByApproval();
  const { email } = await addMember(server, "accountant");
  const context = await browser.newContext({ viewport: { width, height: 740 }, colorScheme });
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(10_000);
    const errors = watchErrors(page);
    await page.goto(`${server.url}/dashboard/records/${user_id}`);
    await page.getByLabel("E-mail").fill(email);
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { level: 2, name: "History" }).waitFor();
    const text = await page.getByRole("table", { name: "History" }).textContent();
    for (const words of ["Refund started", "6\u202f000.00 USDC", "Confirm", "API key"]) {
      expect(text).toContain(words);
    }
    // Those of the e-mail addresses are names of this test.
    expect(text).not.toMatch(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(?!@)/);
    const title = await page.getByRole("heading", { level: 1 }).textContent();
    expect(title).not.toContain("Record");
    const kept = await page.getByRole("table", { name: "What is kept" }).textContent();
    for (const words of ["balance", "No time known", "5 years"]) expect(kept).toContain(words);
    expect(await scrollsSideways(page)).toBe(false);
    expect(await findBarriers(page)).toEqual([]);
    await takeShot(page, `history-${width}`);
    expect(errors).toEqual([]);
  } finally {
    await context.close();
  }
});

test("developers cannot see money", async () => {
  const { visitor } = await addMember(server, "developer");
  const { user_id } = await addOwedUser(server, 10);
  expect((await visitor.get(`/dashboard/records/${user_id}`)).statusCode).toBe(403);
});

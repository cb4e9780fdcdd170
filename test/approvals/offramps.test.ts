import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { UPLOAD, UPLOAD_TYPE } from "../harness/api-document.ts";
import { addPaymentDetail } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { setAccount } from "../kyc/review/review-fixture.ts";
import { expectRefusal, findFault, good, openStory, settle } from "../offramps/story.ts";
import {
  addMember,
  payOut,
  proposalIn,
  shownIn,
  showProposal,
  type TestMember,
  waitForEnd,
} from "./proposal-fixture.ts";

let server: TestServer;
let ada: TestMember;
let ben: TestMember;

beforeAll(async () => {
  const environment = { SLIPROAD_APPROVAL_ABOVE_USD: "1000", SLIPROAD_DOCUMENTS: "never" };
  server = await startTestServer({ environment });
  ada = await addMember(server, "admin");
  ben = await addMember(server, "finance_manager");
});
afterAll(() => server.close());

const walk = async (id: string, status: string) =>
  good(await server.call("PATCH", `/sandbox/offramps/${id}`, { offramp: { status } }));

async function agree(id: string) {
  await ada.confirm(id);
  await ben.confirm(id);
  return waitForEnd(server, id);
}

async function openBounced(items: { amount: number }[]) {
  const story = await openStory(server, items);
  await payOut(server, story, [ada, ben]);
  await walk(story.offramp_id, "bounced");
  return story;
}

/** In eur already worth more than the limit. */
const LARGE = [{ amount: 1200 }];

describe("an offramp above the limit", () => {
  it("is cancelled only after two members agree", async () => {
    const story = await openBounced(LARGE);
    const before = await story.owed();
    const proposal = proposalIn(await story.giveUp());
    expect(proposal).toMatchObject({
      kind: "refund-offramps",
      record_id: story.offramp_id,
      summary: "Refund a payout of 1200 eur.",
    });
    expect(proposal.amount_usd).toBeGreaterThan(1200);
    expect((await story.show()).status).toBe("bounced");
    expect((await agree(proposal.id)).status).toBe("done");
    expect((await story.show()).status).toBe("failed");
    expect(await story.owed()).toBeGreaterThan(before);
  });

  it("of two proposals for it, the second is void once the first is done", async () => {
    const story = await openBounced(LARGE);
    const first = proposalIn(await story.giveUp());
    const second = proposalIn(await story.giveUp());
    await ada.confirm(second.id);
    expect((await agree(first.id)).status).toBe("done");
    const owed = await story.owed();
    // At once, not when somebody votes.
    expect((await waitForEnd(server, second.id)).status).toBe("void");
    expect(await story.owed()).toBe(owed);
  });

  it("is re-routed only after two members agree, and every check runs again", async () => {
    const story = await openBounced(LARGE);
    const other = await addPaymentDetail(server, story.user_id, "eur");
    const { id } = proposalIn(await story.reroute(other));
    expect((await agree(id)).status).toBe("done");
    await story.waitForStatus("fiat_sent");
    expect((await story.show()).payment_detail_id).toBe(other);

    await walk(story.offramp_id, "bounced");
    const again = proposalIn(await story.reroute(story.payment_detail_id));
    const path = `/users/${story.user_id}/payment_details/${story.payment_detail_id}/deactivate`;
    good(await server.call("PATCH", path));
    expect(await agree(again.id)).toMatchObject({
      status: "failed",
      outcome: "This payment detail was deactivated; use another one.",
    });
    expect((await story.show()).status).toBe("bounced");
  });

  it("up to the limit needs no approval", async () => {
    const story = await openBounced([{ amount: 100 }]);
    expect(good(await story.giveUp()).offramp.status).toBe("failed");
  });
});

describe("a quote above the limit", () => {
  const upload = (id: string, raw: Buffer) =>
    server.call("POST", `/offramps/${id}/supporting-documents`, undefined, {
      raw,
      headers: { "content-type": UPLOAD_TYPE },
    });
  const OTHER = Buffer.from(UPLOAD.toString("latin1").replace("invented", "replaced"), "latin1");

  it("is void at once when a document that the first voter saw is replaced", async () => {
    const story = await openStory(server, LARGE);
    const { proposal_id: id } = good(await story.execute()).approval;
    good(await upload(story.offramp_id, UPLOAD));
    const documents = { label: "Documents", value: "1 of 1" };
    await waitFor(async () =>
      (await showProposal(server, id)).details.some(
        ({ label, value }: typeof documents) =>
          label === documents.label && value === documents.value,
      ),
    );
    await ada.confirm(id);
    good(await upload(story.offramp_id, OTHER));
    expect(await waitForEnd(server, id)).toMatchObject({ status: "void" });
    await story.waitForStatus("failed");
    expect(await story.owed()).toBeGreaterThan(1200);
  });

  it("is void when its first document arrives after the first vote", async () => {
    const story = await openStory(server, LARGE);
    const { proposal_id: id } = good(await story.execute()).approval;
    await ada.confirm(id);
    good(await upload(story.offramp_id, UPLOAD));
    expect(await waitForEnd(server, id)).toMatchObject({ status: "void" });
    await story.waitForStatus("failed");
    expect(await story.owed()).toBeGreaterThan(1200);
  });

  const judge = (id: string, status: string) =>
    server.call("PATCH", `/offramps/${id}/supporting-documents`, {
      supporting_document: { status },
    });

  it("is confirmed only once no document is missing", async () => {
    // Each is below the limit, so that one key reviews its document.
    const story = await openStory(server, [{ amount: 600 }, { amount: 600 }]);
    const { proposal_id: id } = good(await story.execute()).approval;
    good(await upload(story.offramp_id, UPLOAD));
    good(await judge(story.offramp_id, "rejected"));
    await settle(server);
    expect(shownIn(await ada.open(), id).waits_for).not.toBeNull();
    await ada.confirm(id);
    expect(await showProposal(server, id)).toMatchObject({ status: "pending", confirmations: 0 });
    good(await upload(story.offramp_id, OTHER));
    await settle(server);
    expect((await agree(id)).status).toBe("done");
    await story.waitForStatus("fiat_sent");
  });

  it("pays with a document uploaded after its approval only once two members approve it", async () => {
    const story = await openStory(server, [{ amount: 600 }, { amount: 600 }]);
    const hold = (act: string) =>
      server.call("POST", `/users/${story.user_id}/${act}`, { reason: "a test" });
    const { proposal_id } = good(await story.execute()).approval;
    good(await upload(story.offramp_id, UPLOAD));
    await settle(server);
    good(await hold("freeze"));
    expect((await agree(proposal_id)).status).toBe("done");
    good(await upload(story.offramp_id, OTHER));
    good(await hold("unfreeze"));
    await story.waitForStatus("fiat_sent", story.offramp_ids[1]);
    await settle(server);
    expect(await story.show()).toMatchObject({
      status: "ongoing_checks",
      status_message: expect.stringContaining("uploaded after two members approved the payment"),
    });
    const { id } = proposalIn(await judge(story.offramp_id, "approved"));
    expect((await agree(id)).status).toBe("done");
    await story.waitForStatus("fiat_sent");
  });

  it("that ends before it is approved has no pending proposal any more", async () => {
    const story = await openStory(server, LARGE);
    const { proposal_id: id } = good(await story.execute()).approval;
    await story.waitForStatus("ongoing_checks");
    const { id: refund } = proposalIn(await story.giveUp());
    await agree(refund);
    expect(await waitForEnd(server, id)).toMatchObject({
      status: "void",
      outcome: "The quote has ended.",
    });
  });

  it("is not compared again because a payout of it begins to wait", async () => {
    const { database } = server.core;
    await database.query("create table checks_seen (record_id uuid)");
    await database.query(
      `create function see_check() returns trigger language plpgsql as
       $$ begin insert into checks_seen values (new.record_id); return null; end $$`,
    );
    await database.query(
      `create trigger see_check after insert on tasks for each row
       when (new.kind = 'check-proposals') execute function see_check()`,
    );
    const countChecks = async (quote_id: string) =>
      (await database.query("select from checks_seen where record_id = $1", [quote_id])).length;
    const story = await openStory(server, [{ amount: 600 }, { amount: 600 }, { amount: 600 }]);
    good(await story.execute());
    for (const id of story.offramp_ids) await story.waitForStatus("ongoing_checks", id);
    await settle(server);
    expect(await countChecks(story.quote_id)).toBe(0);
    good(await upload(story.offramp_id, UPLOAD));
    expect(await countChecks(story.quote_id)).toBe(1);
    await database.query("drop trigger see_check on tasks");
  });

  it("shows every payout and marks new payees, also the smallest of many", async () => {
    // Together more than one page of an answer may have.
    const keys = Array.from({ length: 50 }, (_, at) => [`key ${at}`, "é".repeat(500)] as const);
    const metadata = Object.fromEntries(keys);
    const items = Array.from({ length: 120 }, (_, at) => ({ amount: 100 + at, metadata }));
    const story = await openStory(server, items);
    const hidden = await addPaymentDetail(server, story.user_id, "eur", {
      account_name: "Hidden Invented",
      iban: "PT50000201231234567890154",
    });
    const path = `/users/${story.user_id}/quotes/${story.quote_id}/offramps`;
    const item = { payment_detail_id: hidden, destination_amount: 20, destination_currency: "eur" };
    good(await server.call("POST", path, { offramps: [{ ...item, reference: "small" }] }));
    const { proposal_id: id } = good(await story.execute()).approval;

    const listed = [];
    for (let after = ""; ; ) {
      const list = `/proposals/${id}/payouts?limit=50${after}`;
      const { payouts, has_more } = good(await server.call("GET", list));
      listed.push(...payouts);
      if (!has_more) break;
      after = `&starting_after=${payouts.at(-1).id}`;
    }
    expect(listed).toHaveLength(121);
    expect(listed[0]).toMatchObject({
      payee: "“Hidden Invented”, iban PT50…0154",
      is_new_payee: true,
      is_recent_payee: true,
      destination_amount: 20,
      destination_currency: "eur",
      rails: "local",
      reference: "small",
      invoice_id: null,
      document_sha256: null,
    });
    expect(listed.slice(1).every((one) => one.is_new_payee === false)).toBe(true);
    const shown = await showProposal(server, id);
    expect(shown.details).toContainEqual({
      label: "Payees never paid before",
      value: "1 of 2, 20 eur",
    });
    expect(shown.summary).toBe("Pay 121 payouts of a quote, 19160 eur.");
    expect(JSON.stringify(shown.details).length).toBeLessThan(10_000);

    const former = await ada.visitor.get(`/dashboard/proposals/${id}/payouts`);
    expect(former.headers.location).toBe(`/dashboard/approvals/${id}`);
    expect((await ada.call("GET", `/proposals/${id}/payouts`)).json().payouts).not.toEqual([]);
    const developer = await addMember(server, "developer");
    const refused = await developer.call("GET", `/proposals/${id}/payouts`);
    expect(refused.statusCode).toBe(403);
    expectRefusal(
      await server.call("GET", `/proposals/${crypto.randomUUID()}/payouts`),
      "record_not_found",
    );
    await ben.reject(id);
  });
});

describe("a document above the limit", () => {
  const path = (id: string) => `/offramps/${id}/supporting-documents`;
  const upload = (id: string, raw = UPLOAD, key = server.key) =>
    server.call("POST", path(id), undefined, {
      raw,
      key,
      headers: { "content-type": UPLOAD_TYPE },
    });
  const review = (id: string) =>
    server.call("PATCH", path(id), { supporting_document: { status: "approved" } });

  it("is approved by the proposal that two members confirmed, as the audit log says", async () => {
    const { offramp_id, show } = await openStory(server, LARGE);
    good(await upload(offramp_id));
    const { id } = proposalIn(await review(offramp_id));
    expect((await show()).supporting_document.status).toBe("not_checked");
    expect((await agree(id)).status).toBe("done");
    expect((await show()).supporting_document.status).toBe("approved");
    const entries = await server.db.database.query(
      "select actor from audit_entries where record = $1 and action = 'document.approved'",
      [`offramp:${offramp_id}`],
    );
    expect(entries).toEqual([{ actor: `proposal:${id}` }]);
  });

  it("of another account is reviewed by the operator's key, and by the account's once delegated", async () => {
    const { account_id, key } = await server.addAccount("Tenant");
    const theirs: typeof server = {
      ...server,
      key,
      call: (method, to, body, options) => server.call(method, to, body, { key, ...options }),
    };
    const story = await openStory(theirs, [{ amount: 100 }]);
    const large = await openStory(theirs, LARGE);
    for (const { offramp_id } of [story, large]) good(await upload(offramp_id, UPLOAD, key));
    const judge = (id: string, by: string) =>
      server.call("PATCH", path(id), { supporting_document: { status: "approved" } }, { key: by });
    expectRefusal(await judge(story.offramp_id, key), "insufficient_scope");
    expect(good(await judge(story.offramp_id, server.key)).offramp.id).toBe(story.offramp_id);
    expectRefusal(await judge(crypto.randomUUID(), server.key), "record_not_found");

    const { id } = proposalIn(await judge(large.offramp_id, server.key));
    const theirs_too = await addMember(server, "approver", account_id);
    await theirs_too.confirm(id);
    expect(await showProposal(server, id, key)).toMatchObject({ status: "pending" });
    await ada.confirm(id);
    expect((await waitForEnd(server, id, key)).status).toBe("done");

    await setAccount(server, account_id, { document_review_by_account: true });
    const own = await openStory(theirs, [{ amount: 100 }]);
    good(await upload(own.offramp_id, UPLOAD, key));
    expect(good(await judge(own.offramp_id, key)).offramp.id).toBe(own.offramp_id);
    // Only the single amount counts: many small ones need no approval.
    for (let at = 0; at < 3; at += 1) {
      const next = await openStory(theirs, [{ amount: 700 }]);
      good(await upload(next.offramp_id, UPLOAD, key));
      expect(good(await judge(next.offramp_id, key)).proposal).toBeUndefined();
    }

    // What its members confirm after the operator took the reviews back approves nothing.
    const late = await openStory(theirs, LARGE);
    good(await upload(late.offramp_id, UPLOAD, key));
    const { id: late_id } = proposalIn(await judge(late.offramp_id, key));
    await setAccount(server, account_id, { document_review_by_account: false });
    await theirs_too.confirm(late_id);
    await (await addMember(server, "approver", account_id)).confirm(late_id);
    expect(await waitForEnd(server, late_id, key)).toMatchObject({
      ...{ status: "failed", outcome: "The operator reviews the documents of this account." },
    });
    expect((await late.show()).supporting_document.status).toBe("not_checked");
  });

  it("replaced after the proposal is not approved by it", async () => {
    const { offramp_id, show } = await openStory(server, LARGE);
    good(await upload(offramp_id));
    const { id } = proposalIn(await review(offramp_id));
    const other = Buffer.from(UPLOAD.toString("latin1").replace("invented", "replaced"), "latin1");
    good(await upload(offramp_id, other));
    const ended = await agree(id);
    expect(ended.status).toBe("void");
    expect((await show()).supporting_document.status).toBe("not_checked");
    expect(await showProposal(server, id)).toEqual(ended);
  });
});

it("sliproad verify finds no problems after these tests", async () => {
  await settle(server);
  expect(await findFault(server)).toBeNull();
});

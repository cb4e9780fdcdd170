import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { setMemberRole } from "../../../src/accounts/change-members.ts";
import { addMember, type TestMember, waitForEnd } from "../../approvals/proposal-fixture.ts";
import { addApprovedUser, addPaymentDetail, addQuote } from "../../harness/ramp.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { setAccount } from "../../kyc/review/review-fixture.ts";
import { findFault } from "../story.ts";
import {
  type DocumentFixture,
  openDocumentFixture,
  PDF,
  PNG,
  sha256,
  type TestOfframp,
} from "./document-fixture.ts";

const PAGE = "/dashboard/documents";

let server: TestServer;
let fixture: DocumentFixture;
let ada: TestMember;
let ben: TestMember;

beforeAll(async () => {
  const environment = { SLIPROAD_DOCUMENTS: "review", SLIPROAD_APPROVAL_ABOVE_USD: "5000" };
  server = await startTestServer({ environment });
  fixture = await openDocumentFixture(server);
  ada = await addMember(server, "admin");
  ben = await addMember(server, "approver");
});
afterAll(() => server.close());

async function addRejected(amount = 1000, comment = "Last month's payslip"): Promise<TestOfframp> {
  const offramp = await fixture.addOfframp({ amount });
  expect((await fixture.upload(offramp, PDF)).status).toBe(200);
  const answer = await fixture.review(offramp, { status: "rejected", comment });
  expect(answer.status, answer.text).toBe(200);
  const { proposal } = answer.body;
  if (!proposal) return offramp;
  // Above the approval amount the rejection needs two members as well.
  for (const member of [ada, ben]) await member.confirm(proposal.id);
  expect((await waitForEnd(server, proposal.id)).status).toBe("done");
  return offramp;
}

/** What the form on the page submits. */
function approve(
  member: TestMember,
  { id }: TestOfframp,
  fields: { reason?: string; hash?: string; csrf?: string } = {},
) {
  const sent = { reason: "The payer called: right month", hash: sha256(PDF), ...fields };
  return member.visitor.post(`${PAGE}/${id}/approve`, sent);
}

const documentOf = async (offramp: TestOfframp) =>
  (await fixture.show(offramp)).supporting_document.status;

function sectionOf(page: string, { id }: TestOfframp): string {
  return page.slice(page.indexOf(`title-${id}`)).split("</section>")[0]!;
}

describe("the page of rejected documents", () => {
  it("shows the offramp, the file, the reason and the time, and only rejected documents", async () => {
    const offramp = await addRejected();
    const other = await fixture.addOfframp();
    await fixture.upload(other, PNG);
    const { body, statusCode } = await ada.visitor.get(PAGE);
    expect(statusCode).toBe(200);
    expect(body).not.toContain(other.id);
    const section = sectionOf(body, offramp);
    for (const words of [offramp.id, sha256(PDF), "Last month&#39;s payslip", "<time", "1000"]) {
      expect(section).toContain(words);
    }
  });

  it("serves the file to members as a type that cannot run, and logs who opened it", async () => {
    const offramp = await addRejected();
    const file = await ada.visitor.get(`${PAGE}/${offramp.id}/file`);
    expect(file.statusCode).toBe(200);
    expect(file.rawPayload.equals(PDF)).toBe(true);
    expect(file.headers).toMatchObject({
      "content-type": "application/pdf",
      "content-security-policy": "sandbox; default-src 'none'",
      "x-content-type-options": "nosniff",
    });
    expect(file.headers["content-disposition"]).toContain("attachment");
    const { actor, action, hash } = (await fixture.audit(offramp)).at(-1)!;
    expect({ actor, action, hash }).toEqual({
      actor: `member:${ada.person_id}`,
      action: "document.read",
      hash: sha256(PDF),
    });
  });

  it("says that there is nothing to approve where no file was received", async () => {
    const offramp = await fixture.addOfframp({ submitted_url: "http://127.0.0.1:9/none.pdf" });
    await fixture.review(offramp, { status: "rejected", comment: "No such page" });
    const section = sectionOf((await ada.visitor.get(PAGE)).body, offramp);
    expect(section).toContain("No file was received");
    expect(section).not.toContain("<form");
    expect((await ada.visitor.get(`${PAGE}/${offramp.id}/file`)).statusCode).toBe(404);
  });

  it("continues on a second page after fifty, and shows each once", async () => {
    const user_id = await addApprovedUser(server);
    const payment_detail_id = await addPaymentDetail(server, user_id, "eur");
    const quote_id = await addQuote(server, user_id);
    const item = { payment_detail_id, destination_amount: 100, destination_currency: "eur" };
    const path = `/users/${user_id}/quotes/${quote_id}/offramps`;
    await server.call("POST", path, { offramps: Array.from({ length: 51 }, () => item) });
    const mark = (status: string | null) =>
      server.db.database.query("update offramps set document_status = $2 where quote_id = $1", [
        quote_id,
        status,
      ]);
    await mark("rejected");
    const idsOn = ({ body }: { body: string }) =>
      [...body.matchAll(/id="title-([^"]+)"/g)].map((match) => match[1]!);
    const first = await ada.visitor.get(PAGE);
    expect(idsOn(first)).toHaveLength(50);
    const [, next] = /href="([^"]+)">Next page/.exec(first.body)!;
    const second = idsOn(await ada.visitor.get(next!));
    expect(second.length).toBeGreaterThan(0);
    expect(second.filter((id) => idsOn(first).includes(id))).toEqual([]);
    await mark(null);
  });

  it("says so when there are none, or when the review is not delegated to the account", async () => {
    const account = await server.addAccount("No rejections");
    const member = await addMember(server, "approver", account.account_id);
    const { body } = await member.visitor.get(PAGE);
    expect(body).toContain("The operator reviews the documents of this account");
    expect(body).not.toContain("No rejected documents");
    await setAccount(server, account.account_id, { document_review_by_account: true });
    expect((await member.visitor.get(PAGE)).body).toContain("No rejected documents");
  });
});

describe("approving with a reason", () => {
  it("approves the file; the audit log has the member, the reason and the hash", async () => {
    const offramp = await addRejected();
    const answer = await approve(ada, offramp);
    expect(answer.headers.location).toBe(`${PAGE}?done=approved`);
    expect((await ada.visitor.get(`${PAGE}?done=approved`)).body).toContain("approved");
    expect(await documentOf(offramp)).toBe("approved");
    expect((await fixture.audit(offramp)).at(-1)).toEqual({
      actor: `member:${ada.person_id}`,
      action: "document.approved",
      reason: "The payer called: right month",
      hash: sha256(PDF),
    });
    expect((await ada.visitor.get(PAGE)).body).not.toContain(offramp.id);
  });

  it("422 without a reason, with one that is too long, and for a replaced file", async () => {
    const offramp = await addRejected();
    const blank = await approve(ada, offramp, { reason: "  " });
    expect(blank.statusCode).toBe(422);
    expect(blank.body).toContain("Enter a reason");
    const long = await approve(ada, offramp, { reason: "x".repeat(501) });
    expect(long.body).toContain("at most 500 characters");
    const stale = await approve(ada, offramp, { hash: sha256(PNG), reason: "kept in the form" });
    expect(stale.statusCode).toBe(422);
    expect(stale.body).toContain("was replaced");
    expect(stale.body).toContain('value="kept in the form"');
    expect(await documentOf(offramp)).toBe("rejected");
  });

  it("becomes a proposal above the approval amount, with the member as one of the two", async () => {
    const offramp = await addRejected(6000);
    const answer = await approve(ada, offramp);
    expect(answer.headers.location).toBe(`${PAGE}?done=proposed`);
    expect(await documentOf(offramp)).toBe("rejected");
    const { body } = await server.call("GET", "/proposals");
    const proposal = body.proposals.find(
      (one: { record_id: string }) => one.record_id === offramp.id,
    );
    expect(proposal).toMatchObject({ kind: "review-documents", confirmations: 1 });
    const section = sectionOf((await ben.visitor.get(PAGE)).body, offramp);
    expect(section).toContain("/dashboard/proposals");
    expect(section).not.toContain("<form");
    const shown = (await ben.open()).body;
    expect(shown).toContain(`href="${PAGE}/${offramp.id}/file"`);
    expect(shown).toContain("The payer called: right month");

    await ada.confirm(proposal.id);
    expect(await documentOf(offramp)).toBe("rejected");
    await ben.confirm(proposal.id);
    expect((await waitForEnd(server, proposal.id)).status).toBe("done");
    expect(await documentOf(offramp)).toBe("approved");
    expect((await fixture.audit(offramp)).at(-1)).toMatchObject({
      actor: `proposal:${proposal.id}`,
      action: "document.approved",
      reason: "The payer called: right month",
    });
  });

  it("does not count the member who proposed it once they may no longer vote", async () => {
    const offramp = await addRejected(6000);
    const eve = await addMember(server, "finance_manager");
    await approve(eve, offramp);
    const { proposals } = (await server.call("GET", "/proposals?status=pending")).body;
    const { id } = proposals.find((one: { record_id: string }) => one.record_id === offramp.id);
    const member = { account_id: server.account_id, person_id: eve.person_id };
    const by = { actor: "command line", reason: "not trusted any more" } as const;
    await server.core.database.transaction((tx) =>
      setMemberRole(tx, member, "developer", by, server.core.clock.now()),
    );
    await ben.confirm(id);
    const shown = (await server.call("GET", `/proposals/${id}`)).body.proposal;
    expect(shown).toMatchObject({ status: "pending", confirmations: 1 });
    await ada.confirm(id);
    expect((await waitForEnd(server, id)).status).toBe("done");
  });

  it.each(["accountant", "developer"] as const)("is refused to the role %s", async (role) => {
    const offramp = await addRejected();
    const member = await addMember(server, role);
    expect((await member.visitor.get(PAGE)).statusCode).toBe(403);
    expect((await member.visitor.get(`${PAGE}/${offramp.id}/file`)).statusCode).toBe(403);
    expect((await approve(member, offramp)).statusCode).toBe(403);
    expect(await documentOf(offramp)).toBe("rejected");
  });

  it("is refused to other accounts, for unknown ids and for a form without its token", async () => {
    const offramp = await addRejected();
    const account = await server.addAccount(`Other ${crypto.randomUUID()}`);
    const stranger = await addMember(server, "admin", account.account_id);
    expect((await stranger.visitor.get(PAGE)).body).not.toContain(offramp.id);
    expect((await stranger.visitor.get(`${PAGE}/${offramp.id}/file`)).statusCode).toBe(404);
    // Not delegated: it may not review at all, whatever the id.
    expect((await approve(stranger, offramp)).statusCode).toBe(403);
    expect((await approve(ada, { ...offramp, id: "x" })).statusCode).toBe(404);
    expect((await approve(ada, offramp, { csrf: "forged" })).statusCode).toBe(403);
    expect(await documentOf(offramp)).toBe("rejected");
  });
});

it("the API's refusal to approve a rejected file names the page where a member can", async () => {
  const offramp = await addRejected();
  const { status, body } = await fixture.review(offramp, { status: "approved" });
  expect(status).toBe(422);
  expect(body.message).toContain("/dashboard/documents");
});

it("sliproad verify finds no fault afterwards", async () => {
  expect(await findFault(server)).toBeNull();
});

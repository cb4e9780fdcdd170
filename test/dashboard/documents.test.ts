import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { setMemberRole } from "../../src/accounts/change-members.ts";
import { approveOnCommandLine } from "../../src/cli/documents/actions.ts";
import { addMember, type TestMember, waitForEnd } from "../approvals/proposal-fixture.ts";
import { addApprovedUser, addPaymentDetail, addQuote, execute } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { setAccount } from "../kyc/review/review-fixture.ts";
import {
  type DocumentFixture,
  openDocumentFixture,
  PDF,
  PNG,
  sha256,
  type TestOfframp,
} from "../offramps/documents/document-fixture.ts";
import { findFault } from "../offramps/story.ts";

const PATH = "/dashboard/api/documents";

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

/** What the page sends. */
function approve(
  member: TestMember,
  { id }: TestOfframp,
  fields: { reason?: string; hash?: string } = {},
) {
  const sent = { reason: "The payer called: right month", hash: sha256(PDF), ...fields };
  return member.call("POST", `${PATH}/${id}/approve`, sent);
}

/** The address of the file with this hash. */
const fileOf = ({ id }: TestOfframp, hash = sha256(PDF)) => `${PATH}/${id}/file?hash=${hash}`;

const documentOf = async (offramp: TestOfframp) =>
  (await fixture.show(offramp)).supporting_document.status;

type Listed = { id: string; account_name: string | null; is_proposed: boolean };

async function listed(member: TestMember, state: string): Promise<Listed[]> {
  const answer = await member.call("GET", `${PATH}?state=${state}`);
  expect(answer.statusCode, answer.body).toBe(200);
  return answer.json().documents;
}

const findIn = async (member: TestMember, state: string, { id }: TestOfframp) =>
  (await listed(member, state)).find((one) => one.id === id);

describe("the lists of documents", () => {
  it("a rejected one has the payout, the people, the reason and the time", async () => {
    const offramp = await addRejected();
    const other = await fixture.addOfframp();
    await fixture.upload(other, PNG);
    expect(await findIn(ada, "rejected", other)).toBeUndefined();
    expect(await findIn(ada, "rejected", offramp)).toMatchObject({
      ...{ amount: "1000", currency: "eur", status: "initiated", document_type: "pdf" },
      ...{ hash: sha256(PDF), comment: "Last month's payslip", account_name: null },
      ...{ payer: expect.any(String), payee: { holder: expect.any(String) } },
      rejected_at: expect.any(String),
    });
  });

  it("to check are those whose payout waits for it, and the overview counts them", async () => {
    const offramp = await fixture.addOfframp({ account: "usd" });
    await fixture.upload(offramp, PDF);
    expect(await findIn(ada, "to_check", offramp)).toBeUndefined();
    await fixture.execute(offramp);
    await fixture.waitForStatus(offramp, "ongoing_checks");
    const count = async () => {
      const { waiting } = (await ada.call("GET", "/dashboard/api/overview")).json();
      return waiting.find((one: { name: string }) => one.name === "documents_to_check").count;
    };
    const before = await count();
    expect(await findIn(ada, "to_check", offramp)).toMatchObject({
      document_status: "not_checked",
    });
    // The first check needs no reason.
    expect((await approve(ada, offramp, { reason: "" })).statusCode).toBe(200);
    expect(await findIn(ada, "to_check", offramp)).toBeUndefined();
    expect(await count()).toBe(before - 1);
    await fixture.waitForStatus(offramp, "fiat_sent");
  });

  it("the operator's members see those of other accounts, by name; the account does not", async () => {
    const name = `Tenant ${crypto.randomUUID()}`;
    const { account_id, key } = await server.addAccount(name);
    const tenant = await addMember(server, "approver", account_id);
    const as_tenant: TestServer = {
      ...server,
      call: (method, path, body) => server.call(method, path, body, { key }),
    };
    const user_id = await addApprovedUser(server, key);
    const payment_detail_id = await addPaymentDetail(as_tenant, user_id, "eur");
    const quote_id = await addQuote(as_tenant, user_id);
    const item = { payment_detail_id, destination_amount: 100, destination_currency: "eur" };
    const path = `/users/${user_id}/quotes/${quote_id}/offramps`;
    const made = await as_tenant.call("POST", path, { offramps: [item] });
    const offramp: TestOfframp = { id: made.body.offramps[0].id, user_id, quote_id };
    await fixture.upload(offramp, PDF, { key });
    await execute(as_tenant, user_id, quote_id);
    const found = await waitFor(() => findIn(ada, "to_check", offramp));
    expect(found.account_name).toBe(name);
    const file = await ada.call("GET", fileOf(offramp));
    expect(file.rawPayload.equals(PDF)).toBe(true);
    expect((await tenant.call("GET", PATH)).json()).toMatchObject({
      is_reviewer: false,
      documents: [],
    });
    await setAccount(server, account_id, { document_review_by_account: true });
    expect((await tenant.call("GET", PATH)).json()).toMatchObject({ is_reviewer: true });
    expect(await findIn(tenant, "to_check", offramp)).toMatchObject({ account_name: null });
  });

  it("serves the file to members as a type that cannot run, and logs who opened it", async () => {
    const offramp = await addRejected();
    const file = await ada.call("GET", fileOf(offramp));
    expect(file.statusCode).toBe(200);
    expect(file.rawPayload.equals(PDF)).toBe(true);
    expect(file.headers).toMatchObject({
      "content-type": "application/pdf",
      "x-content-type-options": "nosniff",
    });
    expect(file.headers["content-security-policy"]).toContain("sandbox");
    expect(file.headers["content-disposition"]).toContain("attachment");
    const { actor, action, hash } = (await fixture.audit(offramp)).at(-1)!;
    expect({ actor, action, hash }).toEqual({
      actor: `member:${ada.person_id}`,
      action: "document.read",
      hash: sha256(PDF),
    });
  });

  it("shows no other file than the one whose hash the approval will name", async () => {
    const offramp = await fixture.addOfframp();
    await fixture.upload(offramp, PDF);
    await fixture.upload(offramp, PNG);
    const replaced = await ada.call("GET", fileOf(offramp));
    expect(replaced.statusCode).toBe(422);
    expect(replaced.body).toContain("was replaced");
    expect((await ada.call("GET", `${PATH}/${offramp.id}/file`)).statusCode).toBe(400);
    const file = await ada.call("GET", fileOf(offramp, sha256(PNG)));
    expect(file.rawPayload.equals(PNG)).toBe(true);
  });

  it("there is no file where none was received", async () => {
    const offramp = await fixture.addOfframp({ submitted_url: "http://127.0.0.1:9/none.pdf" });
    await fixture.review(offramp, { status: "rejected", comment: "No such page" });
    expect(await findIn(ada, "rejected", offramp)).toMatchObject({ document_type: null });
    expect((await ada.call("GET", fileOf(offramp))).statusCode).toBe(404);
  });

  it("continues on a second page, and shows each once", async () => {
    const user_id = await addApprovedUser(server);
    const payment_detail_id = await addPaymentDetail(server, user_id, "eur");
    const quote_id = await addQuote(server, user_id);
    const item = { payment_detail_id, destination_amount: 100, destination_currency: "eur" };
    const path = `/users/${user_id}/quotes/${quote_id}/offramps`;
    await server.call("POST", path, { offramps: [item, item, item] });
    const mark = (status: string | null) =>
      server.db.database.query("update offramps set document_status = $2 where quote_id = $1", [
        quote_id,
        status,
      ]);
    await mark("rejected");
    const read = async (after: string) =>
      (await ada.call("GET", `${PATH}?state=rejected&limit=2${after}`)).json();
    const first = await read("");
    expect(first.documents).toHaveLength(2);
    const second = await read(`&starting_after=${first.next}`);
    const ids = [...first.documents, ...second.documents].map(({ id }: Listed) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThan(2);
    await mark(null);
  });
});

describe("approving with a reason", () => {
  it("approves the file; the audit log has the member, the reason and the hash", async () => {
    const offramp = await addRejected();
    const answer = await approve(ada, offramp);
    expect([answer.statusCode, answer.json()]).toEqual([200, {}]);
    expect(await documentOf(offramp)).toBe("approved");
    expect((await fixture.audit(offramp)).at(-1)).toEqual({
      actor: `member:${ada.person_id}`,
      action: "document.approved",
      reason: "The payer called: right month",
      hash: sha256(PDF),
    });
    expect(await findIn(ada, "rejected", offramp)).toBeUndefined();
  });

  it("is refused without a reason, with one that is too long, and for a replaced file", async () => {
    const offramp = await addRejected();
    const blank = await approve(ada, offramp, { reason: "  " });
    expect(blank.statusCode).toBe(400);
    expect(blank.body).toContain("Give a reason");
    expect((await approve(ada, offramp, { reason: "" })).body).toContain("Give a reason");
    const long = await approve(ada, offramp, { reason: "x".repeat(501) });
    expect(long.body).toContain("at most 500 characters");
    const stale = await approve(ada, offramp, { hash: sha256(PNG) });
    expect(stale.statusCode).toBe(422);
    expect(stale.body).toContain("was replaced");
    expect(await documentOf(offramp)).toBe("rejected");
  });

  it("is needed for a file that was rejected after it was looked at", async () => {
    const offramp = await addRejected();
    const key = { account_id: server.account_id, id: offramp.id };
    const approval = { reason: "", document_hash: sha256(PDF) };
    const approving = approveOnCommandLine(server.core, key, approval);
    await expect(approving).rejects.toThrow("This file was rejected");
    expect(await documentOf(offramp)).toBe("rejected");
  });

  it("becomes a proposal above the approval amount, with the member as one of the two", async () => {
    const offramp = await addRejected(6000);
    const answer = await approve(ada, offramp);
    expect(answer.json()).toEqual({ proposal: { id: expect.any(String) } });
    expect(await documentOf(offramp)).toBe("rejected");
    const { body } = await server.call("GET", "/proposals");
    const proposal = body.proposals.find(
      (one: { record_id: string }) => one.record_id === offramp.id,
    );
    expect(proposal).toMatchObject({ kind: "review-documents", confirmations: 1 });
    expect(await findIn(ben, "rejected", offramp)).toMatchObject({ is_proposed: true });
    const shown = (await ben.open()).body;
    expect(shown).toContain(`"kind":"review-documents","record_id":"${offramp.id}"`);
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

  it("is written before the sign-out of the member is answered, or not at all", async () => {
    const offramp = await addRejected();
    const eve = await addMember(server, "approver");
    const { database } = server.core;
    const isWaitingFor = async (text: string) => {
      const rows = await database.query(
        `select from pg_stat_activity where datname = current_database()
           and wait_event_type = 'Lock' and query like '%' || $1 || '%'`,
        [text],
      );
      return rows.length > 0;
    };
    let has_ended = false;
    const { answer, found_then } = await database.transaction(async (tx) => {
      await tx.query("select from account_controls where account_id = $1 for update", [
        server.account_id,
      ]);
      const sent = approve(eve, offramp);
      await waitFor(() => isWaitingFor("account_controls"));
      const ended = eve.visitor.post("/sign-out", {}).then(() => {
        has_ended = true;
        return documentOf(offramp);
      });
      await waitFor(async () => has_ended || (await isWaitingFor("delete from sessions")));
      return { answer: sent, found_then: ended };
    });
    expect(await found_then).toBe("approved");
    expect((await answer).statusCode).toBe(200);
  });

  it.each(["accountant", "developer"] as const)("is refused to the role %s", async (role) => {
    const offramp = await addRejected();
    const member = await addMember(server, role);
    for (const path of [PATH, `${PATH}/${offramp.id}`, fileOf(offramp)]) {
      expect((await member.call("GET", path)).statusCode).toBe(403);
    }
    expect((await approve(member, offramp)).statusCode).toBe(403);
    expect(await documentOf(offramp)).toBe("rejected");
  });

  it("is refused to other accounts, and for unknown ids", async () => {
    const offramp = await addRejected();
    const account = await server.addAccount(`Other ${crypto.randomUUID()}`);
    const stranger = await addMember(server, "admin", account.account_id);
    expect(await listed(stranger, "rejected")).toEqual([]);
    for (const path of [`${PATH}/${offramp.id}`, fileOf(offramp)]) {
      expect((await stranger.call("GET", path)).statusCode).toBe(404);
    }
    // Not delegated: it may not review at all, whatever the id.
    expect((await approve(stranger, offramp)).statusCode).toBe(403);
    expect((await approve(ada, { ...offramp, id: "x" })).statusCode).toBe(404);
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

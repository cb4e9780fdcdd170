import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { removeMember, setMemberRole } from "../../../src/accounts/change-members.ts";
import { APPROVALS, confirmAs, shownIn } from "../../approvals/proposal-fixture.ts";
import { eraseUser } from "../../harness/erase-user.ts";
import type { HttpVisitor } from "../../harness/http-visitor.ts";
import { changeMember } from "../../harness/members.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { findFault } from "../../offramps/story.ts";
import { statusOf } from "../kyc-fixture.ts";
import { addWaiting, decide, setAccount, show, signInAs } from "./review-fixture.ts";

type Reviewer = { person_id: string; visitor: HttpVisitor };

let server: TestServer;
let other: { account_id: string; key: string };
let ada: Reviewer;
let ben: Reviewer;

beforeAll(async () => {
  server = await startTestServer();
  other = await server.addAccount("Another account");
  ada = await signInAs(server, server.account_id, "admin");
  ben = await signInAs(server, server.account_id, "approver");
  for (const { account_id } of [server, other]) {
    await setAccount(server, account_id, { kyc_two_person_approval: true });
  }
});
afterAll(() => server.close());

/** The page of the review at this path of the API. */

/** The proposals on a user's identity visible to the account's key, newest first. */
async function proposalsOn(user_id: string, key = server.key) {
  const { body } = await server.call("GET", "/proposals", undefined, { key });
  return body.proposals.filter((proposal: { record_id: string }) => proposal.record_id === user_id);
}

describe("a KYC decision that needs two people", () => {
  it("is a proposal like any other, without the reviewer's comment", async () => {
    const { user_id, path } = await addWaiting(server);
    await decide(ada.visitor, path, "approve", "the passport is genuine");
    const [pending] = await proposalsOn(user_id);
    expect(pending).toMatchObject({
      kind: "decide-kyc",
      status: "pending",
      amount_usd: null,
      confirmations: 1,
      confirmations_needed: 2,
    });
    expect(JSON.stringify(pending)).not.toContain("passport");
    await decide(ben.visitor, path, "approve");
    expect(await proposalsOn(user_id)).toMatchObject([{ status: "done", confirmations: 2 }]);
    expect(await statusOf(server, user_id)).toBe("approved");
  });

  it("is rejected by a different decision of a second reviewer", async () => {
    const { user_id, path } = await addWaiting(server);
    await decide(ada.visitor, path, "approve");
    await decide(ben.visitor, path, "refuse", "the face is another person's");
    const [rejected] = await proposalsOn(user_id);
    expect(rejected).toMatchObject({ status: "rejected", confirmations: 1 });
    expect(JSON.stringify(rejected)).not.toContain("face");
  });

  it("is listed among the approvals, which lead to the review and accept no vote", async () => {
    const { user_id, path } = await addWaiting(server);
    await decide(ada.visitor, path, "approve", "the passport is genuine");
    const [{ id }] = await proposalsOn(user_id);
    const page = await ben.visitor.call("GET", APPROVALS);
    const { account_id } = server;
    const shown = { voters: "reviewers", is_mine: false, account_id, record_id: user_id };
    expect(shownIn(page, id)).toMatchObject(shown);
    expect(page.body).not.toContain("passport");
    const voted = await confirmAs(ben.visitor, id, "");
    expect(voted.statusCode).toBe(422);
    expect(voted.body).toContain("page of the review");
    expect(await proposalsOn(user_id)).toMatchObject([{ status: "pending", confirmations: 1 }]);
  });

  it("becomes void once the data has changed, and the next decision is a new proposal", async () => {
    const { user_id, path } = await addWaiting(server);
    await decide(ada.visitor, path, "approve");
    const user = { last_name: "Inventada Outra" };
    expect((await server.call("PATCH", `/users/${user_id}`, { user })).status).toBe(200);
    await decide(ben.visitor, path, "approve");
    expect(await proposalsOn(user_id)).toMatchObject([
      { status: "pending", confirmations: 1 },
      { status: "void", confirmations: 1 },
    ]);
  });

  it("becomes void after a change, without waiting for the next decision", async () => {
    const { user_id, path } = await addWaiting(server);
    await decide(ada.visitor, path, "approve");
    const user = { metadata: { order: "7" } };
    expect((await server.call("PATCH", `/users/${user_id}`, { user })).status).toBe(200);
    await waitFor(async () => (await proposalsOn(user_id))[0].status === "void");
    const [ended] = await proposalsOn(user_id);
    expect(ended.outcome).toBe("The user's data or state has changed.");
    expect((await show(ben.visitor, path)).void_summary).toBe("Identity review: Approve.");
  });

  it("becomes void when one member alone suspends", async () => {
    const { user_id, path } = await addWaiting(server);
    await decide(ada.visitor, path, "approve");
    await server.call("PATCH", `/sandbox/users/${user_id}/kycs`, { kyc: { status: "approved" } });
    await decide(ben.visitor, path, "suspend", "wait");
    expect(await proposalsOn(user_id)).toMatchObject([{ status: "void" }]);
  });

  it("does not count a proposer whose membership has ended: two others must agree", async () => {
    const { user_id, path } = await addWaiting(server);
    const { database, clock } = server.core;
    const cy = await signInAs(server, server.account_id, "approver");
    await decide(cy.visitor, path, "approve");
    const by = { actor: "command line", reason: "set up by a test" } as const;
    const left = { account_id: server.account_id, person_id: cy.person_id };
    await database.transaction((tx) => removeMember(tx, left, by, clock.now()));
    expect(await proposalsOn(user_id)).toMatchObject([{ status: "pending", confirmations: 0 }]);
    const first = await decide(ada.visitor, path, "approve");
    expect(first.json().outcome).toBe("confirmed");
    expect(await statusOf(server, user_id)).toBe("awaiting_manual_review");
    await decide(ben.visitor, path, "approve");
    expect(await statusOf(server, user_id)).toBe("approved");
    const key = { account_id: server.account_id, person_id: ben.person_id };
    await database.transaction((tx) => setMemberRole(tx, key, "developer", by, clock.now()));
    // A finished decision stays valid: losing the role later does not undo the vote.
    expect(await proposalsOn(user_id)).toMatchObject([{ status: "done", confirmations: 3 }]);
    await database.transaction((tx) => setMemberRole(tx, key, "approver", by, clock.now()));
  });

  it("is not made by a member who cannot vote yet, since proposing is a vote", async () => {
    const { user_id, path } = await addWaiting(server);
    const dan = await signInAs(server, server.account_id, "approver");
    const votes_from = new Date(server.core.clock.now().getTime() + 60_000);
    await changeMember(server.core.database, dan.person_id, { votes_from });
    const refused = await decide(dan.visitor, path, "approve");
    expect(refused.statusCode).toBe(422);
    expect(refused.body).toContain("you can vote from");
    expect(await proposalsOn(user_id)).toEqual([]);
  });

  it("becomes void and unreadable when the person is erased", async () => {
    const { user_id, path } = await addWaiting(server);
    await decide(ada.visitor, path, "approve", "the passport is genuine");
    expect(await eraseUser(server.core, { account_id: server.account_id, user_id })).toBe(true);
    server.app.worker.wake();
    await waitFor(async () => (await proposalsOn(user_id))[0].status === "void");
    expect(await proposalsOn(user_id)).toMatchObject([{ outcome: "The user was erased." }]);
    expect((await ben.visitor.call("GET", APPROVALS)).body).not.toContain(user_id);
  });
});

describe("a KYC decision on another account's user", () => {
  it("is made by the operator's reviewers; the account can see it but not vote", async () => {
    const { user_id, path } = await addWaiting(server, other);
    const member = await signInAs(server, other.account_id, "admin");
    await decide(ada.visitor, path, "approve");
    const [{ id, summary }] = await proposalsOn(user_id, other.key);
    expect(await proposalsOn(user_id)).toEqual([]);

    const own = shownIn(await member.visitor.call("GET", APPROVALS), id);
    expect(own).toMatchObject({ summary, may_vote: false, is_mine: false });
    const no = { verdict: "reject", reason: "no" };
    const voted = await member.visitor.call("POST", `${APPROVALS}/${id}/votes`, no);
    expect(voted.statusCode).toBe(422);

    const operators = shownIn(await ben.visitor.call("GET", APPROVALS), id);
    expect(operators).toMatchObject({ may_vote: true, account_name: "Another account" });
    await decide(ben.visitor, path, "approve");
    expect(await proposalsOn(user_id, other.key)).toMatchObject([
      { status: "done", confirmations: 2 },
    ]);
    expect(await statusOf(server, user_id, other.key)).toBe("approved");
  });

  it("needs two people also if one is the operator's and one the account's", async () => {
    const { user_id, path } = await addWaiting(server, other);
    const member = await signInAs(server, other.account_id, "approver");
    await setAccount(server, other.account_id, { kyc_review_by_account: true });
    await decide(member.visitor, path, "approve");
    expect(await proposalsOn(user_id, other.key)).toMatchObject([{ confirmations: 1 }]);
    await decide(ada.visitor, path, "approve");
    expect(await statusOf(server, user_id, other.key)).toBe("approved");
  });

  it("does not count the account's members once reviews are no longer delegated", async () => {
    const { user_id, path } = await addWaiting(server, other);
    const member = await signInAs(server, other.account_id, "approver");
    await setAccount(server, other.account_id, { kyc_review_by_account: true });
    await decide(member.visitor, path, "approve");
    await setAccount(server, other.account_id, { kyc_review_by_account: false });
    expect(await proposalsOn(user_id, other.key)).toMatchObject([{ confirmations: 0 }]);
    await decide(ada.visitor, path, "approve");
    expect(await statusOf(server, user_id, other.key)).toBe("awaiting_manual_review");
    await decide(ben.visitor, path, "approve");
    expect(await statusOf(server, user_id, other.key)).toBe("approved");
  });
});

describe("sliproad verify", () => {
  it("finds no problems after these tests", async () => {
    expect(await findFault(server)).toBeNull();
  });

  it("reports a decision marked done without two reviewers", async () => {
    const { user_id, path } = await addWaiting(server);
    await decide(ada.visitor, path, "approve");
    const [{ id }] = await proposalsOn(user_id);
    const set = (status: string) =>
      server.db.database.query("update proposals set status = $2 where id = $1", [id, status]);
    await set("done");
    expect(await findFault(server)).toContain(`proposal ${id}`);
    await set("pending");
    expect(await findFault(server)).toBeNull();
  });
});

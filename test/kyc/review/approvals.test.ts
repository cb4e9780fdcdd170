import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { HttpVisitor } from "../../harness/http-visitor.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { statusOf } from "../kyc-fixture.ts";
import { addWaiting, auditOf, decide, setAccount, show, signInAs } from "./review-fixture.ts";

let server: TestServer;
let admin: { person_id: string; visitor: HttpVisitor };
let approver: { person_id: string; visitor: HttpVisitor };

beforeAll(async () => {
  server = await startTestServer();
  admin = await signInAs(server, server.account_id, "admin");
  approver = await signInAs(server, server.account_id, "approver");
  await setAccount(server, server.account_id, { kyc_two_person_approval: true });
});
afterAll(() => server.close());

describe("two-person approval", () => {
  it("the first decision is a proposal, which the same person cannot confirm", async () => {
    const { user_id, path } = await addWaiting(server);
    const first = await decide(admin.visitor, path, "approve", "looks right");
    expect(first.json().outcome).toBe("proposed");
    expect(await statusOf(server, user_id)).toBe("awaiting_manual_review");
    const shown = await show(admin.visitor, path);
    expect(shown.proposed).toMatchObject({ decision: "approve", is_own: true });
    expect(shown.decisions).toEqual([]);
    // What another member sees.
    const { seen } = await show(approver.visitor, path);
    const same = { decision: "approve", comment: "me again", seen };
    expect((await admin.visitor.call("POST", path, same)).statusCode).toBe(403);
    expect(await statusOf(server, user_id)).toBe("awaiting_manual_review");

    expect((await show(approver.visitor, path)).proposed.comment).toBe("looks right");
    const second = await decide(approver.visitor, path, "approve", "I agree");
    expect(second.json().outcome).toBe("decided");
    expect(await statusOf(server, user_id)).toBe("approved");
    const entries = (await auditOf(server, user_id)).filter(({ detail }) =>
      detail.includes("digest"),
    );
    expect(entries).toMatchObject([
      { actor: `member:${admin.person_id}`, action: "kyc.propose_approve", reason: "" },
      { actor: `member:${approver.person_id}`, action: "kyc.approve", reason: "" },
    ]);
    const { past } = await show(admin.visitor, path);
    const comments = past.map(({ comment }: { comment: string }) => comment);
    expect(comments.sort()).toEqual(["I agree", "looks right"]);
  });

  it("a different second decision rejects it, and the review starts again", async () => {
    const { user_id, path } = await addWaiting(server);
    await decide(admin.visitor, path, "approve");
    const other_view = await decide(approver.visitor, path, "refuse", "the face is not the same");
    expect(other_view.json().outcome).toBe("returned");
    expect(await statusOf(server, user_id)).toBe("awaiting_manual_review");
    const anew = await decide(approver.visitor, path, "refuse", "the face is not the same");
    expect(anew.json().outcome).toBe("proposed");
    await decide(admin.visitor, path, "refuse", "true");
    const shown = await server.call("GET", `/users/${user_id}`);
    expect(shown.body.user.kyc.general).toEqual({
      status: "failed",
      moderation_comment: "the face is not the same",
    });
  });

  it("twenty concurrent clicks of one person decide nothing", async () => {
    const { user_id, path } = await addWaiting(server);
    const { seen } = await show(admin.visitor, path);
    const fields = { decision: "approve", seen };
    const clicks = Array.from({ length: 20 }, () => admin.visitor.call("POST", path, fields));
    const answers = await Promise.all(clicks);
    expect(answers.filter(({ statusCode }) => statusCode === 200)).toHaveLength(1);
    expect(await statusOf(server, user_id)).toBe("awaiting_manual_review");
  });

  it("a proposal is void once anything its author saw has changed, and the page says so", async () => {
    const { user_id, path } = await addWaiting(server);
    await decide(admin.visitor, path, "approve", "looks right");
    const user = { date_of_birth: "01/01/1970", last_name: "Inventada Outra" };
    expect((await server.call("PATCH", `/users/${user_id}`, { user })).status).toBe(200);
    const shown = await show(approver.visitor, path);
    expect(shown.void_summary).toBe("Identity review: Approve.");
    expect(shown.proposed).toBeNull();
    const second = await decide(approver.visitor, path, "approve");
    expect(second.json().outcome).toBe("proposed");
    expect(await statusOf(server, user_id)).toBe("awaiting_manual_review");
    await decide(admin.visitor, path, "approve");
    expect(await statusOf(server, user_id)).toBe("approved");
  });

  it("a proposal is void once the user's status has changed, and one member alone may suspend", async () => {
    const { user_id, path } = await addWaiting(server);
    await decide(admin.visitor, path, "approve");
    const kyc = { status: "approved" };
    await server.call("PATCH", `/sandbox/users/${user_id}/kycs`, { kyc });
    await decide(admin.visitor, path, "suspend", "wait");
    expect(await statusOf(server, user_id)).toBe("suspended");
    const lifted = await decide(admin.visitor, path, "unsuspend", "fine");
    expect(lifted.json().outcome).toBe("proposed");
    await decide(approver.visitor, path, "unsuspend", "fine");
    expect(await statusOf(server, user_id)).toBe("approved");
  });
});

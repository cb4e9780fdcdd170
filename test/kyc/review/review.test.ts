import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findBar } from "../../../src/kyc/check-identity.ts";
import { FILE_POLICY } from "../../../src/platform/http/security-headers.ts";
import { signingKey } from "../../../src/platform/sealing/seal.ts";
import { signingSeed } from "../../../src/platform/sealing/signing-seed.ts";
import { realTime } from "../../../src/platform/tasks/real-time.ts";
import { verify } from "../../../src/verify/verify.ts";
import type { HttpVisitor } from "../../harness/http-visitor.ts";
import { addPaymentDetail, addQuote, execute } from "../../harness/ramp.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { addUser, openLink, PageVisitor, pdf, png, statusOf } from "../kyc-fixture.ts";
import {
  addWaiting,
  auditOf,
  decide,
  REVIEWS,
  setAccount,
  show,
  signInAs,
  waitForStatus,
} from "./review-fixture.ts";

let server: TestServer;
let other: { account_id: string; key: string };
let admin: { person_id: string; visitor: HttpVisitor };
let approver: { person_id: string; visitor: HttpVisitor };

beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
  other = await server.addAccount("Other");
  admin = await signInAs(server, server.account_id, "admin");
  approver = await signInAs(server, server.account_id, "approver");
});
afterAll(() => server.close());

/** Whom the queue shows to this reviewer, on all its pages. */
async function listQueue(visitor: HttpVisitor): Promise<string[]> {
  const ids: string[] = [];
  let place = "";
  for (let has_more = true; has_more; ) {
    const page = (await visitor.call("GET", `${REVIEWS}${place}`)).json();
    ids.push(...page.reviews.map(({ user_id }: { user_id: string }) => user_id));
    const last = page.reviews.at(-1);
    if (last) place = `?${new URLSearchParams({ since: last.updated_at, after: last.user_id })}`;
    has_more = page.has_more;
  }
  return ids;
}

describe("from the link to the payout", () => {
  it("execution is refused until a reviewer approves, then succeeds", async () => {
    const { user_id, page, path } = await addWaiting(server);
    const payment_detail_id = await addPaymentDetail(server, user_id, "eur");
    const quote_id = await addQuote(server, user_id);
    await server.call("POST", `/users/${user_id}/quotes/${quote_id}/offramps`, {
      offramps: [{ payment_detail_id, destination_amount: 10, destination_currency: "eur" }],
    });
    const refused = await execute(server, user_id, quote_id);
    expect(refused.body.error_code).toBe("not_yet_passed_kyc_kyb");

    expect((await decide(admin.visitor, path, "approve", "all fits")).statusCode).toBe(200);
    expect(await statusOf(server, user_id)).toBe("approved");
    expect((await execute(server, user_id, quote_id)).status).toBe(200);
    const seen = await page.send("GET", "/kyc/session");
    expect(seen.body.kyc).toMatchObject({ status: "approved", can_edit: false });
  });

  it("every state in between has its own event, and verify finds no problems", async () => {
    const { user_id, path } = await addWaiting(server);
    await decide(admin.visitor, path, "approve");
    const rows = await server.db.database.query<{ from_status: string; to_status: string }>(
      `select from_status, to_status from events
       where record_id = $1 and name = 'kyc_update' order by sequence`,
      [user_id],
    );
    expect(rows.map((row) => row.to_status)).toEqual([
      ...["initiated", "pending_assessment", "prechecks_completed", "application_queued"],
      ...["awaiting_manual_review", "approved"],
    ]);
    const { config, clock, keyring, database } = server.core;
    const key = signingKey(signingSeed(config));
    const input = { now: clock.now(), real_now: realTime(clock), keyring };
    expect((await verify(database, key, input)).fault).toBeNull();
  });
});

describe("a reviewer", () => {
  it("sees the queue, then data and files side by side", async () => {
    const { user_id, path } = await addWaiting(server, server, { first_name: "Zenobia" });
    expect(await listQueue(admin.visitor)).toContain(user_id);
    const shown = await show(admin.visitor, path);
    for (const text of ["Zenobia", "21/04/1988", "12 Invented Street", "Portugal", "selfie"]) {
      expect(JSON.stringify(shown)).toContain(text);
    }
    expect(shown.files).toHaveLength(2);
    const front = await admin.visitor.get(`${path}/files/${shown.files[0].id}`);
    expect(front.rawPayload).toEqual(png());
    expect(front.headers).toMatchObject({
      "content-type": "image/png",
      "content-disposition": 'inline; filename="document_front.png"',
      "x-content-type-options": "nosniff",
      "content-security-policy": FILE_POLICY,
      "cache-control": "no-store",
    });
    const actions = (await auditOf(server, user_id)).map((entry) => entry.action);
    expect(actions).toEqual(expect.arrayContaining(["kyc.read", "kyc.read_file"]));
  });

  it("asks again with a comment that the person reads, fixes, and submits again", async () => {
    const { user_id, page, path } = await addWaiting(server);
    const comment = "The picture of the document is blurred; take it in daylight.";
    expect((await decide(admin.visitor, path, "ask_again", comment)).statusCode).toBe(200);
    const shown = await server.call("GET", `/users/${user_id}`);
    expect(shown.body.user.kyc.general).toEqual({
      status: "retry_required",
      moderation_comment: comment,
    });
    expect((await auditOf(server, user_id)).at(-1)).toMatchObject({
      actor: `member:${admin.person_id}`,
      action: "kyc.ask_again",
      reason: "",
    });
    const old = await page.send("GET", "/kyc/session");
    expect(old.body.kyc).toMatchObject({ status: "retry_required", can_edit: false });
    expect((await page.save({ city: "Faro" })).body.error_code).toBe("invalid_transition");
    expect((await page.upload("selfie", png())).body.error_code).toBe("invalid_transition");
    expect((await page.submit()).body.error_code).toBe("invalid_transition");
    expect(await statusOf(server, user_id)).toBe("retry_required");

    const again = new PageVisitor(server);
    const opened = await again.open(await openLink(server, user_id));
    expect(opened.body.kyc).toMatchObject({ status: "retry_required", can_edit: true });
    expect(opened.body.kyc.moderation_comment).toBe(comment);
    // Correct data is not asked for again, and stays masked until the birth date is confirmed.
    expect(opened.body.kyc.files.selfie.uploaded).toMatchObject({ can_preview: false });
    expect((await page.send("GET", "/kyc/session")).status).toBe(410);
    // The birth date was only typed on the page: it unmasks nothing, and nothing must be retyped.
    expect((await again.confirm("21/04/1988")).status).toBe(422);
    expect(opened.body.kyc.identity.city).toMatchObject({ is_masked: true, is_known: true });
    await again.upload("document_front", pdf());
    expect((await again.submit()).status).toBe(200);
    await waitForStatus(server, user_id, "awaiting_manual_review");
  });

  it("can refuse permanently, and must say why", async () => {
    const { user_id, path } = await addWaiting(server);
    const silent = await decide(admin.visitor, path, "refuse");
    expect(silent.statusCode).toBe(422);
    expect(silent.body).toContain("Enter a comment");
    expect(await statusOf(server, user_id)).toBe("awaiting_manual_review");
    await decide(admin.visitor, path, "refuse", "The document is forged.");
    expect(await statusOf(server, user_id)).toBe("failed");
    const link = await server.call("POST", `/users/${user_id}/kycs`);
    expect(link.body.error_code).toBe("invalid_transition");
  });

  it("can suspend, which blocks like not approved, and can lift it again", async () => {
    const { user_id, path } = await addWaiting(server);
    await decide(admin.visitor, path, "approve");
    await decide(admin.visitor, path, "suspend", "A bank asked about this person.");
    expect(await statusOf(server, user_id)).toBe("suspended");
    const quote_id = await addQuote(server, user_id);
    const payment_detail_id = await addPaymentDetail(server, user_id, "eur");
    await server.call("POST", `/users/${user_id}/quotes/${quote_id}/offramps`, {
      offramps: [{ payment_detail_id, destination_amount: 10, destination_currency: "eur" }],
    });
    const refused = await execute(server, user_id, quote_id);
    expect(refused.body.error_code).toBe("not_yet_passed_kyc_kyb");
    await decide(admin.visitor, path, "unsuspend", "Answered.");
    expect(await statusOf(server, user_id)).toBe("approved");
    expect((await execute(server, user_id, quote_id)).status).toBe(200);
  });

  it("cannot decide on data they have not seen: the page says that it is out of date", async () => {
    const { user_id, path } = await addWaiting(server);
    const stale = await admin.visitor.call("POST", path, { decision: "approve", seen: "1-1" });
    expect(stale.statusCode).toBe(422);
    expect(stale.body).toContain("has changed since");
    expect(await statusOf(server, user_id)).toBe("awaiting_manual_review");
    const illegal = await decide(admin.visitor, path, "unsuspend", "why not");
    expect(illegal.statusCode).toBe(422);
  });

  it("sees what the account changed after the submission, and cannot approve unseen changes", async () => {
    const { user_id, path } = await addWaiting(server);
    const { seen, fields } = await show(admin.visitor, path);
    const isChanged = (field: { is_changed_since: boolean }) => field.is_changed_since;
    expect(fields.filter(isChanged)).toEqual([]);
    const user = { last_name: "Substituta" };
    expect((await server.call("PATCH", `/users/${user_id}`, { user })).status).toBe(200);
    const stale = await admin.visitor.call("POST", path, { decision: "approve", seen });
    expect(stale.statusCode).toBe(422);
    expect(await statusOf(server, user_id)).toBe("awaiting_manual_review");
    const now = await show(admin.visitor, path);
    expect(now.fields.filter(isChanged)).toMatchObject([
      { name: "last_name", since: "Substituta" },
    ]);
  });

  it("sees both birth dates if they differ, and decides which one counts", async () => {
    const known = { date_of_birth: "22/04/1988", city: "Porto" };
    const { user_id, path } = await addWaiting(server, server, known);
    const shown = await show(admin.visitor, path);
    expect(shown.fields).toContainEqual(
      expect.objectContaining({
        ...{ name: "date_of_birth", value: "21/04/1988", before: "22/04/1988" },
        is_contradicted: true,
      }),
    );
    const before = await server.call("GET", `/users/${user_id}`);
    expect(before.body.user).toMatchObject(known);
    await decide(admin.visitor, path, "approve");
    const after = await server.call("GET", `/users/${user_id}`);
    expect(after.body.user).toMatchObject({ date_of_birth: "21/04/1988", city: "Lisbon" });
  });

  it("cannot approve a user under 18 or in a country not served on that day", async () => {
    const { user_id, path } = await addWaiting(server);
    const year = server.core.clock.now().getUTCFullYear() - 10;
    const user = { date_of_birth: `01/01/${year}` };
    expect((await server.call("PATCH", `/users/${user_id}`, { user })).status).toBe(200);
    const refused = await decide(admin.visitor, path, "approve");
    expect(refused.statusCode).toBe(422);
    expect(refused.body).toContain("younger than 18");
    expect(await statusOf(server, user_id)).toBe("awaiting_manual_review");

    const { catalogue } = server.core;
    expect(findBar(catalogue, "individual", { country: "KP" }, "2026-01-01")).toContain(
      "not supported",
    );
    expect(findBar(catalogue, "individual", { country: "PT" }, "2026-01-01")).toBeNull();
  });

  it("has comments that are stored sealed, with only a digest in the log", async () => {
    const { user_id, path } = await addWaiting(server);
    await decide(admin.visitor, path, "approve", "Zuleika's face fits");
    expect((await auditOf(server, user_id)).at(-1)!.detail).toMatch(
      /"comment_digest":"[0-9a-f]{64}"/,
    );
    const { past } = await show(admin.visitor, path);
    expect(past).toMatchObject([{ comment: "Zuleika's face fits" }]);
    const { database } = server.db;
    const rows = await database.query<{ row: string }>(
      `select t::text as row from audit_entries t
       union all select t::text from kyc_review_notes t union all select t::text from users t`,
    );
    const forms = ["Zuleika", Buffer.from("Zuleika").toString("hex")];
    expect(rows.filter(({ row }) => forms.some((form) => row.includes(form)))).toEqual([]);
  });

  it("of two concurrent decisions, one is refused as already decided", async () => {
    const { user_id, path } = await addWaiting(server);
    const answers = await Promise.all([
      decide(admin.visitor, path, "approve"),
      decide(approver.visitor, path, "refuse", "no"),
    ]);
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 422]);
    expect(["approved", "failed"]).toContain(await statusOf(server, user_id));
  });
});

describe("the queue", () => {
  it("continues after fifty rows, and shows every user once", async () => {
    const { account_id, key } = await server.addAccount("Busy");
    await setAccount(server, account_id, { kyc_review_by_account: true });
    const { visitor } = await signInAs(server, account_id, "admin");
    const made = await Promise.all(Array.from({ length: 103 }, () => addUser(server, {}, key)));
    const kyc = { status: "suspended" };
    const answers = await Promise.all(
      made.map((id) => server.call("PATCH", `/sandbox/users/${id}/kycs`, { kyc }, { key })),
    );
    for (const { status, text } of answers) expect(status, text).toBe(200);
    const seen: string[] = [];
    const lengths: number[] = [];
    let place = "";
    for (let has_more = true; has_more; ) {
      const answer = await visitor.call("GET", `${REVIEWS}?status=suspended${place}`);
      const page = answer.json();
      const ids = page.reviews.map(({ user_id }: { user_id: string }) => user_id);
      const { updated_at, user_id } = page.reviews.at(-1);
      place = `&${new URLSearchParams({ since: updated_at, after: user_id })}`;
      lengths.push(ids.length);
      seen.push(...ids);
      has_more = page.has_more;
    }
    expect(lengths).toEqual([50, 50, 3]);
    expect(seen.sort()).toEqual([...made].sort());
  });
});

describe("who may review", () => {
  it.each(["accountant", "developer"] as const)("not the role %s", async (role) => {
    const { path, user_id } = await addWaiting(server);
    const { visitor } = await signInAs(server, server.account_id, role);
    for (const address of [REVIEWS, path]) {
      expect((await visitor.call("GET", address)).statusCode).toBe(403);
    }
    expect((await visitor.get(`${path}/files/${user_id}`)).statusCode).toBe(403);
    const refused = await visitor.call("POST", path, { decision: "approve", seen: "5-1" });
    expect(refused.statusCode).toBe(403);
    expect(await statusOf(server, user_id)).toBe("awaiting_manual_review");
  });

  it("not without a session, not with an API key, and not without the CSRF token", async () => {
    const { path, user_id } = await addWaiting(server);
    for (const address of [REVIEWS, path]) {
      const answer = await server.call("GET", address, undefined, { key: null });
      expect(answer.status).toBe(401);
      expect((await server.call("GET", address)).status).toBe(403);
    }
    const { seen } = await show(admin.visitor, path);
    const { csrf } = admin.visitor;
    admin.visitor.csrf = "x";
    const decision = { decision: "approve", seen };
    const forged = await admin.visitor.call("POST", path, decision);
    admin.visitor.csrf = csrf;
    expect(forged.statusCode).toBe(401);
    expect(await statusOf(server, user_id)).toBe("awaiting_manual_review");
  });

  it("the operator's members for all accounts, an account's own only if delegated", async () => {
    const waiting = await addWaiting(server, other);
    const own = await addWaiting(server);
    const { visitor, person_id } = await signInAs(server, other.account_id, "admin");
    const list = () => listQueue(visitor);
    expect(await list()).not.toContain(waiting.user_id);
    expect((await visitor.call("GET", waiting.path)).statusCode).toBe(404);
    expect((await decide(visitor, waiting.path, "approve")).statusCode).toBe(404);

    await setAccount(server, other.account_id, { kyc_review_by_account: true });
    expect(await list()).toContain(waiting.user_id);
    expect(await list()).not.toContain(own.user_id);
    expect((await visitor.call("GET", own.path)).statusCode).toBe(404);
    const mixed = `${REVIEWS}/${other.account_id}/${own.user_id}`;
    expect((await visitor.call("GET", mixed)).statusCode).toBe(404);
    expect((await decide(visitor, own.path, "approve")).statusCode).toBe(404);

    expect(await listQueue(admin.visitor)).toContain(waiting.user_id);
    expect((await decide(visitor, waiting.path, "approve", "ours")).statusCode).toBe(200);
    const entries = await auditOf(server, waiting.user_id);
    expect(entries.at(-1)).toMatchObject({
      actor: `member:${person_id}`,
      action: "kyc.approve",
      account_id: other.account_id,
    });
    await setAccount(server, other.account_id, { kyc_review_by_account: false });
  });

  it("the operator lifts what the operator stopped, also where reviews are delegated", async () => {
    await setAccount(server, other.account_id, { kyc_review_by_account: true });
    const { visitor } = await signInAs(server, other.account_id, "admin");
    const { user_id, path } = await addWaiting(server, other);
    expect((await decide(visitor, path, "approve", "ours")).statusCode).toBe(200);
    expect((await decide(admin.visitor, path, "suspend", "a doubt")).statusCode).toBe(200);
    expect((await show(visitor, path)).decisions).toEqual([]);
    const lifted = await decide(visitor, path, "unsuspend");
    expect([lifted.statusCode, lifted.json().error_code]).toEqual([403, "insufficient_scope"]);
    expect(await statusOf(server, user_id, other.key)).toBe("suspended");
    expect((await decide(admin.visitor, path, "unsuspend")).statusCode).toBe(200);
    // What the account itself stopped, it lifts.
    expect((await decide(visitor, path, "suspend", "our own doubt")).statusCode).toBe(200);
    expect((await decide(visitor, path, "unsuspend")).statusCode).toBe(200);
    await setAccount(server, other.account_id, { kyc_review_by_account: false });
  });

  it("files are served to reviewers only, and never under another user's URL", async () => {
    const waiting = await addWaiting(server);
    const second = await addWaiting(server);
    const { files } = await show(admin.visitor, waiting.path);
    const { id } = files[0];
    const file = `${waiting.path}/files/${id}`;
    expect((await admin.visitor.get(file)).statusCode).toBe(200);
    expect((await admin.visitor.get(`${second.path}/files/${id}`)).statusCode).toBe(404);
    const stranger = await signInAs(server, other.account_id, "admin");
    expect((await stranger.visitor.get(file)).statusCode).toBe(404);
    const answer = await server.call("GET", file, undefined, { key: null });
    expect(answer.status).toBe(303);
  });
});

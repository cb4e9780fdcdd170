import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { HttpVisitor } from "../harness/http-visitor.ts";
import { addPaymentDetail, addQuote, execute, setKyc } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { findFault, good } from "../offramps/story.ts";
import { addUser } from "./kyc-fixture.ts";
import {
  addWaiting,
  auditOf,
  decide,
  REVIEWS,
  setAccount,
  show,
  signInAs,
} from "./review/review-fixture.ts";

let server: TestServer;
/** On the same database, with approval including swift. */
let beside: TestServer;
let admin: { person_id: string; visitor: HttpVisitor };
let approver: { person_id: string; visitor: HttpVisitor };

beforeAll(async () => {
  const environment = { SLIPROAD_DOCUMENTS: "review" };
  server = await startTestServer({
    environment: { ...environment, SLIPROAD_SWIFT_CLEARANCE: "separate" },
  });
  beside = await startTestServer({ beside: server, environment });
  admin = await signInAs(server, server.account_id, "admin");
  approver = await signInAs(server, server.account_id, "approver");
});
afterAll(async () => {
  expect(await findFault(server)).toBeNull();
  await beside.close();
  await server.close();
});

async function addApproved(on = server): Promise<{ user_id: string; path: string }> {
  const user_id = await addUser(on);
  good(await setKyc(on, user_id, { status: "approved" }));
  return { user_id, path: `${REVIEWS}/${on.account_id}/${user_id}` };
}

async function addPayout(user_id: string, account: "usd_swift" | "eur_swift") {
  const payment_detail_id = await addPaymentDetail(server, user_id, account);
  const quote_id = await addQuote(server, user_id);
  const item = {
    payment_detail_id,
    destination_amount: 1000,
    destination_currency: account.slice(0, 3),
    supporting_document_attributes: { submitted_url: "https://files.test/invoice.pdf" },
  };
  const path = `/users/${user_id}/quotes/${quote_id}/offramps`;
  const made = good(await server.call("POST", path, { offramps: [item] }));
  return { quote_id, offramp_id: made.offramps[0].id as string };
}

const namesOf = (decisions: { name: string }[]) => decisions.map(({ name }) => name);

async function kycOf(user_id: string) {
  return good(await server.call("GET", `/users/${user_id}`)).user.kyc;
}

async function swiftOf(user_id: string): Promise<[usd: string, eur: string]> {
  const { usd, eur } = await kycOf(user_id);
  return [usd.swift_status, eur.swift_status];
}

const statusOf = async (user_id: string, offramp_id: string) =>
  good(await server.call("GET", `/users/${user_id}/offramps/${offramp_id}`)).offramp.status;

describe("SLIPROAD_SWIFT_CLEARANCE=separate", () => {
  it("approval clears for everything but swift, which a reviewer grants by currency", async () => {
    const { user_id, path } = await addWaiting(server);
    await decide(admin.visitor, path, "approve");
    expect(await kycOf(user_id)).toMatchObject({
      general: { status: "approved" },
      usd: { status: "approved", swift_status: "awaiting_manual_review" },
      eur: { status: "approved", swift_status: "awaiting_manual_review" },
    });
    const in_usd = await addPayout(user_id, "usd_swift");
    const in_eur = await addPayout(user_id, "eur_swift");
    const refused = await execute(server, user_id, in_usd.quote_id);
    expect([refused.status, refused.body.error_code]).toEqual([
      422,
      "not_approved_for_payout_rail",
    ]);

    const granted = await decide(admin.visitor, path, "grant_usd_swift", "exports machines");
    expect(granted.json().outcome).toBe("decided");
    expect(await swiftOf(user_id)).toEqual(["approved", "awaiting_manual_review"]);
    good(await execute(server, user_id, in_usd.quote_id));
    const still = await execute(server, user_id, in_eur.quote_id);
    expect(still.body.error_code).toBe("not_approved_for_payout_rail");
    await decide(admin.visitor, path, "grant_eur_swift");
    good(await execute(server, user_id, in_eur.quote_id));
    const [entry] = (await auditOf(server, user_id)).filter(({ detail }) =>
      detail.includes("digest"),
    );
    expect(entry).toMatchObject({
      actor: `member:${admin.person_id}`,
      action: "kyc.grant_usd_swift",
      reason: "",
    });
  });

  it("holds pending payouts once it is withdrawn, and releases them once it is granted", async () => {
    const { user_id, path } = await addApproved();
    await decide(admin.visitor, path, "grant_usd_swift");
    const { quote_id, offramp_id } = await addPayout(user_id, "usd_swift");
    good(await execute(server, user_id, quote_id));
    const is = (status: string) => async () => (await statusOf(user_id, offramp_id)) === status;
    await waitFor(is("ongoing_checks"));
    const unexplained = await decide(admin.visitor, path, "withdraw_usd_swift");
    expect(unexplained.statusCode).toBe(422);
    await decide(admin.visitor, path, "withdraw_usd_swift", "the country was listed");
    expect(await swiftOf(user_id)).toEqual(["suspended", "application_queued"]);
    const approved = { supporting_document: { status: "approved" } };
    await waitFor(async () => {
      const path = `/offramps/${offramp_id}/supporting-documents`;
      return (await server.call("PATCH", path, approved)).status === 200;
    });
    good(await server.call("POST", "/sandbox/clock", { advance_ms: 1_000 }));
    expect(await statusOf(user_id, offramp_id)).toBe("ongoing_checks");
    await decide(admin.visitor, path, "grant_usd_swift");
    await waitFor(is("fiat_sent"));
    // Comments about swift are for the log, not for the user.
    expect((await kycOf(user_id)).general.moderation_comment).toBeNull();
  });

  it("every grant and withdrawal has its own event", async () => {
    const { user_id, path } = await addApproved();
    await decide(admin.visitor, path, "grant_eur_swift");
    await decide(admin.visitor, path, "withdraw_eur_swift", "no longer");
    const rows = await server.db.database.query<{ sequence: number; moved: string }>(
      `select sequence, from_status || ' ' || to_status as moved from events
       where record_id = $1 and name = 'kyc_update' order by sequence`,
      [user_id],
    );
    expect(rows.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(rows.slice(-2).map(({ moved }) => moved)).toEqual(Array(2).fill("approved approved"));
  });

  it("a suspension withdraws it, and lifting the suspension does not grant it again", async () => {
    const { user_id, path } = await addApproved();
    await decide(admin.visitor, path, "grant_usd_swift");
    await decide(admin.visitor, path, "suspend", "wait");
    expect(await swiftOf(user_id)).toEqual(["suspended", "suspended"]);
    const { decisions } = await show(admin.visitor, path);
    expect(namesOf(decisions)).toEqual(["unsuspend"]);
    await decide(admin.visitor, path, "unsuspend");
    expect(await swiftOf(user_id)).toEqual(["suspended", "suspended"]);
    await decide(admin.visitor, path, "grant_usd_swift");
    expect(await swiftOf(user_id)).toEqual(["approved", "suspended"]);
  });

  it("two-person approval: granting needs two members, withdrawing one", async () => {
    await setAccount(server, server.account_id, { kyc_two_person_approval: true });
    try {
      const { user_id, path } = await addApproved();
      const first = await decide(admin.visitor, path, "grant_usd_swift");
      expect(first.json().outcome).toBe("proposed");
      expect(await swiftOf(user_id)).toEqual(["application_queued", "application_queued"]);
      const waiting = await show(admin.visitor, path);
      expect(waiting.proposed).toMatchObject({ decision: "grant_usd_swift", is_own: true });
      expect(namesOf(waiting.decisions)).toEqual(["suspend"]);
      await decide(approver.visitor, path, "grant_usd_swift");
      expect(await swiftOf(user_id)).toEqual(["approved", "application_queued"]);
      await decide(admin.visitor, path, "withdraw_usd_swift", "enough");
      expect(await swiftOf(user_id)).toEqual(["suspended", "application_queued"]);
    } finally {
      await setAccount(server, server.account_id, { kyc_two_person_approval: false });
    }
  });

  it("twenty concurrent clicks grant it once", async () => {
    const { user_id, path } = await addApproved();
    const { seen } = await show(admin.visitor, path);
    const fields = { decision: "grant_usd_swift", seen };
    const clicks = Array.from({ length: 20 }, () => admin.visitor.call("POST", path, fields));
    const answers = await Promise.all(clicks);
    expect(answers.filter(({ statusCode }) => statusCode === 200)).toHaveLength(1);
    expect(await swiftOf(user_id)).toEqual(["approved", "application_queued"]);
  });
});

describe("the sandbox's swift_status", () => {
  it("grants and withdraws it for all currencies of an approved user", async () => {
    const user_id = await addUser(server);
    good(await setKyc(server, user_id, { status: "approved", swift_status: "approved" }));
    expect(await swiftOf(user_id)).toEqual(["approved", "approved"]);
    good(await setKyc(server, user_id, { status: "approved", swift_status: "suspended" }));
    expect(await swiftOf(user_id)).toEqual(["suspended", "suspended"]);
  });

  it("422 for an illegal status, and nothing changes", async () => {
    const user_id = await addUser(server);
    const requests = [
      { status: "initiated", swift_status: "approved" },
      { status: "approved", swift_status: "suspended" },
      { status: "approved", swift_status: "granted" },
    ];
    const codes = [];
    for (const request of requests)
      codes.push((await setKyc(server, user_id, request)).body.error_code);
    expect(codes).toEqual(["invalid_transition", "invalid_transition", "invalid_kyc_status_param"]);
    expect((await kycOf(user_id)).general.status).toBe("not_started");
  });
});

describe("SLIPROAD_SWIFT_CLEARANCE=with_approval", () => {
  it("approval clears for swift, and there is nothing to withdraw", async () => {
    const { user_id, path } = await addApproved(beside);
    expect(await swiftOf(user_id)).toEqual(["approved", "approved"]);
    const { visitor } = await signInAs(beside, beside.account_id, "admin");
    expect(namesOf((await show(visitor, path)).decisions)).toEqual(["suspend"]);
    const refused = await decide(visitor, path, "withdraw_usd_swift", "no");
    expect(refused.statusCode).toBe(422);
    expect(await swiftOf(user_id)).toEqual(["approved", "approved"]);
  });

  it("a user approved while it was separate can still be cleared", async () => {
    const { user_id, path } = await addApproved();
    const { visitor } = await signInAs(beside, beside.account_id, "admin");
    await decide(visitor, path, "grant_usd_swift");
    expect(await swiftOf(user_id)).toEqual(["approved", "application_queued"]);
  });
});

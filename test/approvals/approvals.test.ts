import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DAY_MS } from "../../src/platform/durations.ts";
import { changeMember } from "../harness/members.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { findFault, settle } from "../offramps/story.ts";
import {
  APPROVALS,
  addMember,
  addOwedUser,
  proposalIn,
  STRANGE,
  seenOf,
  shownIn,
  showProposal,
  type TestMember,
  waitForEnd,
} from "./proposal-fixture.ts";

let server: TestServer;
let ada: TestMember;
let ben: TestMember;

beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_APPROVAL_ABOVE_USD: "100" } });
  ada = await addMember(server, "admin");
  ben = await addMember(server, "approver");
});
afterAll(() => server.close());

const auditOf = (id: string) =>
  server.db.database.query<{ action: string; actor: string; reason: string }>(
    "select action, actor, reason from audit_entries where record = $1 order by id",
    [`proposal:${id}`],
  );

describe("the limit", () => {
  it("allows exactly the limit and creates a proposal for one cent, or a millionth, more", async () => {
    const user = await addOwedUser(server, 1000);
    expect((await user.refund(100)).body.refund.status).toBe("pending");
    for (const amount of [100.01, "100.000001"]) {
      expect(proposalIn(await user.refund(amount))).toMatchObject({
        kind: "refund-balances",
        record_id: user.user_id,
        amount_usd: 100.01,
        summary: `Refund ${amount} usdc on polygon to a registered address.`,
        status: "pending",
        outcome: null,
        confirmations: 0,
        confirmations_needed: 2,
      });
    }
    expect(await user.owed()).toBe(900);
    expect(await user.refunds()).toHaveLength(1);
  });

  it("requires two members for any amount when the address is not registered", async () => {
    const user = await addOwedUser(server, 10);
    const proposal = proposalIn(await user.refund(1, STRANGE));
    expect(proposal.summary).toContain("that the user has not registered");
    await ada.confirm(proposal.id);
    expect(await user.owed()).toBe(10);
    await ben.confirm(proposal.id);
    expect((await waitForEnd(server, proposal.id)).status).toBe("done");
    expect(await user.refunds()).toMatchObject([{ amount: 1, address: STRANGE }]);
  });

  it("a refused command is refused, not proposed", async () => {
    const user = await addOwedUser(server, 500);
    const answer = await user.refund(500.01);
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toMatchObject([{ field: "refund.amount" }]);
    const missing = await server.call("POST", `/users/${crypto.randomUUID()}/refunds`, {
      refund: { token: "usdc", chain: "polygon", amount: 500, address: STRANGE },
    });
    expect(missing.body.error_code).toBe("record_not_found");
  });

  it("a proposal reserves nothing that other commands or proposals need", async () => {
    const { key } = await server.addAccount(`Reserver ${crypto.randomUUID()}`);
    const user = await addOwedUser(server, 400, key);
    // In either order, 300 are left.
    const amounts = [300, 300, 50, 300, 50, 300];
    const answers = await Promise.all(amounts.map((amount) => user.refund(amount)));
    expect(answers.map(({ status }) => status)).not.toContain(422);
    expect(answers.filter(({ body }) => body.refund)).toHaveLength(2);
    expect(await user.owed()).toBe(300);
  });

  it("the same Idempotency-Key gives the same proposal again", async () => {
    const user = await addOwedUser(server, 400);
    const headers = { "idempotency-key": crypto.randomUUID() };
    const [first, second] = [
      await user.refund(300, undefined, headers),
      await user.refund(300, undefined, headers),
    ];
    expect(second.text).toBe(first.text);
    expect(second.headers.get("idempotent-replayed")).toBe("true");
  });
});

describe("a proposal made with a key", () => {
  it("needs two different members and is then executed once", async () => {
    const user = await addOwedUser(server, 300);
    const { id } = proposalIn(await user.refund(250));
    expect((await ada.confirm(id)).statusCode).toBe(200);
    expect((await ada.confirm(id)).statusCode).toBe(200);
    expect(await showProposal(server, id)).toMatchObject({ status: "pending", confirmations: 1 });
    expect(await user.owed()).toBe(300);
    await ben.confirm(id);
    expect(await waitForEnd(server, id)).toMatchObject({
      status: "done",
      confirmations: 2,
      outcome: null,
    });
    expect(await user.owed()).toBe(50);
    const entries = await auditOf(id);
    expect(entries.map(({ action }) => action)).toEqual([
      ...["proposal.create", "proposal.confirm", "proposal.confirm", "proposal.done"],
    ]);
    expect(entries.map(({ actor }) => actor).slice(1)).toEqual([
      ...[`member:${ada.person_id}`, `member:${ben.person_id}`, "worker"],
    ]);
    expect(entries[0]!.actor).toMatch(/^api_key:/);
  });

  it("fifty concurrent confirmations of one member count once", async () => {
    const user = await addOwedUser(server, 300);
    const { id } = proposalIn(await user.refund(250));
    const answers = await Promise.all(Array.from({ length: 50 }, () => ada.confirm(id)));
    expect(new Set(answers.map((answer) => answer.statusCode))).toEqual(new Set([200]));
    expect(await showProposal(server, id)).toMatchObject({ status: "pending", confirmations: 1 });
    expect(await auditOf(id)).toHaveLength(2);
    expect(await user.owed()).toBe(300);
  });

  it("is executed once when many members confirm at the same time", async () => {
    const user = await addOwedUser(server, 600);
    const { id } = proposalIn(await user.refund(250));
    const cy = await addMember(server, "finance_manager");
    const presses = [ada, ben, cy].flatMap((member) =>
      Array.from({ length: 8 }, () => member.confirm(id)),
    );
    await Promise.all(presses);
    expect((await waitForEnd(server, id)).status).toBe("done");
    await settle(server);
    expect(await user.refunds()).toHaveLength(1);
    expect(await user.owed()).toBe(350);
  });

  it("is ended by one rejection with a reason, and no money moves", async () => {
    const user = await addOwedUser(server, 300);
    const { id } = proposalIn(await user.refund(250));
    await ada.confirm(id);
    const empty = await ben.reject(id, "  ");
    expect(empty.statusCode).toBe(422);
    expect(empty.body).toContain("Enter a reason");
    expect((await ben.reject(id, "The wrong user")).statusCode).toBe(200);
    expect(await showProposal(server, id)).toMatchObject({
      status: "rejected",
      outcome: "The wrong user",
    });
    const cy = await addMember(server, "approver");
    const late = await cy.confirm(id);
    expect(late.statusCode).toBe(422);
    expect(late.body).toContain("Voting on this proposal has ended");
    // A member who agreed cannot change the vote, nor reject it afterwards.
    expect((await ada.reject(id)).body).toContain("votes are final");
    expect(await user.owed()).toBe(300);
    expect((await auditOf(id)).at(-1)).toMatchObject({
      action: "proposal.reject",
      reason: "The wrong user",
    });
  });

  it("fails with a message and moves nothing when it is no longer possible", async () => {
    // What earlier tests moved without approval no longer counts.
    await server.call("POST", "/sandbox/clock", { advance_ms: DAY_MS });
    const user = await addOwedUser(server, 250);
    const { id } = proposalIn(await user.refund(250));
    expect((await user.refund(1)).body.refund).toBeDefined();
    await ada.confirm(id);
    await ben.confirm(id);
    expect(await waitForEnd(server, id)).toMatchObject({
      status: "failed",
      outcome: "The user's balance on polygon is 249 usdc.",
    });
    expect(await user.owed()).toBe(249);
    expect(await user.refunds()).toHaveLength(1);
    expect(shownIn(await ada.open({ list: "decided" }), id).outcome).toBe(
      "The user's balance on polygon is 249 usdc.",
    );
  });

  it("does not count the vote of a member who may no longer vote", async () => {
    const user = await addOwedUser(server, 300);
    const { id } = proposalIn(await user.refund(250));
    const cy = await addMember(server, "approver");
    await cy.confirm(id);
    await changeMember(server.db.database, cy.person_id, { role: "developer" });
    expect((await showProposal(server, id)).confirmations).toBe(0);
    await ada.confirm(id);
    expect((await showProposal(server, id)).status).toBe("pending");
    await ben.confirm(id);
    expect((await waitForEnd(server, id)).status).toBe("done");
  });
});

describe("permissions", () => {
  it.each(["accountant", "developer"] as const)(
    "%s can view a proposal but not vote",
    async (role) => {
      const user = await addOwedUser(server, 300);
      const { id, summary } = proposalIn(await user.refund(250, STRANGE));
      const member = await addMember(server, role);
      const shown = await member.open();
      expect(shown.statusCode).toBe(200);
      expect(shown.body).toContain(summary);
      expect(shown.body).not.toContain(STRANGE);
      expect(shownIn(shown, id)).toMatchObject({ is_mine: false, digest: null });
      expect((await member.confirm(id)).statusCode).toBe(403);
      expect((await member.reject(id)).statusCode).toBe(403);
      expect(await showProposal(server, id)).toMatchObject({ status: "pending", confirmations: 0 });
    },
  );

  it("a vote without the session's CSRF token does nothing", async () => {
    const user = await addOwedUser(server, 300);
    const { id } = proposalIn(await user.refund(250));
    const forged = await server.app.server.inject({
      ...{ method: "POST", url: `${APPROVALS}/${id}/votes` },
      cookies: Object.fromEntries(ada.visitor.cookies),
      headers: { "x-csrf-token": "forged" },
      payload: { verdict: "confirm", digest: seenOf(await ada.open(), id) },
    });
    expect(forged.statusCode).toBe(401);
    expect((await showProposal(server, id)).confirmations).toBe(0);
  });

  it("another account cannot see it by page or key, and cannot vote", async () => {
    const user = await addOwedUser(server, 300);
    const { id } = proposalIn(await user.refund(250));
    const other = await server.addAccount(`Other ${crypto.randomUUID()}`);
    const stranger = await addMember(server, "admin", other.account_id);
    expect((await stranger.open()).body).not.toContain(id);
    expect((await stranger.confirm(id)).statusCode).toBe(404);
    expect((await stranger.confirm("x")).statusCode).toBe(404);
    const { key } = other;
    const shown = await server.call("GET", `/proposals/${id}`, undefined, { key });
    expect(shown.body.error_code).toBe("record_not_found");
    const listed = await server.call("GET", "/proposals", undefined, { key });
    expect(listed.body).toEqual({ proposals: [], has_more: false });
    expect((await showProposal(server, id)).confirmations).toBe(0);
  });

  it("the page shows the address to voters, with the proposer and the votes", async () => {
    const user = await addOwedUser(server, 300);
    const { id } = proposalIn(await user.refund(250, STRANGE));
    await ben.confirm(id);
    const shown = shownIn(await ada.open(), id);
    expect(JSON.stringify(shown.details)).toContain(STRANGE);
    expect(shown).toMatchObject({ amount_usd: "250", votes: [{ by: ben.email }] });
    expect(shown.proposed_by).toBe("API key first");
    expect(shownIn(await ben.open(), id)).toMatchObject({ has_voted: true, is_mine: false });
  });
});

describe("the list", () => {
  it("is newest first, paged, and can be filtered by status", async () => {
    const { account_id, key } = await server.addAccount(`Lister ${crypto.randomUUID()}`);
    const user = await addOwedUser(server, 900, key);
    const made: string[] = [];
    for (const amount of [101, 102, 103]) made.unshift(proposalIn(await user.refund(amount)).id);
    const [dora, eve] = [
      await addMember(server, "admin", account_id),
      await addMember(server, "admin", account_id),
    ];
    await dora.confirm(made[1]!);
    await eve.reject(made[1]!);
    const list = async (query: string) => {
      const { body } = await server.call("GET", `/proposals?${query}`, undefined, { key });
      return [body.proposals.map(({ id }: { id: string }) => id), body.has_more];
    };
    expect(await list("")).toEqual([made, false]);
    expect(await list("limit=1")).toEqual([[made[0]], true]);
    expect(await list(`starting_after=${made[0]}`)).toEqual([made.slice(1), false]);
    expect(await list("status=rejected")).toEqual([[made[1]], false]);
    expect(await list("status=pending")).toEqual([[made[0], made[2]], false]);
    const wrong = await server.call("GET", "/proposals?status=open", undefined, { key });
    expect(wrong.body.error_code).toBe("record_invalid");
  });
});

it("stored proposals do not contain the address in clear", async () => {
  const rows = await server.db.database.query<{ row: string }>(
    "select proposals::text as row from proposals",
  );
  expect(rows.length).toBeGreaterThan(0);
  const clear = rows.filter(({ row }) =>
    [STRANGE, Buffer.from(STRANGE).toString("hex")].some((text) => row.includes(text)),
  );
  expect(clear).toEqual([]);
});

it("sliproad verify finds no problems after these tests", async () => {
  await settle(server);
  expect(await findFault(server)).toBeNull();
});

describe("sliproad verify names a proposal", () => {
  /** The output of verify with a change that is then undone. */
  async function faultAfter(change: string, undo: string, id: string): Promise<string | null> {
    const { database } = server.db;
    await database.query(change, [id]);
    const fault = await findFault(server);
    await database.query(undo, [id]);
    return fault;
  }
  const set = (assignment: string) => `update proposals set ${assignment} where id = $1`;

  it("that was marked confirmed or done without the members' votes", async () => {
    const user = await addOwedUser(server, 300);
    const { id } = proposalIn(await user.refund(250));
    await ada.confirm(id);
    const pending = set("status = 'pending'");
    for (const [status, words] of [
      ["confirmed", "with the approval of 1 members"],
      ["done", "its status done differs from the recorded one"],
      ["rejected", "its status rejected differs from the recorded one"],
    ]) {
      const fault = await faultAfter(set(`status = '${status}'`), pending, id);
      expect(fault).toContain(`proposal ${id}`);
      expect(fault).toContain(words);
    }
    expect(await findFault(server)).toBeNull();
  });

  it("whose amount or record was changed", async () => {
    const user = await addOwedUser(server, 300);
    const { id } = proposalIn(await user.refund(250));
    const amount = await faultAfter(set("amount_usd = 1"), set("amount_usd = 250"), id);
    expect(amount).toContain(`proposal ${id}`);
    const undo = set(`record_id = '${user.user_id}'`);
    expect(await faultAfter(set("record_id = id"), undo, id)).toContain(
      "differs from what was proposed",
    );
    expect(await findFault(server)).toBeNull();
  });
});

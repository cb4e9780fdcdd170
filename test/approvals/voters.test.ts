import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { removeMember, setMemberRole } from "../../src/accounts/change-members.ts";
import { createApiKey } from "../../src/accounts/create-api-key.ts";
import { createMember } from "../../src/accounts/create-member.ts";
import type { By } from "../../src/accounts/model.ts";
import { makeApiKey } from "../../src/accounts/model.ts";
import { resetFactor } from "../../src/accounts/second-factor/reset-factor.ts";
import { SESSIONS } from "../../src/accounts/sign-in/session-store.ts";
import { listMembers } from "../../src/accounts/store.ts";
import { accountChange } from "../../src/approvals/change-accounts.ts";
import { type ControlledChange, changeOrPropose } from "../../src/approvals/controlled-change.ts";
import { NEW_MEMBER_WAIT_MS, PROPOSAL_LIFE_MS } from "../../src/approvals/model.ts";
import { PROPOSALS } from "../../src/approvals/store.ts";
import { assertWaited } from "../../src/approvals/votes/voters.ts";
import { limitChange } from "../../src/limits/change-limits.ts";
import { EVERY } from "../../src/limits/model.ts";
import { findRule } from "../../src/limits/store.ts";
import { HttpVisitor } from "../harness/http-visitor.ts";
import { PASSWORD, PASSWORD_HASH } from "../harness/password.ts";
import { setKyc } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { vouch } from "../harness/vouch.ts";
import { waitFor } from "../harness/wait-for.ts";
import { findFault, settle } from "../offramps/story.ts";
import {
  APPROVALS,
  addMember,
  addOwedUser,
  confirmAs,
  proposalIn,
  STRANGE,
  seenOf,
  shownIn,
  type TestMember,
} from "./proposal-fixture.ts";

const MEMBERS = "/dashboard/api/members";

let server: TestServer;
let account: { account_id: string; key: string };
let ada: TestMember;
let ben: TestMember;
let operator: TestMember;

beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_APPROVAL_ABOVE_USD: "100" } });
  account = await server.addAccount("Tenant");
  ada = await addMember(server, "admin", account.account_id);
  ben = await addMember(server, "approver", account.account_id);
  operator = await addMember(server, "approver");
});
afterAll(() => server.close());

const statusOf = async (id: string): Promise<string> =>
  (await server.call("GET", `/proposals/${id}`, undefined, { key: account.key })).body.proposal
    .status;
const waitForStatus = (id: string, status: string) =>
  waitFor(async () => (await statusOf(id)) === status);

async function propose(key = account.key) {
  const user = await addOwedUser(server, 10, key);
  return proposalIn(await user.refund(1, STRANGE)).id as string;
}

describe("a proposal that needs the operator", () => {
  async function proposeWithOperator() {
    const user = await addOwedUser(server, 10, account.key);
    await setKyc(server, user.user_id, { status: "suspended" }, account.key);
    const deposits = await server.call(
      ...(["GET", `/users/${user.user_id}/crypto_deposits`, undefined, account] as const),
    );
    const { from } = deposits.body.crypto_deposits[0];
    return proposalIn(await user.refund(1, from)).id as string;
  }

  it("waits until one of the operator's members confirms it, however many others did", async () => {
    const id = await proposeWithOperator();
    await ada.confirm(id);
    await ben.confirm(id);
    expect(await statusOf(id)).toBe("pending");
    const page = await operator.open();
    expect(shownIn(page, id)).toMatchObject({ voters: "with_operator", is_mine: true });
    await operator.confirm(id);
    await waitForStatus(id, "done");
  });

  it("runs with one vote of the account and one of the operator", async () => {
    const id = await proposeWithOperator();
    await operator.confirm(id);
    expect(await statusOf(id)).toBe("pending");
    await ben.confirm(id);
    await waitForStatus(id, "done");
  });

  it("is found by sliproad verify if it ran without them, or a vote was changed", async () => {
    const id = await proposeWithOperator();
    await ada.confirm(id);
    await operator.confirm(id);
    await waitForStatus(id, "done");
    const faultAfter = async (change: string, undo: string) => {
      await server.db.database.query(change, [id]);
      const fault = await findFault(server);
      await server.db.database.query(undo, [id]);
      expect(fault).toContain(`proposal ${id}`);
      return fault;
    };
    const set = (table: string, to: string, where: string) =>
      `update ${table} set ${to} where ${where}`;
    const own = `person_id = '${operator.person_id}' and proposal_id = $1`;
    const account_of = (id: string) => `voter_account_id = '${id}'`;
    expect(
      await faultAfter(
        set("proposals", "voters = 'members'", "id = $1"),
        set("proposals", "voters = 'with_operator'", "id = $1"),
      ),
    ).toContain("differs from what was proposed");
    expect(
      await faultAfter(
        set("proposal_votes", account_of(account.account_id), own),
        set("proposal_votes", account_of(server.account_id), own),
      ),
    ).toContain("its votes differ");
    expect(
      await faultAfter(
        set("proposal_votes", "verdict = 'reject'", own),
        set("proposal_votes", "verdict = 'confirm'", own),
      ),
    ).toContain("its votes differ");
    expect(await findFault(server)).toBeNull();
  });

  it("the account cannot reject the operator's changes of its limits and settings", async () => {
    const { database, clock } = server.core;
    const { account_id } = account;
    const by = { actor: "command line", reason: "Suspicious payouts" } as const;
    const ask = async <Input>(change: ControlledChange<Input>, input: Input) => {
      const asked = { account_id, input, is_operators: true, by };
      const proposal = await database.transaction((tx) =>
        changeOrPropose(tx, server.core, change, asked, clock.now()),
      );
      return proposal!.id;
    };
    const of = { account_id, user_id: EVERY, scope: "user", time_window: "day" } as const;
    const asked = [
      await ask(limitChange, { ...of, amount_max: 100_00n, count_max: null }),
      await ask(accountChange, { kyc_review_by_account: false }),
    ];
    for (const id of asked) {
      expect((await ben.reject(id)).statusCode).toBe(403);
      expect(await statusOf(id)).toBe("pending");
      await ada.confirm(id);
      await operator.confirm(id);
      await waitForStatus(id, "done");
    }
    const other = await ask(accountChange, { kyc_review_by_account: true });
    expect((await operator.reject(other)).statusCode).toBe(200);
    expect(await statusOf(other)).toBe("rejected");
  });

  it("is not asked for where the operator's only voter lowers a limit", async () => {
    const { database, clock } = server.core;
    const { account_id } = account;
    const of = { account_id, user_id: EVERY, scope: "account", time_window: "day" } as const;
    const ask = (amount_max: bigint | null, count_max: number | null, actor: By["actor"]) => {
      const by = { actor, reason: "Suspicious payouts" };
      const asked = { account_id, input: { ...of, amount_max, count_max }, is_operators: true, by };
      return database.transaction((tx) =>
        changeOrPropose(tx, server.core, limitChange, asked, clock.now()),
      );
    };
    const limitNow = () => findRule(database, { ...of, amount_max: null, count_max: null });
    // While two of the operator's members can vote, they do.
    const first = (await ask(600_000_00n, 900, "command line"))!;
    expect(first).toMatchObject({ voters: "with_operator", status: "pending" });
    await operator.reject(first.id);
    const setRole = async (role: "developer" | "approver") => {
      const by = { actor: "command line", reason: "test" } as const;
      const member = { account_id: server.account_id, person_id: operator.person_id };
      await database.transaction((tx) => setMemberRole(tx, member, role, by, clock.now()));
    };
    await setRole("developer");
    expect(await ask(500_000_00n, 900, "command line")).toBeNull();
    expect(await ask(400_000_00n, 900, "command line")).toBeNull();
    expect(await limitNow()).toMatchObject({ amount_max: 400_000_00n, count_max: 900 });
    // More in any respect needs a second person, and so does a sign-in alone.
    const wider = [
      ...[
        await ask(401_000_00n, 900, "command line"),
        await ask(300_000_00n, null, "command line"),
      ],
      ...[await ask(null, null, "command line"), await ask(1n, 1, `member:${operator.person_id}`)],
    ];
    expect(wider).toMatchObject(Array(4).fill({ voters: "with_operator", status: "pending" }));
    expect(await limitNow()).toMatchObject({ amount_max: 400_000_00n, count_max: 900 });
    // A user's own limit replaces that of the account.
    const user_of = { ...of, user_id: randomUUID() };
    const asked = {
      account_id,
      is_operators: true,
      by: { actor: "command line", reason: "x" },
    } as const;
    const input = { ...user_of, amount_max: 500_000_00n, count_max: 900 };
    expect(
      await database.transaction((tx) =>
        changeOrPropose(tx, server.core, limitChange, { ...asked, input }, clock.now()),
      ),
    ).toMatchObject({ status: "pending" });
    await setRole("approver");
  });

  it("other proposals of the account are not open to the operator's votes", async () => {
    const id = await propose();
    expect((await operator.confirm(id)).statusCode).toBe(404);
    expect((await operator.open()).body).not.toContain(id);
    expect(await statusOf(id)).toBe("pending");
  });
});

it("the creator of the key that proposed cannot cast the deciding vote", async () => {
  const { database, index_key, clock } = server.core;
  const key = makeApiKey(index_key, "sandbox", account.account_id);
  await database.transaction(async (tx) =>
    createApiKey(
      tx,
      index_key,
      {
        account_id: account.account_id,
        name: "of Ada",
        key,
        created_by_person: ada.person_id,
        actor: "command line",
        reason: "test",
      },
      clock.now(),
    ),
  );
  const id = await propose(key);
  await ben.confirm(id);
  const refused = await ada.confirm(id);
  expect(refused.statusCode).toBe(422);
  expect(refused.body).toContain("another member must confirm it last");
  expect(await statusOf(id)).toBe("pending");
  const second = await propose(key);
  await ada.confirm(second);
  await ben.confirm(second);
  await waitForStatus(second, "done");
});

it("a new member of a live account votes after 24 hours", async () => {
  const email = `new-${crypto.randomUUID()}@example.test`;
  const { database, index_key, clock } = server.core;
  const input = {
    account_id: account.account_id,
    email,
    password_hash: PASSWORD_HASH,
    role: "approver",
    vote_wait_ms: NEW_MEMBER_WAIT_MS,
    actor: "command line",
    reason: "test",
  } as const;
  await database.transaction((tx) => createMember(tx, index_key, input, clock.now()));
  const visitor = new HttpVisitor(server.app.server, "203.0.113.250");
  await visitor.signIn(email);
  await visitor.get("/dashboard/security");
  const id = await propose();
  const early = await confirmAs(visitor, id, "");
  expect(early.statusCode).toBe(422);
  expect(early.body).toContain("you can vote from");
  await server.call("POST", "/sandbox/clock", { advance_ms: NEW_MEMBER_WAIT_MS });
  const seen = seenOf(await visitor.call("GET", APPROVALS), id);
  expect((await confirmAs(visitor, id, seen)).statusCode).toBe(200);
  await ada.confirm(id);
  await waitForStatus(id, "done");
});

it("a member who gets the right to vote on a live account waits like a new one", async () => {
  const dan = await addMember(server, "developer", account.account_id);
  const key = { account_id: account.account_id, person_id: dan.person_id };
  const by = { actor: "command line", reason: "test" } as const;
  const { database, clock } = server.core;
  const setRole = (role: "approver" | "admin", vote_wait_ms: number) =>
    database.transaction((tx) =>
      setMemberRole(tx, { ...key, vote_wait_ms }, role, by, clock.now()),
    );
  await setRole("approver", NEW_MEMBER_WAIT_MS);
  const id = await propose();
  const early = await dan.confirm(id);
  expect(early.statusCode).toBe(422);
  expect(early.body).toContain("you can vote from");
  // A further change of the role neither ends the wait nor starts another one.
  await setRole("admin", NEW_MEMBER_WAIT_MS);
  await server.call("POST", "/sandbox/clock", { advance_ms: NEW_MEMBER_WAIT_MS });
  expect((await dan.confirm(id)).statusCode).toBe(200);
  await ada.confirm(id);
  await waitForStatus(id, "done");
});

it("a member of a live account whose second factor was reset waits like a new one", async () => {
  const { email, person_id } = await addMember(server, "approver", account.account_id);
  const person = { email, person_id, account_id: account.account_id };
  const by = { actor: "command line", reason: "lost the phone" } as const;
  const { database, index_key, clock } = server.core;
  const id = await propose();
  await database.transaction(async (tx) =>
    resetFactor(tx, index_key, { ...person, waits_to_vote: true }, by, clock.now()),
  );
  // Whoever knows the password signs in.
  const visitor = new HttpVisitor(server.app.server, "203.0.113.251");
  await visitor.signIn(email);
  await visitor.get("/dashboard/security");
  const confirm = async () =>
    confirmAs(visitor, id, seenOf(await visitor.call("GET", APPROVALS), id));
  const early = await confirm();
  expect(early.statusCode).toBe(422);
  expect(early.body).toContain("you can vote from");
  // The wait is the person's: also in an account that they join without one.
  const other = await server.addAccount("Another tenant");
  const joined = { ...by, email, role: "approver", account_id: other.account_id } as const;
  const member = await database.transaction((tx) =>
    createMember(tx, index_key, joined, clock.now()),
  );
  await expect(assertWaited(database, member, clock.now())).rejects.toThrow("you can vote from");
  await server.call("POST", "/sandbox/clock", { advance_ms: NEW_MEMBER_WAIT_MS });
  expect((await confirm()).statusCode).toBe(200);
  await ada.confirm(id);
  await waitForStatus(id, "done");
});

it("a vote from before a member was removed and invited again does not count", async () => {
  const dan = await addMember(server, "approver", account.account_id);
  const id = await propose();
  await dan.confirm(id);
  const { database, index_key, clock } = server.core;
  const by = { actor: "command line", reason: "test" } as const;
  const { account_id } = account;
  const member = { account_id, person_id: dan.person_id };
  await database.transaction((tx) => removeMember(tx, member, by, clock.now()));
  await server.call("POST", "/sandbox/clock", { advance_ms: 1000 });
  const input = { account_id, email: dan.email, role: "approver", ...by } as const;
  await database.transaction((tx) => createMember(tx, index_key, input, clock.now()));
  const shown = await server.call("GET", `/proposals/${id}`, undefined, { key: account.key });
  expect(shown.body.proposal).toMatchObject({ status: "pending", confirmations: 0 });
  await ada.confirm(id);
  expect(await statusOf(id)).toBe("pending");
  await ben.confirm(id);
  await waitForStatus(id, "done");
});

/** Runs while the role of a member is being changed: after its locks, before its commit. */
async function whileDemoting(person_id: string, work: () => Promise<{ statusCode: number }>) {
  const { database, clock } = server.core;
  const by = { actor: "command line", reason: "test" } as const;
  const key = { account_id: account.account_id, person_id };
  let voting: Promise<{ statusCode: number }> | undefined;
  await database.transaction(async (tx) => {
    await setMemberRole(tx, key, "developer", by, clock.now());
    let has_answered = false;
    voting = work().finally(() => {
      has_answered = true;
    });
    await waitFor(async () => {
      const waiting = await server.db.database.query(
        `select from pg_stat_activity where datname = current_database()
           and wait_event_type = 'Lock'`,
      );
      return has_answered || waiting.length > 0;
    });
  });
  return voting!;
}

it("a vote that waits for the voter's demotion is not recorded", async () => {
  const dan = await addMember(server, "approver", account.account_id);
  const id = await propose();
  await ben.confirm(id);
  const seen = seenOf(await dan.open(), id);
  const vote = await whileDemoting(dan.person_id, () => dan.confirm(id, seen));
  // The demotion has ended the session that voted.
  expect(vote.statusCode).toBe(401);
  expect(await statusOf(id)).toBe("pending");
});

it("a vote that waits for the demotion of the voter before is the first one that counts", async () => {
  const dan = await addMember(server, "approver", account.account_id);
  const id = await propose();
  await dan.confirm(id);
  const seen = seenOf(await ben.open(), id);
  const vote = await whileDemoting(dan.person_id, () => ben.confirm(id, seen));
  expect(vote.statusCode).toBe(200);
  expect(await statusOf(id)).toBe("pending");
  await ada.confirm(id);
  await waitForStatus(id, "done");
});

it("nobody confirms a proposal after 72 hours, even if the task that ends it is late", async () => {
  const id = await propose();
  await ada.confirm(id);
  const move = async (hours: number) => {
    await server.db.database.query(
      "update proposals set created_at = created_at - make_interval(hours => $2) where id = $1",
      [id, hours],
    );
    await vouch(server.db.database, PROPOSALS);
  };
  await move(72);
  const late = await ben.confirm(id);
  expect(late.statusCode).toBe(422);
  expect(late.body).toContain("was not confirmed within 72 hours");
  expect(await statusOf(id)).toBe("pending");
  await move(-72);
  await ben.confirm(id);
  await waitForStatus(id, "done");
});

it("an admin cannot reset their own second factor with the password alone", async () => {
  const { account_id } = await server.addAccount("One admin");
  const eve = await addMember(server, "admin", account_id);
  const change = { action: "reset_factor", role: "admin", reason: "lost" };
  const refused = await eve.call("POST", `${MEMBERS}/${eve.person_id}/change`, change);
  expect(refused.statusCode).toBe(422);
  expect(refused.body).toContain("cannot reset your own second factor");
});

it("a vote counts only within ten minutes of the voter's password or second factor", async () => {
  const id = await propose();
  await server.db.database.query("update sessions set confirmed_at = $2 where person_id = $1", [
    ...[ben.person_id, new Date(Date.now() - 11 * 60_000)],
  ]);
  await vouch(server.db.database, SESSIONS);
  for (const vote of [ben.confirm, ben.reject]) {
    expect((await vote(id)).json().error_code).toBe("confirmation_required");
  }
  await ada.confirm(id);
  expect(await statusOf(id)).toBe("pending");
  await ben.visitor.get("/confirm");
  const next = "/dashboard/approvals";
  const confirmed = await ben.visitor.post("/confirm", { password: PASSWORD, next });
  expect(confirmed.headers.location).toBe(next);
  await ben.visitor.get("/dashboard/security");
  await ben.confirm(id);
  await waitForStatus(id, "done");
});

it("a member whom an admin invites waits for two members, the admin not the last", async () => {
  const email = `page-${crypto.randomUUID()}@example.test`;
  const fields = { email, role: "developer", reason: "new colleague" };
  const asked = await ada.call("POST", MEMBERS, fields);
  expect(asked.json()).toEqual({ proposal: { id: expect.any(String) } });
  const [row] = await server.db.database.query<{ id: string; proposed_by_person: string }>(
    "select id, proposed_by_person from proposals where kind = 'change-members' order by id desc",
  );
  expect(row!.proposed_by_person).toBe(ada.person_id);
  await ben.confirm(row!.id);
  expect((await ada.confirm(row!.id)).statusCode).toBe(422);
  expect(await statusOf(row!.id)).toBe("pending");
  // Voters see whom it is about, whatever the request says.
  const removal = { action: "remove", reason: "left" };
  const other_email = { ...removal, email: "x@example.test" };
  const changeOf = (person_id: string) => `${MEMBERS}/${person_id}/change`;
  const forged = await ada.call("POST", changeOf(ben.person_id), other_email);
  expect(forged.statusCode).toBe(422);
  expect((await ada.call("POST", changeOf(ben.person_id), removal)).statusCode).toBe(200);
  const page = (await ben.open()).body;
  expect(page).toContain(JSON.stringify({ label: "Member", value: ben.email }));
  expect(page).not.toContain("x@example.test");
  const stranger = await ada.call("POST", changeOf(operator.person_id), removal);
  expect(stranger.statusCode).toBe(404);
  const second = await ada.call("POST", MEMBERS, { ...fields, role: "king" });
  expect(second.statusCode).toBe(422);
  expect(second.json().errors).toMatchObject([{ field: "role" }]);
  expect((await ben.call("GET", MEMBERS)).statusCode).toBe(403);
});

it("the only voter among two members lets nobody in without one of the operator's members", async () => {
  const { account_id, key } = await server.addAccount("One voter");
  const eve = await addMember(server, "admin", account_id);
  const invite = async (role: string) => {
    const email = `second-${crypto.randomUUID()}@example.test`;
    return (await eve.call("POST", MEMBERS, { email, role, reason: "a colleague" })).json();
  };
  // The first colleague: there is nobody to ask yet.
  expect(await invite("developer")).toEqual({ done: true });
  expect(await invite("approver")).toHaveProperty("proposal");
  const { proposals } = (await server.call("GET", "/proposals?status=pending", undefined, { key }))
    .body;
  const [{ id }] = proposals;
  await eve.confirm(id);
  const show = async () =>
    (await server.call("GET", `/proposals/${id}`, undefined, { key })).body.proposal.status;
  expect(await show()).toBe("pending");
  await operator.confirm(id);
  await waitFor(async () => (await show()) === "done");
});

it("the only voter among the operator's members lets nobody in by their sign-in alone", async () => {
  const own = await startTestServer();
  const { database, clock } = own.core;
  const first = (await listMembers(database, own.account_id)).map(({ person_id }) => person_id);
  const eve = await addMember(own, "admin");
  const by = { actor: "command line", reason: "set up by a test" } as const;
  for (const person_id of first) {
    const member = { account_id: own.account_id, person_id };
    await database.transaction((tx) => setMemberRole(tx, member, "developer", by, clock.now()));
  }
  const fields = { email: "second@example.test", role: "approver", reason: "a colleague" };
  const refused = await eve.call("POST", MEMBERS, fields);
  expect(refused.statusCode).toBe(422);
  expect(refused.body).toContain("sliproad members create --role approver");
  expect((await eve.call("GET", MEMBERS)).body).not.toContain(fields.email);
  await own.close();
});

it("an e-mail that looks like another one is no e-mail of a new member", async () => {
  const ascii = "an international domain in its ASCII form";
  for (const [email, why] of [
    ["carol@\u0430.test", ascii],
    ["carol@a.test\u200b", ascii],
    ["ca\u00adrol@a.test", ascii],
    ["c\u0001@a", ascii],
    ["c\u0000@a", "Remove NUL characters"],
  ] as const) {
    const fields = { email, role: "approver", reason: "new colleague" };
    const refused = await ada.call("POST", MEMBERS, fields);
    expect(refused.statusCode, JSON.stringify(email)).toBe(422);
    expect(refused.body).toContain(why);
  }
});

it("one of two voters ends a proposal, one of three cannot stop their own removal", async () => {
  const { account_id, key } = await server.addAccount("Trio");
  const eve = await addMember(server, "admin", account_id);
  const fay = await addMember(server, "approver", account_id);
  const remove = async () => {
    const removal = { action: "remove", reason: "left" };
    const asked = await eve.call("POST", `${MEMBERS}/${fay.person_id}/change`, removal);
    expect(asked.json()).toHaveProperty("proposal");
    const listed = await server.call("GET", "/proposals?status=pending", undefined, { key });
    return listed.body.proposals[0].id as string;
  };
  const show = async (id: string) =>
    (await server.call("GET", `/proposals/${id}`, undefined, { key })).body.proposal.status;
  const first = await remove();
  await eve.confirm(first);
  expect((await fay.reject(first)).statusCode).toBe(200);
  expect(await show(first)).toBe("rejected");

  const guy = await addMember(server, "finance_manager", account_id);
  const second = await remove();
  for (const vote of [fay.reject, fay.confirm]) {
    const refused = await vote(second);
    expect(refused.statusCode).toBe(422);
    expect(refused.body).toContain("about your own membership");
  }
  await eve.confirm(second);
  await guy.confirm(second);
  await waitFor(async () => (await show(second)) === "done");
  expect((await fay.open()).statusCode).not.toBe(200);
});

it("a proposal lapses after 72 hours and can then not be confirmed", async () => {
  const id = await propose();
  await ada.confirm(id);
  await server.call("POST", "/sandbox/clock", { advance_ms: PROPOSAL_LIFE_MS - 60_000 });
  expect(await statusOf(id)).toBe("pending");
  await server.call("POST", "/sandbox/clock", { advance_ms: 60_000 });
  await waitForStatus(id, "lapsed");
  expect((await ben.confirm(id)).statusCode).toBe(422);
  expect(await statusOf(id)).toBe("lapsed");
});

it("sliproad verify finds no problems after these tests", async () => {
  await settle(server);
  expect(await findFault(server)).toBeNull();
});

it("a page that is opened with an unknown ?done= says nothing about it", async () => {
  const admin = await addMember(server, "admin");
  for (const page of ["security", "documents", "screening"]) {
    for (const done of ["constructor", "__proto__", "toString"]) {
      const shown = await admin.visitor.get(`/dashboard/${page}?done=${done}`);
      expect(shown.statusCode).toBe(200);
      expect(shown.body).not.toContain("native code");
    }
  }
});

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ACCOUNT_CONTROLS } from "../../../src/accounts/controls-store.ts";
import { freezeAccount } from "../../../src/accounts/freeze-account.ts";
import { createSandboxChain } from "../../../src/partners/chain/sandbox.ts";
import { addMember, proposalIn, waitForEnd } from "../../approvals/proposal-fixture.ts";
import { runCommand } from "../../harness/command-line.ts";
import { createScriptedBank, type ScriptedBank } from "../../harness/scripted-bank.ts";
import { type Answer, startTestServer, type TestServer } from "../../harness/server.ts";
import { vouch } from "../../harness/vouch.ts";
import {
  advance,
  findFault,
  good,
  ledgerBalance,
  openStory,
  type Story,
  settle,
} from "../story.ts";

let server: TestServer;
let bank: ScriptedBank;
beforeAll(async () => {
  bank = createScriptedBank();
  server = await startTestServer({
    environment: { SLIPROAD_DOCUMENTS: "never" },
    partners: (core) => ({ chain: createSandboxChain(core), bank: bank.port }),
  });
});
afterAll(() => server.close());
beforeEach(() => {
  bank.manner = "pays";
  bank.return_answer = "booked";
});
// In every test no money is lost, duplicated or unexplained.
afterEach(async () => expect(await findFault(server)).toBeNull());

const AMOUNT = 100_000n;
const idOf = (story: Story) => `${story.offramp_id.replaceAll("-", "")}001`;

async function openPayout(manner: ScriptedBank["manner"] = "pays"): Promise<Story> {
  bank.manner = manner;
  const story = await openStory(server);
  good(await story.execute());
  await story.waitForStatus(manner === "pays" ? "fiat_sent" : "sending_fiat");
  await settle(server);
  return story;
}

type Said = Parameters<ScriptedBank["say"]>;

/** Sends an answer of the bank that becomes an exception, and finds it in the list. */
async function sayException(...said: Said) {
  const [end_to_end_id, kind, more = {}] = said;
  const { account_id } = server;
  const { bank_reference } = bank.say(end_to_end_id, kind, { account_id, ...more });
  await advance(server, 2_000);
  const { bank_exceptions } = good(await server.call("GET", "/bank_exceptions?status=open"));
  const exception = bank_exceptions.find(
    (one: { bank_reference: string }) => one.bank_reference === bank_reference,
  );
  expect(exception, `an open exception ${bank_reference}`).toBeDefined();
  return exception;
}

function resolve(id: string, resolution: string, more = {}, options = {}): Promise<Answer> {
  const body = { resolution, reason: "Confirmed by the bank", ...more };
  return server.call("POST", `/bank_exceptions/${id}/resolve`, body, options);
}

/** How much the balances change, on the debit side. */
async function changesOf(accounts: readonly string[], work: () => Promise<unknown>) {
  const read = () => Promise.all(accounts.map((name) => ledgerBalance(server, name, "eur")));
  const before = await read();
  await work();
  const after = await read();
  return Object.fromEntries(accounts.map((name, at) => [name, after[at]! - before[at]!]));
}

function problemsOf(answer: Answer): string[] {
  return answer.body.errors.map(
    (one: { field: string; code: string }) => `${one.field} ${one.code}`,
  );
}

async function historyOf(id: string): Promise<{ kind: string; what: string; who: string }[]> {
  return good(await server.call("GET", `/records/${id}/history`)).history;
}

describe("money in suspense has an exit", () => {
  it("is assigned as the rest of a return: the user gets all that came back", async () => {
    const story = await openPayout();
    bank.say(idOf(story), "returned", { amount: AMOUNT - 1_500n });
    await advance(server, 2_000);
    await story.waitForStatus("bounced");
    const rest = await sayException(idOf(story), "returned", { amount: 1_500n });
    expect(rest).toMatchObject({ kind: "suspense", amount: 15, held_amount: 15 });
    const pending = `payout_pending:${story.offramp_id}`;
    const moved = await changesOf(["suspense", pending, "bank:sandbox-eur"], async () => {
      const { bank_exception } = good(await resolve(rest.id, "assign"));
      expect(bank_exception).toMatchObject({
        ...{ status: "resolved", resolution: "assign", reason: "Confirmed by the bank" },
        assigned_offramp_id: story.offramp_id,
      });
    });
    expect(moved).toEqual({ suspense: 1_500n, [pending]: -1_500n, "bank:sandbox-eur": 0n });
    good(await story.giveUp());
    const { rate } = await story.show();
    expect(await story.owed()).toBe(Math.floor((Number(AMOUNT) * 10_000) / rate) / 1_000_000);
    const of_offramp = await historyOf(story.offramp_id);
    expect(of_offramp.map(({ what }) => what)).toEqual(
      expect.arrayContaining(["bank_exception.assign", "exception_assigned"]),
    );
    const of_exception = await historyOf(rest.id);
    expect(of_exception.map(({ kind, what }) => `${kind} ${what}`)).toEqual(
      expect.arrayContaining([
        ...["act bank_exception.assign", "posting exception_assigned"],
        "posting suspense_received",
      ]),
    );
    const act = of_exception.find(({ kind }) => kind === "act")!;
    expect(act.who).toMatch(/^api_key:/);
  });

  it("is assigned to a payout that was refunded before the rest came back", async () => {
    const story = await openPayout();
    bank.say(idOf(story), "returned", { amount: 1n });
    await advance(server, 2_000);
    await story.waitForStatus("bounced");
    good(await story.giveUp());
    const { rate } = await story.show();
    const worth = (cents: number) => Math.floor((cents * 10_000) / rate) / 1_000_000;
    expect(await story.owed()).toBe(worth(1));
    const rest = await sayException(idOf(story), "returned", { amount: AMOUNT - 1_500n });
    const over = await sayException(idOf(story), "returned", { amount: 1_500n });
    const moved = await changesOf(["suspense", "fx_position", "bank:sandbox-eur"], async () => {
      const { bank_exception } = good(await resolve(rest.id, "assign"));
      expect(bank_exception).toMatchObject({ assigned_offramp_id: story.offramp_id });
    });
    expect(moved).toEqual({ suspense: 98_500n, fx_position: -98_500n, "bank:sandbox-eur": 0n });
    expect(await story.owed()).toBeCloseTo(worth(1) + worth(98_500), 6);
    expect((await story.show()).status).toBe("failed");
    // All that came back is never more than what was paid.
    expect(problemsOf(await resolve(over.id, "assign"))).toEqual(["offramp_id record_invalid"]);
    good(await resolve(over.id, "write_off"));
    const { database } = server.core;
    for (const change of ["given_back = given_back + 1", "refund_rate = refund_rate + 1"]) {
      const set = `update bank_answers set ${change} where id = $1`;
      await database.query(set, [rest.id]);
      expect(await findFault(server), change).not.toBeNull();
      const undo = change.replace("+", "-");
      await database.query(`update bank_answers set ${undo} where id = $1`, [rest.id]);
    }
  });

  it("is assigned to the payout that it came from although the bank lost the id", async () => {
    const story = await openPayout();
    const found = await sayException("lost", "returned", { amount: AMOUNT });
    expect(found).toMatchObject({ kind: "no_such_payment", offramp_id: null, held_amount: 1000 });
    expect(problemsOf(await resolve(found.id, "assign"))).toEqual(["offramp_id parameter_missing"]);
    const { offramp_id } = story;
    good(await resolve(found.id, "assign", { offramp_id }));
    expect((await story.show()).status).toBe("bounced");
    const [event] = (await historyOf(offramp_id)).filter(({ kind }) => kind === "event");
    expect(event!.who).toMatch(/^api_key:/);
    good(await story.reroute());
    await story.waitForStatus("fiat_sent");
  });

  it("is not given back as a return of a later attempt, which the payee has in full", async () => {
    const story = await openPayout();
    bank.say(idOf(story), "returned", { amount: AMOUNT - 500n });
    await advance(server, 2_000);
    await story.waitForStatus("bounced");
    // What the bank kept is paid by us.
    good(await story.reroute());
    await story.waitForStatus("fiat_sent");
    const rest = await sayException(idOf(story), "returned", { amount: 500n });
    expect(rest).toMatchObject({ offramp_id: story.offramp_id, held_amount: 5 });
    const refused = await resolve(rest.id, "assign");
    expect(problemsOf(refused)).toEqual(["offramp_id invalid_transition"]);
    expect(refused.body.message).toContain("write it off");
    expect((await story.show()).status).toBe("fiat_sent");
    good(await resolve(rest.id, "write_off"));
  });

  it("is not assigned beyond what a payout misses, to another currency or another account", async () => {
    const story = await openPayout();
    const { offramp_id } = story;
    const more = await sayException("lost", "returned", { amount: AMOUNT + 1n });
    const too_much = await resolve(more.id, "assign", { offramp_id });
    expect(problemsOf(too_much)).toEqual(["offramp_id record_invalid"]);
    const usd = await sayException("lost", "returned", { amount: AMOUNT, currency: "usd" });
    const other = await resolve(usd.id, "assign", { offramp_id });
    expect(problemsOf(other)).toEqual(["offramp_id currency_mismatch"]);
    const { account_id } = await server.addAccount("Another tenant");
    const theirs = await sayException("lost", "returned", { account_id, amount: AMOUNT });
    const foreign = await resolve(theirs.id, "assign", { offramp_id });
    expect(problemsOf(foreign)).toEqual(["offramp_id record_not_found"]);
    expect((await story.show()).status).toBe("fiat_sent");
    const moved = await changesOf(["suspense", "write_offs"], async () => {
      good(await resolve(more.id, "write_off"));
      good(await resolve(theirs.id, "write_off"));
    });
    const sum = AMOUNT + AMOUNT + 1n;
    expect(moved).toEqual({ suspense: sum, write_offs: -sum });
    const history = await historyOf(theirs.id);
    expect(history.map(({ what }) => what)).toContain("exception_written_off");
  });

  it("is returned once; if the bank refuses, it waits for another decision", async () => {
    const found = await sayException("lost", "returned", { amount: 700n });
    bank.return_answer = "refused";
    const refused = await changesOf(
      ["suspense", "return_clearing", "bank:sandbox-eur"],
      async () => {
        const { bank_exception } = good(await resolve(found.id, "return"));
        expect(bank_exception.status).toBe("returning");
        await settle(server);
      },
    );
    expect(refused).toEqual({ suspense: 0n, return_clearing: 0n, "bank:sandbox-eur": 0n });
    bank.return_answer = "booked";
    const returned = await changesOf(
      ["suspense", "return_clearing", "bank:sandbox-eur"],
      async () => {
        good(await resolve(found.id, "return"));
        await settle(server);
      },
    );
    expect(returned).toEqual({ suspense: 700n, return_clearing: 0n, "bank:sandbox-eur": -700n });
    const key = `bank_exception:${found.id}:2`;
    expect(bank.returns.get(key)).toMatchObject({ amount: 700n, currency: "eur" });
    const { bank_exceptions } = good(await server.call("GET", "/bank_exceptions?status=resolved"));
    expect(bank_exceptions[0]).toMatchObject({ id: found.id, resolution: "return" });
  });

  it("is not returned while its user, or the account, is frozen", async () => {
    const story = await openPayout();
    bank.say(idOf(story), "returned", { amount: 60_000n });
    await advance(server, 2_000);
    const { id } = await sayException(idOf(story), "returned", { amount: 40_000n });
    const setFrozen = (action: string) =>
      server.call("POST", `/users/${story.user_id}/${action}`, { reason: "Reported as stolen" });
    good(await setFrozen("freeze"));
    expect(problemsOf(await resolve(id, "return"))).toEqual(["exception_id on_hold"]);
    good(await setFrozen("unfreeze"));
    // Frozen after the decision: the bank is not asked until the freeze has ended.
    bank.return_answer = "pending";
    good(await resolve(id, "return"));
    await settle(server);
    good(await setFrozen("freeze"));
    bank.return_answer = "booked";
    await advance(server, 120_000);
    const statusOf = async () =>
      good(await server.call("GET", "/bank_exceptions")).bank_exceptions.find(
        (one: { id: string }) => one.id === id,
      ).status;
    expect(await statusOf()).toBe("returning");
    good(await setFrozen("unfreeze"));
    await advance(server, 120_000);
    expect(await statusOf()).toBe("resolved");
    const unknown = await sayException("0".repeat(35), "returned", { amount: 500n });
    const setAccount = (is_frozen: boolean) => {
      const { database, clock } = server.core;
      const { account_id: operator_id } = server;
      const by = { operator_id, actor: "command line", reason: "test" } as const;
      return database.transaction(async (tx) =>
        freezeAccount(tx, server.account_id, is_frozen, by, clock.now()),
      );
    };
    await setAccount(true);
    expect(problemsOf(await resolve(unknown.id, "return"))).toEqual(["exception_id on_hold"]);
    await setAccount(false);
    good(await resolve(unknown.id, "return"));
    await settle(server);
  });

  it("cannot be dismissed, nor disappear by SQL without verify naming it", async () => {
    const found = await sayException("lost", "returned", { amount: 300n });
    expect(problemsOf(await resolve(found.id, "dismiss"))).toEqual([
      "resolution invalid_transition",
    ]);
    const { database } = server.core;
    const set = (change: string) =>
      database.query(`update bank_answers set ${change} where id = $1`, [found.id]);
    await set("status = 'resolved', resolution = 'dismiss', reason = 'x'");
    expect(await findFault(server)).toMatch(`bank exception ${found.id}`);
    await set("status = 'open', resolution = null, reason = null, held = 299");
    expect(await findFault(server)).toMatch(/suspense:|suspense of account/);
    await set("held = 300");
    good(await resolve(found.id, "write_off"));
  });
});

describe("a contradiction without money", () => {
  it("booked after rejected: the operator accepts the loss, or dismisses it", async () => {
    const story = await openPayout("is_silent");
    bank.say(idOf(story), "rejected");
    await advance(server, 2_000);
    await story.waitForStatus("failed");
    const late = await sayException(idOf(story), "booked");
    expect(late).toMatchObject({ kind: "out_of_order", held_amount: 0 });
    expect(problemsOf(await resolve(late.id, "return"))).toEqual(["resolution invalid_transition"]);
    expect(problemsOf(await resolve(late.id, "assign"))).toEqual(["offramp_id invalid_transition"]);
    const moved = await changesOf(["write_offs", "bank:sandbox-eur", "suspense"], async () =>
      good(await resolve(late.id, "write_off")),
    );
    expect(moved).toEqual({ write_offs: AMOUNT, "bank:sandbox-eur": -AMOUNT, suspense: 0n });
    const again = await sayException(idOf(story), "booked");
    good(await resolve(again.id, "dismiss"));
  });

  it("rejected after booked: assigned, the payout is bounced and can be refunded", async () => {
    const story = await openPayout();
    const rejected = await sayException(idOf(story), "rejected");
    const moved = await changesOf(["bank:sandbox-eur"], async () =>
      good(await resolve(rejected.id, "assign")),
    );
    expect(moved).toEqual({ "bank:sandbox-eur": AMOUNT });
    expect((await story.show()).status).toBe("bounced");
    good(await story.giveUp());
  });

  it("booked with another amount: more is a loss, less is not accepted", async () => {
    const story = await openPayout("is_silent");
    const less = await sayException(idOf(story), "booked", { amount: AMOUNT - 1n });
    expect(problemsOf(await resolve(less.id, "assign"))).toEqual(["offramp_id record_invalid"]);
    const more = await sayException(idOf(story), "booked", { amount: AMOUNT + 250n });
    const moved = await changesOf(["bank:sandbox-eur", "write_offs"], async () =>
      good(await resolve(more.id, "assign")),
    );
    expect(moved).toEqual({ "bank:sandbox-eur": -AMOUNT - 250n, write_offs: 250n });
    expect((await story.show()).status).toBe("fiat_sent");
    good(await resolve(less.id, "dismiss"));
  });

  it("a return of nothing is a conflict in the list, whatever it names", async () => {
    const story = await openPayout();
    for (const end_to_end_id of [idOf(story), "lost"]) {
      const nothing = await sayException(end_to_end_id, "returned", { amount: 0n });
      expect(nothing).toMatchObject({ kind: "conflict", amount: 0, held_amount: 0 });
      expect(problemsOf(await resolve(nothing.id, "write_off"))).toEqual([
        "resolution invalid_transition",
      ]);
      good(await resolve(nothing.id, "dismiss"));
    }
  });
});

/** The operator's approval amount, in cents. */
async function setLimit(cents: bigint | null): Promise<void> {
  await server.core.database.query(
    "update account_controls set approval_above_usd = $2 where account_id = $1",
    [server.account_id, cents],
  );
  await vouch(server.core.database, ACCOUNT_CONTROLS);
}

describe("who decides", () => {
  it("names every bad field, refuses other accounts, and decides once", async () => {
    const found = await sayException("lost", "booked", { amount: 500n });
    const path = `/bank_exceptions/${found.id}/resolve`;
    const bad = await server.call("POST", path, { resolution: "keep", offramp_id: "7", note: 1 });
    expect(problemsOf(bad).toSorted()).toEqual([
      "note parameter_unknown",
      "offramp_id record_invalid",
      "reason parameter_missing",
      "resolution record_invalid",
    ]);
    const { key } = await server.addAccount("Not the operator");
    expect((await resolve(found.id, "dismiss", {}, { key })).status).toBe(403);
    const unknown = await resolve(crypto.randomUUID(), "dismiss");
    expect(unknown.body.error_code).toBe("record_not_found");
    const { offramp_id } = await openPayout();
    const surplus = await resolve(found.id, "dismiss", { offramp_id });
    expect(problemsOf(surplus)).toEqual(["offramp_id record_invalid"]);
    const once = { headers: { "idempotency-key": `resolve-${found.id}` } };
    const first = await resolve(found.id, "dismiss", {}, once);
    const replayed = await resolve(found.id, "dismiss", {}, once);
    expect(replayed.text).toBe(first.text);
    expect(problemsOf(await resolve(found.id, "dismiss"))).toEqual([
      "exception_id invalid_transition",
    ]);
    const { text } = await server.call("GET", "/metrics");
    expect(text).toMatch(/^sliproad_bank_exceptions \d/m);
  });

  it("above the approval amount two members do, and see what the bank said", async () => {
    const story = await openPayout();
    const found = await sayException("lost", "returned", { amount: AMOUNT });
    const [first, second] = [
      await addMember(server, "finance_manager"),
      await addMember(server, "approver"),
    ];
    await setLimit(10_000n);
    const { offramp_id } = story;
    const proposal = proposalIn(await resolve(found.id, "assign", { offramp_id }));
    expect((await story.show()).status).toBe("fiat_sent");
    expect((await first.open()).body).toContain(found.bank_reference);
    await first.confirm(proposal.id);
    await second.confirm(proposal.id);
    expect((await waitForEnd(server, proposal.id)).status).toBe("done");
    expect((await story.show()).status).toBe("bounced");
    await setLimit(null);
  });

  it("on the command line it is the operator, with the same rules", async () => {
    const found = await sayException("lost", "returned", { amount: 900n });
    const run = (...args: string[]) =>
      runCommand(["exceptions", ...args], {
        DATABASE_URL: server.db.url,
        SLIPROAD_DATA_DIR: server.data_dir,
      });
    const [refused, listed] = await Promise.all([
      run("resolve", found.id, "--as", "dismiss", "--reason", "no money"),
      run("list"),
    ]);
    expect(refused.stderr).toContain("Its money is in suspense");
    expect(listed.stdout).toContain(`${found.id}  open  returned 9 eur`);
    const ended = await run("resolve", found.id, "--as", "write_off", "--reason", "old", "--json");
    expect(ended.stderr).toBe("");
    expect(JSON.parse(ended.stdout).bank_exception).toMatchObject({
      ...{ id: found.id, status: "resolved", resolution: "write_off", reason: "old" },
    });
  }, 60_000);
});

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { recordAudit } from "../../src/accounts/audit.ts";
import { checkProposalsTask } from "../../src/approvals/check-proposals.ts";
import { runProposalKind } from "../../src/approvals/model.ts";
import { readPlainData, writePlainData } from "../../src/approvals/plain-data.ts";
import { PROPOSALS } from "../../src/approvals/store.ts";
import { proposalTask } from "../../src/approvals/tasks.ts";
import {
  type ApprovalRules,
  type Describe,
  withApproval,
} from "../../src/approvals/with-approval.ts";
import { describeRefund } from "../../src/balances/describe-refund.ts";
import { refundBalances } from "../../src/balances/refund-balances.ts";
import { NETWORK_FEES } from "../../src/catalogue/chains.ts";
import { openLimitDeps } from "../../src/limits/load-limits.ts";
import { assertReserved } from "../../src/offramps/assert-reserved.ts";
import { lockForGates } from "../../src/offramps/payouts/assess-offramps.ts";
import { payQuoteTask } from "../../src/offramps/quotes/approval-task.ts";
import { createOfframpRenderer } from "../../src/offramps/render.ts";
import type { Command, UseCase } from "../../src/platform/commands/use-case.ts";
import type { Database } from "../../src/platform/db/database.ts";
import { CommitUnknownError } from "../../src/platform/db/outages.ts";
import { newId } from "../../src/platform/ids.ts";
import type { TaskHandler } from "../../src/platform/tasks/run-set.ts";
import { enqueueTasks } from "../../src/platform/tasks/tasks.ts";
import { createWorker } from "../../src/platform/tasks/worker.ts";
import { STORED_PRICES } from "../../src/prices/price-book.ts";
import { usdValue } from "../../src/prices/usd-value.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { SILENT } from "../harness/task-fixture.ts";
import { vouch } from "../harness/vouch.ts";
import { waitFor } from "../harness/wait-for.ts";
import { expectRefusal, findFault, good, openStory } from "../offramps/story.ts";
import {
  addMember,
  addOwedUser,
  proposalIn,
  seenOf,
  showProposal,
  type TestMember,
  waitForEnd,
} from "./proposal-fixture.ts";

let server: TestServer;
let ada: TestMember;
let ben: TestMember;

beforeAll(async () => {
  server = await startTestServer({
    environment: { SLIPROAD_APPROVAL_ABOVE_USD: "0", SLIPROAD_DOCUMENTS: "never" },
  });
  ada = await addMember(server, "admin");
  ben = await addMember(server, "approver");
  // Confirmed proposals wait for the workers of these tests.
  await server.app.worker.stop();
});
afterAll(() => server.close());

async function addConfirmed() {
  const user = await addOwedUser(server, 300);
  const { id } = proposalIn(await user.refund(250));
  await ada.confirm(id);
  await ben.confirm(id);
  expect((await showProposal(server, id)).status).toBe("confirmed");
  return { ...user, id };
}

function refunds() {
  const { keyring, index_key, config, clock } = server.core;
  const { kyc_enforcement } = config;
  const limits = openLimitDeps(STORED_PRICES, () => clock.now());
  const no_screening = { is_screening: false, assertReserved };
  const fees = { network_fees: NETWORK_FEES };
  const deps = { keyring, index_key, ...fees, kyc_enforcement, limits, ...no_screening };
  return refundBalances(deps, () => "");
}

async function withWorker(
  handler: TaskHandler | TaskHandler[],
  work: () => Promise<void>,
): Promise<void> {
  const { database, clock } = server.core;
  const handlers = [handler].flat();
  const worker = createWorker({ database, clock, log: SILENT, handlers, poll_ms: 20 });
  worker.start();
  try {
    await work();
  } finally {
    await worker.stop();
  }
}

describe("a confirmed proposal whose worker dies", () => {
  it("before the commit leaves nothing behind and is executed once by the next attempt", async () => {
    const { id, owed, refunds: listed } = await addConfirmed();
    const inner = refunds();
    let deaths = 0;
    const dying: typeof inner = {
      ...inner,
      record: (...given) => {
        inner.record(...given);
        deaths += 1;
        if (deaths === 1) throw new Error("the worker dies here");
      },
    };
    await withWorker(proposalTask(server.core, dying, describeRefund(server.core)), async () => {
      expect((await waitForEnd(server, id)).status).toBe("done");
    });
    expect(deaths).toBe(2);
    expect(await listed()).toHaveLength(1);
    expect(await owed()).toBe(50);
  });

  it("after the commit, before it gets the answer, is not executed a second time", async () => {
    const { id, owed, refunds: listed } = await addConfirmed();
    const { database, keyring, clock } = server.core;
    let lost = 0;
    const losing: Database = {
      ...database,
      transaction: async (work, options) => {
        const result = await database.transaction(work, options);
        lost += 1;
        if (lost === 1) throw new CommitUnknownError("its answer was lost");
        return result;
      },
    };
    const account_id = server.account_id;
    await withWorker(
      proposalTask({ database: losing, keyring }, refunds(), describeRefund(server.core)),
      async () => {
        expect((await waitForEnd(server, id)).status).toBe("done");
        // Not even if the task were enqueued again.
        const kind = runProposalKind("refund-balances");
        await database.transaction(async (tx) =>
          enqueueTasks(tx, kind, [{ account_id, id }], clock.now()),
        );
        await expect
          .poll(() =>
            database.query("select id from tasks where record_id = $1 and kind like 'run-%'", [id]),
          )
          .toEqual([]);
      },
    );
    expect(lost).toBe(2);
    expect(await listed()).toHaveLength(1);
    expect(await owed()).toBe(50);
  });
});

it("a task for a proposal without confirmations does nothing", async () => {
  const user = await addOwedUser(server, 300);
  const { id } = proposalIn(await user.refund(250));
  const { database, clock } = server.core;
  const kind = runProposalKind("refund-balances");
  await database.transaction(async (tx) =>
    enqueueTasks(tx, kind, [{ account_id: server.account_id, id }], clock.now()),
  );
  await withWorker(proposalTask(server.core, refunds(), describeRefund(server.core)), async () => {
    await expect
      .poll(() =>
        database.query("select id from tasks where record_id = $1 and kind like 'run-%'", [id]),
      )
      .toEqual([]);
  });
  expect((await showProposal(server, id)).status).toBe("pending");
  expect(await user.owed()).toBe(300);
});

type Note = { text: string; amount: bigint; currency: string };

const describeNote: Describe<Note, null> = async (_session, _loaded, { input }) => ({
  details: [["Text", input.text]],
  state: [],
});

/** A use case that records its input, run like the executor does. */
function openNotes(approvals: Partial<ApprovalRules> = {}) {
  const done: Command<Note>[] = [];
  const inner: UseCase<Note, null, string> = {
    name: "keep-notes",
    rows: () => 1,
    load: async () => null,
    decide: (_loaded, { input }) => ({ output: input.text, subject: null }),
    record: (_tx, _loaded, accepted) => void done.push(...accepted.map(({ command }) => command)),
    render: (text) => JSON.stringify({ text }),
  };
  const with_approval = withApproval(inner, {
    limit_usd: 10_000n,
    usdValue: async () => () => null,
    keyring: server.core.keyring,
    index_key: server.core.index_key,
    now: () => server.core.clock.now(),
    cooling_off_ms: 0,
    public_url: () => server.url,
    ...approvals,
    amountOf: (_loaded, { input }) => input,
    recordIdOf: ({ id }) => id,
    summaryOf: () => "Keep a note.",
    describe: describeNote,
  });
  const submit = async (input: Note, actor?: `member:${string}`) => {
    const { database, clock } = server.core;
    const now = clock.now();
    const command: Command<Note> = {
      id: newId(now),
      account_id: server.account_id,
      credential_id: crypto.randomUUID(),
      input,
      idempotency: null,
      ...(actor ? { actor } : {}),
    };
    return database.transaction(async (tx) => {
      const loaded = await with_approval.load(tx, [command]);
      const verdict = with_approval.decide(loaded, command, now);
      if ("refusal" in verdict) throw verdict.refusal;
      with_approval.record(tx, loaded, [{ command, ...verdict }], now);
      return JSON.parse(with_approval.render(verdict.output));
    });
  };
  return { inner, done, submit };
}

const NOTE: Note = { text: "$n1 n2 s3", amount: 12_345_678_901_234_567_890n, currency: "eur" };

describe("a proposal made by a member", () => {
  it("counts that member as one of the two, who cannot confirm it alone", async () => {
    const { inner, done, submit } = openNotes();
    const { proposal } = await submit(NOTE, `member:${ada.person_id}`);
    expect(proposal).toMatchObject({ confirmations: 1, status: "pending" });
    expect((await ada.confirm(proposal.id)).statusCode).toBe(200);
    expect(await showProposal(server, proposal.id)).toMatchObject({
      confirmations: 1,
      status: "pending",
    });
    await ben.confirm(proposal.id);
    await withWorker(proposalTask(server.core, inner, describeNote), async () => {
      expect((await waitForEnd(server, proposal.id)).status).toBe("done");
    });
    expect(done).toMatchObject([
      { input: NOTE, actor: `proposal:${proposal.id}`, approval: "given" },
    ]);
  });
});

describe("an amount", () => {
  it("without a rate counts as above the limit", async () => {
    const { submit, done } = openNotes();
    expect((await submit({ ...NOTE, amount: 1n })).proposal.amount_usd).toBeNull();
    expect(done).toEqual([]);
  });

  it("without a rate passes where there is no limit", async () => {
    const { submit } = openNotes({ limit_usd: undefined });
    expect(await submit(NOTE)).toEqual({ text: NOTE.text });
  });

  it("is converted with the accepted rates and rounded up to the cent", async () => {
    const { database } = server.core;
    const versions = { find: async () => new Map([["x", PRICES]]) };
    const toUsd = await usdValue(versions, {
      ...database,
      query: async () => [{ id: "x" }] as never,
    });
    expect(toUsd({ amount: 10_000n, currency: "usd" })).toBe(10_000n);
    expect(toUsd({ amount: 1n, currency: "usdc" })).toBe(1n);
    expect(toUsd({ amount: 100_000_000n, currency: "usdc" })).toBe(10_000n);
    const payouts = { amount: 100_000_000n, currency: "usdc", is_paid_out: true };
    expect(toUsd(payouts)).toBe(9_000n);
    // 80 eur at 0.8 for one token; the other token is worth 1.01 usd, and the higher value counts.
    expect(toUsd({ amount: 8_000n, currency: "eur" })).toBe(10_100n);
    expect(toUsd({ amount: 150n, currency: "jpy" })).toBe(100n);
    expect(toUsd({ amount: 1n, currency: "xxx" })).toBeNull();
    expect(toUsd({ amount: 1n, currency: "mxn" })).toBeNull();
  });
});

const rate = (units: bigint, scale: number) => ({ units, scale });
const PRICES = {
  version_id: "x",
  source: "test",
  as_of: null,
  expires_at: null,
  onramp_rates: new Map(),
  stopped: { offramps: [], onramps: [] },
  fees: {} as never,
  // Less a spread: what is paid out for a token.
  rates: new Map([["usdc", new Map([["usd", rate(9n, 1)]])]]),
  source_rates: new Map([
    [
      "usdc",
      new Map([
        ...[["usd", rate(1n, 0)] as const, ["eur", rate(8n, 1)] as const],
        ["jpy", rate(150n, 0)] as const,
      ]),
    ],
    ["usdt", new Map([["usd", rate(101n, 2)] as const, ["eur", rate(8n, 1)] as const])],
  ]),
};

describe("plain data", () => {
  it("is restored exactly, including BigInts and strings that look like them", () => {
    const value = {
      big: -12_345_678_901_234_567_890n,
      looks: ["n12", "s", "", "$bigint"],
      nested: { none: null, yes: true, number: 1.5, list: [[1n]], __proto__x: "a" },
    };
    expect(readPlainData(writePlainData(value))).toEqual(value);
  });

  it("refuses values that could not be restored exactly", () => {
    for (const value of [new Date(0), Buffer.from("a"), new Map(), Number.NaN, () => 1]) {
      expect(() => writePlainData({ value })).toThrow("plain data");
    }
  });
});

describe("a proposal to pay a quote whose reference or metadata changes", () => {
  const valuesOf = (proposal: { details: { value: string }[] }) =>
    proposal.details.map(({ value }) => value).join("\n");

  async function openProposed() {
    const story = await openStory(server, [{ amount: 200 }, { amount: 300 }]);
    const { proposal_id: id } = good(await story.execute()).approval;
    const path = `/users/${story.user_id}/quotes/${story.quote_id}/offramps/${story.offramp_id}`;
    const edit = (offramp: Record<string, unknown>) => server.call("PATCH", path, { offramp });
    return { ...story, id, edit };
  }

  function follow(work: () => Promise<void>) {
    const { core } = server;
    const renderer = createOfframpRenderer(() => server.url, core.clock);
    return withWorker(
      [checkProposalsTask(core), payQuoteTask({ ...core, policy: core.config, renderer })],
      work,
    );
  }

  it("is not approved while an assessment of its payouts reads that it is not yet", async () => {
    // Else the assessment would wait for an hour although the approval has woken it.
    const { quote_id, offramp_id: id } = await openProposed();
    const { core, account_id } = server;
    const other = await core.database.transaction(async (tx) => {
      await lockForGates(tx, core, [{ account_id, id }]);
      return core.database.query(
        "select id from quotes where account_id = $1 and id = $2 for no key update skip locked",
        [account_id, quote_id],
      );
    });
    expect(other).toEqual([]);
  });

  it("shows the new content until somebody has voted, and a vote names what was shown", async () => {
    const { id, edit } = await openProposed();
    const old = seenOf(await ada.open(), id);
    await follow(async () => {
      good(await edit({ reference: "INV-1" }));
      await waitFor(async () => valuesOf(await showProposal(server, id)).includes("“INV-1”"));
    });
    const late = await ada.confirm(id, old);
    expect(late.statusCode).toBe(422);
    expect(late.body).toContain("has changed since you opened the page");
    expect(await showProposal(server, id)).toMatchObject({ status: "pending", confirmations: 0 });
    expect((await ada.confirm(id)).statusCode).toBe(200);
  });

  it("is refused once two members have approved it, although the deposit has not come", async () => {
    const { id, edit, show } = await openProposed();
    await ada.confirm(id);
    await ben.confirm(id);
    await follow(async () => {
      expect((await waitForEnd(server, id)).status).toBe("done");
    });
    expect((await show()).status).toBe("initiated");
    expectRefusal(await edit({ reference: "INV-3" }), "offramp_not_editable");
    expectRefusal(await edit({ metadata: { sandbox_outcome: "stuck" } }), "offramp_not_editable");
  });

  it.each([
    ["reference", { reference: "INV-2" }],
    ["metadata", { metadata: { sandbox_outcome: "bounced" } }],
  ])("is void at once after the first vote: %s", async (_field, change) => {
    const { id, edit, show } = await openProposed();
    await ada.confirm(id);
    await follow(async () => {
      good(await edit(change));
      expect(await waitForEnd(server, id)).toMatchObject({
        status: "void",
        outcome: "What the members approved has changed since it was proposed.",
      });
      await waitFor(async () => (await show()).status === "failed");
    });
    expect((await ben.confirm(id)).body).toContain("Voting on this proposal has ended");
  });
});

it("sliproad verify finds no problems after these tests", async () => {
  expect(await findFault(server)).toBeNull();
});

it("a vote inserted with SQL, with its audit entry, decides nothing, and verify names it", async () => {
  const user = await addOwedUser(server, 300);
  const { id } = proposalIn(await user.refund(250));
  await ada.confirm(id);
  const { database, clock } = server.core;
  const { account_id } = server;
  const forge = async (person_id: string) =>
    database.transaction(async (tx) => {
      // What somebody who can write SQL can do: the digests of the log have no key.
      await tx.query(
        `insert into proposal_votes (account_id, proposal_id, voter_account_id, person_id, verdict,
           created_at) values ($1, $2, $1, $3, 'confirm', $4)`,
        [account_id, id, person_id, clock.now()],
      );
      const actor = `member:${person_id}` as const;
      const entry = {
        account_id,
        actor,
        action: "proposal.confirm" as const,
        record: `proposal:${id}`,
      };
      const detail = { voter_account_id: account_id };
      recordAudit(tx, { ...entry, reason: "", detail }, clock.now());
    });
  await forge(ben.person_id);
  const forged = `the vote of ${ben.person_id} was not recorded by this service`;
  expect(await findFault(server)).toContain(forged);

  await database.query("update proposals set status = 'confirmed' where id = $1", [id]);
  await vouch(database, PROPOSALS);
  const kind = runProposalKind("refund-balances");
  await database.transaction(async (tx) =>
    enqueueTasks(tx, kind, [{ account_id, id }], clock.now()),
  );
  await withWorker(proposalTask(server.core, refunds(), describeRefund(server.core)), async () => {
    await expect
      .poll(async () => {
        const query = "select last_error from tasks where record_id = $1 and attempts > 0";
        const [row] = await database.query<{ last_error: string }>(query, [id]);
        return row?.last_error;
      })
      .toContain("lacks the votes");
  });
  expect(await user.owed()).toBe(300);

  // A real vote beside a forged one does not complete it either.
  await database.query("update proposals set status = 'pending' where id = $1", [id]);
  await vouch(database, PROPOSALS);
  const cleo = await addMember(server, "approver");
  const answer = await cleo.confirm(id);
  expect(answer.body).toContain("a vote that the service did not record");
  expect((await showProposal(server, id)).status).toBe("pending");
});

it("a proposal marked confirmed without the votes is not executed", async () => {
  const user = await addOwedUser(server, 300);
  const { id } = proposalIn(await user.refund(250));
  await ada.confirm(id);
  const { database, clock } = server.core;
  await database.query("update proposals set status = 'confirmed' where id = $1", [id]);
  await vouch(database, PROPOSALS);
  const kind = runProposalKind("refund-balances");
  await database.transaction(async (tx) =>
    enqueueTasks(tx, kind, [{ account_id: server.account_id, id }], clock.now()),
  );
  await withWorker(proposalTask(server.core, refunds(), describeRefund(server.core)), async () => {
    await expect
      .poll(async () => {
        const query = "select last_error from tasks where record_id = $1 and attempts > 0";
        const [row] = await database.query<{ last_error: string }>(query, [id]);
        return row?.last_error;
      })
      .toContain("lacks the votes");
  });
  expect(await user.owed()).toBe(300);
});

it("a proposal whose content cannot be read, because the person was erased, fails", async () => {
  const { id, user_id } = await addConfirmed();
  const { database, keyring } = server.core;
  const subject = { account_id: server.account_id, subject_id: user_id };
  await database.transaction(async (tx) => keyring.eraseSubject(tx, subject));
  await withWorker(proposalTask(server.core, refunds(), describeRefund(server.core)), async () => {
    expect(await waitForEnd(server, id)).toMatchObject({
      status: "failed",
      outcome: "The user was erased.",
    });
  });
});

import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { APPLY_KEPT_ANSWERS_TASK, READ_BANK_TASK } from "../../../src/offramps/task-kinds.ts";
import type { BankAnswer, BankPort } from "../../../src/partners/bank/port.ts";
import { createSandboxChain } from "../../../src/partners/chain/sandbox.ts";
import type { Database } from "../../../src/platform/db/database.ts";
import { newId } from "../../../src/platform/ids.ts";
import { enqueueTasks } from "../../../src/platform/tasks/tasks.ts";
import { createScriptedBank } from "../../harness/scripted-bank.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { Crash, openSteps, type Steps } from "../../harness/steps.ts";
import { findFault, good, openStory, type Story } from "../story.ts";

let server: TestServer;
let steps: Steps;
const bank = createScriptedBank();
bank.manner = "is_silent";

/** Pages are small, and the test counts what was read. */
let page_max = 100;
let answers_read = 0;
const port: BankPort = {
  ...bank.port,
  listAnswers: async (cursor, limit) => {
    const read = await bank.port.listAnswers(cursor, Math.min(limit, page_max));
    answers_read += read.answers.length;
    return read;
  },
};

beforeAll(async () => {
  server = await startTestServer({
    environment: { SLIPROAD_DOCUMENTS: "never" },
    partners: (core) => ({ chain: createSandboxChain(core), bank: port }),
  });
  // The test itself is the worker.
  await server.app.worker.stop();
  steps = await openStepsWith(server.core.database);
});
afterAll(async () => {
  steps?.close();
  await server?.close();
});
afterEach(async () => {
  page_max = 100;
  expect(await listKept()).toEqual([]);
  expect(await findFault(server)).toBeNull();
});

function openStepsWith(database: Database): Promise<Steps> {
  const { core } = server;
  return openSteps(core, { chain: createSandboxChain(core), bank: port }, database);
}

async function openAccount(): Promise<TestServer> {
  const { account_id, key } = await server.addAccount(`Other ${newId(new Date())}`);
  const call: TestServer["call"] = (method, path, body, options) =>
    server.call(method, path, body, { ...options, key });
  return { ...server, account_id, key, call };
}

/** A quote with payouts that the bank has and says nothing about. */
async function openSilent(account: TestServer, count = 1): Promise<Story> {
  const story = await openStory(
    account,
    Array.from({ length: count }, () => ({ amount: 100 })),
  );
  good(await story.execute());
  await steps.runAll();
  for (const id of story.offramp_ids) expect((await story.show(id)).status).toBe("sending_fiat");
  return story;
}

const idOf = (story: Story, at = 0) => `${story.offramp_ids[at]!.replaceAll("-", "")}001`;
const booked = (story: Story, at = 0) => bank.say(idOf(story, at), "booked");
const statusesOf = async (story: Story) => {
  const shown = [];
  for (const id of story.offramp_ids) shown.push((await story.show(id)).status);
  return shown;
};

/** The balance of the first payout, altered by SQL: no answer about it can be posted. */
const alter = (story: Story, by: number) =>
  server.db.database.query(
    "update ledger_balances set balance = balance + $1 where ledger_account = $2",
    [by, `payout_pending:${story.offramp_id}`],
  );

async function listKept(): Promise<string[]> {
  const rows = await server.db.database.query<{ bank_reference: string }>(
    "select bank_reference from kept_bank_answers order by account_id, place",
  );
  return rows.map((row) => row.bank_reference);
}

const listTasks = () =>
  server.db.database.query<{ account_id: string; attempts: number }>(
    "select account_id, attempts from tasks where kind = $1 order by account_id",
    [APPLY_KEPT_ANSWERS_TASK],
  );

/** The outcome of these answers, in the order in which they were applied. */
async function listApplied(answers: readonly BankAnswer[]): Promise<[string, string][]> {
  const rows = await server.db.database.query<{ bank_reference: string; outcome: string }>(
    `select bank_reference, outcome from bank_answers where bank_reference = any($1)
     order by id`,
    [answers.map((answer) => answer.bank_reference)],
  );
  return rows.map((row) => [row.bank_reference, row.outcome]);
}

const referencesOf = (answers: readonly BankAnswer[]) =>
  answers.map((answer) => answer.bank_reference);
const allApplied = (answers: readonly BankAnswer[]) =>
  answers.map((answer) => [answer.bank_reference, "applied"]);

/** As if a second had passed. */
async function makeDue(): Promise<void> {
  await server.db.database.query("update tasks set due_at = created_at where kind = any($1)", [
    [READ_BANK_TASK, APPLY_KEPT_ANSWERS_TASK],
  ]);
}

async function readBank(with_steps = steps): Promise<void> {
  await makeDue();
  expect(await with_steps.run(READ_BANK_TASK)).toBe(true);
}

type Moment = "before" | "after";

/** A process that ends just before or after its commit number `at`, from 0, and does nothing more. */
function endingAt(database: Database, at: number, when: Moment) {
  let commits = 0;
  let is_dead = false;
  const die = () => {
    is_dead = true;
    throw new Crash(`ended ${when} a commit`);
  };
  const assertAlive = () => {
    if (is_dead) throw new Crash("ended before");
  };
  const query: Database["query"] = async (text, values) => {
    assertAlive();
    return database.query(text, values);
  };
  const transaction: Database["transaction"] = async (work, options) => {
    assertAlive();
    const is_last = commits++ === at;
    const result = await database.transaction(async (tx) => {
      const done = await work(tx);
      if (is_last && when === "before") die();
      return done;
    }, options);
    return is_last ? die() : result;
  };
  return { database: { ...database, query, transaction }, wasEnded: () => is_dead };
}

/** Plays a story with a process that ends at each of its commits; returns how many it has. */
async function atEveryCommit(
  story: (
    run: (work: (killed: Steps) => Promise<void>) => Promise<void>,
    round: string,
  ) => Promise<void>,
): Promise<number> {
  for (let at = 0; ; at += 1) {
    let was_ended = false;
    for (const when of ["before", "after"] as const) {
      const process = endingAt(server.core.database, at, when);
      const killed = await openStepsWith(process.database);
      await story((work) => work(killed), `${when} commit ${at}`);
      killed.close();
      was_ended ||= process.wasEnded();
    }
    if (!was_ended) return at;
  }
}

/** Reads as a process does that was asked to, beside the one that has the recurring task. */
async function askBank(with_steps: Steps): Promise<void> {
  const record = { account_id: server.account_id, id: newId(server.core.clock.now()) };
  await server.core.database.transaction(async (tx) =>
    enqueueTasks(tx, READ_BANK_TASK, [record], server.core.clock.now()),
  );
  await with_steps.run(READ_BANK_TASK);
}

/** Tries what is kept of every account once. */
async function applyKept(with_steps = steps): Promise<void> {
  await makeDue();
  while (await with_steps.run(APPLY_KEPT_ANSWERS_TASK));
}

describe("answers of an account that cannot be applied", () => {
  it("are kept in their order, and applied once when they can be", async () => {
    const failing = await openSilent(await openAccount(), 2);
    const other = await openSilent(await openAccount());
    await alter(failing, 1);
    const answers = [booked(failing), booked(failing, 1)];
    booked(other);
    await readBank();
    expect(await statusesOf(other)).toEqual(["fiat_sent"]);
    expect(await statusesOf(failing)).toEqual(["sending_fiat", "sending_fiat"]);
    expect(await listKept()).toEqual(referencesOf(answers));
    const metrics = await server.call("GET", "/metrics");
    expect(metrics.text).toMatch(/^sliproad_bank_answers_kept 2$/m);
    expect(metrics.text).toMatch(/^sliproad_bank_answer_kept_oldest_seconds \d/m);
    // A later answer waits behind them.
    answers.push(bank.say(idOf(failing), "returned"));
    await readBank();
    expect(await listKept()).toEqual(referencesOf(answers));
    await expect(applyKept()).rejects.toThrow("payout_pending");
    expect(await listKept()).toEqual(referencesOf(answers));
    expect(await findFault(server)).toContain("payout_pending");

    await alter(failing, -1);
    expect(await findFault(server)).toBeNull();
    await applyKept();
    expect(await listTasks()).toEqual([]);
    expect(await statusesOf(failing)).toEqual(["bounced", "fiat_sent"]);
    expect(await listApplied(answers)).toEqual(allApplied(answers));
    // The next ones are applied at once, and repeated ones not again.
    for (const answer of answers) bank.repeat(answer);
    await readBank();
    expect(await statusesOf(failing)).toEqual(["bounced", "fiat_sent"]);
    expect(await listApplied(answers)).toEqual(allApplied(answers));
  });

  it("are not read again, and those of others in later pages are applied", async () => {
    page_max = 2;
    const failing = await openSilent(await openAccount(), 3);
    const others: Story[] = [];
    for (let count = 0; count < 3; count += 1)
      others.push(await openSilent(await openAccount(), 2));
    await alter(failing, 1);
    const [first, second] = [booked(failing), booked(failing, 1)];
    for (const other of others) for (const at of [0, 1]) booked(other, at);
    const third = booked(failing, 2);
    answers_read = 0;
    await readBank();
    await readBank();
    expect(answers_read).toBe(9);
    for (const other of others) expect(await statusesOf(other)).toEqual(["fiat_sent", "fiat_sent"]);
    expect(await listKept()).toEqual(referencesOf([first, second, third]));
    await alter(failing, -1);
    await applyKept();
    expect(await statusesOf(failing)).toEqual(["fiat_sent", "fiat_sent", "fiat_sent"]);
  });

  it("are applied up to the first that cannot be", async () => {
    const failing = await openSilent(await openAccount(), 3);
    await alter(failing, 1);
    const answers = [booked(failing, 1), booked(failing), booked(failing, 2)];
    await readBank();
    expect(await listKept()).toEqual(referencesOf(answers));
    await expect(applyKept()).rejects.toThrow("payout_pending");
    expect(await statusesOf(failing)).toEqual(["sending_fiat", "fiat_sent", "sending_fiat"]);
    expect(await listKept()).toEqual(referencesOf(answers.slice(1)));
    await alter(failing, -1);
    await applyKept();
    expect(await listApplied(answers)).toEqual(allApplied(answers));
  });

  it("are kept while somebody holds locks of the account, which is no failure", async () => {
    const held = await openSilent(await openAccount());
    const answer = booked(held);
    await server.db.database.transaction(async (tx) => {
      await tx.query("select from offramps where id = $1 for update", [held.offramp_id]);
      await readBank();
      expect(await listKept()).toEqual([answer.bank_reference]);
      await steps.run(APPLY_KEPT_ANSWERS_TASK);
      expect(await listTasks()).toMatchObject([{ attempts: 0 }]);
      expect(await listKept()).toEqual([answer.bank_reference]);
    });
    await applyKept();
    expect(await statusesOf(held)).toEqual(["fiat_sent"]);
  });

  it("are kept once by two processes that read the same page", async () => {
    const failing = await openSilent(await openAccount(), 2);
    const other = await openSilent(await openAccount());
    await alter(failing, 1);
    const answers = [booked(failing), booked(failing, 1)];
    booked(other);
    const { database } = server.core;
    const second = await openStepsWith(database);
    await Promise.all([askBank(steps), askBank(second)]);
    expect(await listKept()).toEqual(referencesOf(answers));
    expect(await statusesOf(other)).toEqual(["fiat_sent"]);
    await alter(failing, -1);
    await Promise.all([applyKept(), applyKept(second)]);
    second.close();
    expect(await listApplied(answers)).toEqual(allApplied(answers));
    expect(await statusesOf(failing)).toEqual(["fiat_sent", "fiat_sent"]);
  });

  it("do not wait for an account of which many are kept", async () => {
    const many = await openAccount();
    const { account_id } = many;
    const large = await openSilent(many);
    const small = await openSilent(await openAccount());
    await alter(large, 1);
    await alter(small, 1);
    booked(large);
    const unknown = Array.from({ length: 1_300 }, (_, at) =>
      bank.say(`${newId(new Date()).replaceAll("-", "")}001`, "booked", {
        ...{ account_id, bank_reference: `many ${at}` },
      }),
    );
    const last = booked(small);
    await readBank();
    while ((await listKept()).length < unknown.length + 2) await readBank();
    await alter(large, -1);
    await alter(small, -1);
    await makeDue();
    for (let run = 0; run < 2; run += 1)
      expect(await steps.run(APPLY_KEPT_ANSWERS_TASK)).toBe(true);
    expect(await statusesOf(small)).toEqual(["fiat_sent"]);
    expect((await listKept()).length).toBe(101);
    await applyKept();
    expect(await statusesOf(large)).toEqual(["fiat_sent"]);
    expect(await listApplied([last])).toEqual(allApplied([last]));
    const outcomes = (await listApplied(unknown)).map(([, outcome]) => outcome);
    expect(outcomes).toEqual(unknown.map(() => "no_such_payment"));
  });

  it("are changed by nobody: a row that somebody altered is not applied", async () => {
    const failing = await openSilent(await openAccount());
    await alter(failing, 1);
    const { bank_reference } = booked(failing);
    await readBank();
    await alter(failing, -1);
    const set = (change: string) =>
      server.db.database.query(`update kept_bank_answers set ${change} where bank_reference = $1`, [
        bank_reference,
      ]);
    await set("answer = replace(answer, 'booked', 'rejected')");
    await expect(applyKept()).rejects.toThrow("kept_bank_answers");
    expect(await findFault(server)).toContain("kept_bank_answers");
    await set("answer = replace(answer, 'rejected', 'booked')");
    await applyKept();
    expect(await statusesOf(failing)).toEqual(["fiat_sent"]);
  });
});

describe("a process that ends at any commit", { timeout: 120_000 }, () => {
  it("while it reads and keeps: nothing is lost and nothing is applied twice", async () => {
    const commits = await atEveryCommit(async (run, round) => {
      page_max = 2;
      const failing = await openSilent(await openAccount(), 2);
      const other = await openSilent(await openAccount());
      await alter(failing, 1);
      const answers = [booked(failing), booked(failing, 1), bank.say(idOf(failing), "returned")];
      booked(other);
      await run(readBank);
      await readBank();
      expect(await listKept(), round).toEqual(referencesOf(answers));
      await alter(failing, -1);
      await applyKept();
      expect(await statusesOf(failing), round).toEqual(["bounced", "fiat_sent"]);
      expect(await statusesOf(other), round).toEqual(["fiat_sent"]);
      expect(await listApplied(answers), round).toEqual(allApplied(answers));
      expect(await listKept(), round).toEqual([]);
    });
    expect(commits).toBeGreaterThanOrEqual(4);
  });

  it("while it applies what was kept: each is applied once", async () => {
    const commits = await atEveryCommit(async (run, round) => {
      const failing = await openSilent(await openAccount(), 2);
      await alter(failing, 1);
      const answers = [booked(failing), booked(failing, 1), bank.say(idOf(failing), "returned")];
      await readBank();
      expect(await listKept(), round).toEqual(referencesOf(answers));
      await alter(failing, -1);
      await run(async (killed) => void (await killed.run(APPLY_KEPT_ANSWERS_TASK)));
      await applyKept();
      expect(await statusesOf(failing), round).toEqual(["bounced", "fiat_sent"]);
      expect(await listApplied(answers), round).toEqual(allApplied(answers));
      expect(await listTasks(), round).toEqual([]);
    });
    expect(commits).toBeGreaterThanOrEqual(2);
  });
});

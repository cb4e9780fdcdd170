import { expect } from "vitest";
import { APPLY_KEPT_ANSWERS_TASK, READ_BANK_TASK } from "../../../src/offramps/task-kinds.ts";
import type { BankAnswer } from "../../../src/partners/bank/port.ts";
import { createSandboxChain } from "../../../src/partners/chain/sandbox.ts";
import type { Database } from "../../../src/platform/db/database.ts";
import { newId } from "../../../src/platform/ids.ts";
import { createScriptedBank, type ScriptedBank } from "../../harness/scripted-bank.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { openSteps, type Steps } from "../../harness/steps.ts";
import { good, openStory, type Story } from "../story.ts";

/*
 * A service whose worker is the test, and a bank that says what the test wants, in pages of any
 * size: `openKeptWorld` opens them anew for each file.
 */

const TRIES = 8;

export let server: TestServer;
export let steps: Steps;
export let bank: ScriptedBank;
/** Pages may be small, and the test counts what was read. */
export const reading = { page_max: 100, answers: 0 };

export async function openKeptWorld(): Promise<void> {
  bank = createScriptedBank();
  bank.manner = "is_silent";
  const { listAnswers } = bank.port;
  bank.port.listAnswers = async (cursor, limit) => {
    const read = await listAnswers(cursor, Math.min(limit, reading.page_max));
    reading.answers += read.answers.length;
    return read;
  };
  server = await startTestServer({
    environment: { SLIPROAD_DOCUMENTS: "never" },
    partners: (core) => ({ chain: createSandboxChain(core), bank: bank.port }),
  });
  await server.app.worker.stop();
  steps = await openStepsWith(server.core.database);
}

export async function closeKeptWorld(): Promise<void> {
  steps.close();
  await server.close();
}

export function openStepsWith(database: Database): Promise<Steps> {
  const { core } = server;
  return openSteps(core, { chain: createSandboxChain(core), bank: bank.port }, database);
}

export async function openAccount(): Promise<TestServer> {
  const { account_id, key } = await server.addAccount(`Other ${newId(new Date())}`);
  const call: TestServer["call"] = (method, path, body, options) =>
    server.call(method, path, body, { ...options, key });
  return { ...server, account_id, key, call };
}

/** A quote with payouts that the bank has and says nothing about. */
export async function openSilent(account: TestServer, count = 1): Promise<Story> {
  const story = await openStory(
    account,
    Array.from({ length: count }, () => ({ amount: 100 })),
  );
  good(await story.execute());
  await steps.runAll();
  for (const id of story.offramp_ids) expect((await story.show(id)).status).toBe("sending_fiat");
  return story;
}

export const idOf = (story: Story, at = 0) => `${story.offramp_ids[at]!.replaceAll("-", "")}001`;
export const booked = (story: Story, at = 0) => bank.say(idOf(story, at), "booked");
export const statusesOf = async (story: Story) => {
  const shown = [];
  for (const id of story.offramp_ids) shown.push((await story.show(id)).status);
  return shown;
};

/** The balance of the first payout, altered by SQL: no answer about it can be posted. */
export const alter = (story: Story, by: number) =>
  server.db.database.query(
    "update ledger_balances set balance = balance + $1 where ledger_account = $2",
    [by, `payout_pending:${story.offramp_id}`],
  );

export async function listKept(): Promise<string[]> {
  const rows = await server.db.database.query<{ reference: string }>(
    "select reference from kept_messages order by record_id, place",
  );
  return rows.map((row) => row.reference);
}

/** As they are listed while all of them are kept. */
export function keptOf(answers: readonly BankAnswer[]): string[] {
  return byPayout(answers).map((answer) => answer.bank_reference);
}

/** Those of each payout in the order of the bank. */
function byPayout<Answer extends { end_to_end_id: string }>(answers: readonly Answer[]): Answer[] {
  return answers.toSorted((a, b) => a.end_to_end_id.localeCompare(b.end_to_end_id));
}

export const listTasks = () =>
  server.db.database.query<{ account_id: string; attempts: number }>(
    "select account_id, attempts from tasks where kind = $1 order by account_id",
    [APPLY_KEPT_ANSWERS_TASK],
  );

/** The outcome of these answers, those of each payout in the order in which they were applied. */
export async function listApplied(answers: readonly BankAnswer[]): Promise<[string, string][]> {
  type Row = { bank_reference: string; end_to_end_id: string; outcome: string };
  const rows = await server.db.database.query<Row>(
    `select bank_reference, end_to_end_id, outcome from bank_answers
     where bank_reference = any($1) order by id`,
    [answers.map((answer) => answer.bank_reference)],
  );
  return byPayout(rows).map((row) => [row.bank_reference, row.outcome]);
}

export const allApplied = (answers: readonly BankAnswer[]) =>
  keptOf(answers).map((reference) => [reference, "applied"]);

/** As if a second had passed. */
export async function makeDue(): Promise<void> {
  await server.db.database.query("update tasks set due_at = created_at where kind = any($1)", [
    [READ_BANK_TASK, APPLY_KEPT_ANSWERS_TASK],
  ]);
}

export async function readBank(with_steps = steps): Promise<void> {
  await makeDue();
  expect(await with_steps.run(READ_BANK_TASK)).toBe(true);
}

/** Tries what is kept until nothing is due; fails if something fails. */
export async function applyKept(with_steps = steps): Promise<void> {
  await makeDue();
  while (await with_steps.run(APPLY_KEPT_ANSWERS_TASK));
}

/** Tries what is kept several times, whatever fails; returns what it failed with. */
export async function tryKept(): Promise<string[]> {
  const failures: string[] = [];
  await makeDue();
  for (let time = 0; time < TRIES; time += 1) {
    await steps.run(APPLY_KEPT_ANSWERS_TASK).catch((error) => failures.push(String(error)));
  }
  return failures;
}

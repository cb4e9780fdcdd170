import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { APPLY_KEPT_ANSWERS_TASK, READ_BANK_TASK } from "../../../src/offramps/task-kinds.ts";
import { newId } from "../../../src/platform/ids.ts";
import { enqueueTasks } from "../../../src/platform/tasks/tasks.ts";
import type { Steps } from "../../harness/steps.ts";
import { findFault, type Story } from "../story.ts";
import {
  allApplied,
  alter,
  applyKept,
  bank,
  booked,
  closeKeptWorld,
  idOf,
  listApplied,
  listKept,
  listTasks,
  makeDue,
  openAccount,
  openKeptWorld,
  openSilent,
  openStepsWith,
  readBank,
  reading,
  referencesOf,
  server,
  statusesOf,
  steps,
} from "./kept-answers-world.ts";

beforeAll(openKeptWorld);
afterAll(closeKeptWorld);
afterEach(async () => {
  reading.page_max = 100;
  expect(await listKept()).toEqual([]);
  expect(await findFault(server)).toBeNull();
});

/** Reads as a process does that was asked to, beside the one that has the recurring task. */
async function askBank(with_steps: Steps): Promise<void> {
  const record = { account_id: server.account_id, id: newId(server.core.clock.now()) };
  await server.core.database.transaction(async (tx) =>
    enqueueTasks(tx, READ_BANK_TASK, [record], server.core.clock.now()),
  );
  await with_steps.run(READ_BANK_TASK);
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
    reading.page_max = 2;
    const failing = await openSilent(await openAccount(), 3);
    const others: Story[] = [];
    for (let count = 0; count < 3; count += 1)
      others.push(await openSilent(await openAccount(), 2));
    await alter(failing, 1);
    const [first, second] = [booked(failing), booked(failing, 1)];
    for (const other of others) for (const at of [0, 1]) booked(other, at);
    const third = booked(failing, 2);
    reading.answers = 0;
    await readBank();
    await readBank();
    expect(reading.answers).toBe(9);
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

  it("are changed by nobody: those before a row that somebody altered are applied", async () => {
    const failing = await openSilent(await openAccount(), 2);
    await alter(failing, 1);
    booked(failing);
    const { bank_reference } = booked(failing, 1);
    await readBank();
    await alter(failing, -1);
    const set = (change: string) =>
      server.db.database.query(`update kept_bank_answers set ${change} where bank_reference = $1`, [
        bank_reference,
      ]);
    await set("answer = replace(answer, 'booked', 'rejected')");
    await expect(applyKept()).rejects.toThrow("kept_bank_answers");
    expect(await statusesOf(failing)).toEqual(["fiat_sent", "sending_fiat"]);
    expect(await findFault(server)).toContain("kept_bank_answers");
    await set("answer = replace(answer, 'rejected', 'booked')");
    await applyKept();
    expect(await statusesOf(failing)).toEqual(["fiat_sent", "fiat_sent"]);
  });
});

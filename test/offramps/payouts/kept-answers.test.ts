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
  keptOf,
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
  server,
  statusesOf,
  steps,
  tryKept,
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

async function findFailed() {
  const [task] = await server.db.database.query<{ record_id: string; last_error: string }>(
    "select record_id, last_error from tasks where kind = $1 and attempts > 0",
    [APPLY_KEPT_ANSWERS_TASK],
  );
  return task!;
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
    expect(await listKept()).toEqual(keptOf(answers));
    const metrics = await server.call("GET", "/metrics");
    expect(metrics.text).toMatch(/^sliproad_bank_answers_kept 2$/m);
    expect(metrics.text).toMatch(/^sliproad_bank_answer_kept_oldest_seconds \d/m);
    // A later answer about the same payout waits behind it; that of the other payout does not.
    answers.push(bank.say(idOf(failing), "returned"));
    await readBank();
    expect(await listKept()).toEqual(keptOf(answers));
    expect([...new Set(await tryKept())].join()).toContain("payout_pending");
    const [first, , third] = answers;
    expect(await listKept()).toEqual(keptOf([first!, third!]));
    expect(await statusesOf(failing)).toEqual(["sending_fiat", "fiat_sent"]);
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

  it("hold up no other payout of the account, and no other answer of the bank", async () => {
    const account = await openAccount();
    const broken = await openSilent(account);
    const [first, second] = [await openSilent(account), await openSilent(account, 2)];
    await alter(broken, 1);
    booked(broken);
    booked(first);
    await readBank();
    await tryKept();
    expect(await statusesOf(first)).toEqual(["fiat_sent"]);
    const { record_id, last_error } = await findFailed();
    expect(record_id).toBe(broken.offramp_id);
    expect(last_error).not.toBeNull();
    // What comes later does not wait for the next attempt.
    booked(second);
    bank.say(idOf(broken), "returned");
    await readBank();
    expect(await statusesOf(second)).toEqual(["fiat_sent", "sending_fiat"]);
    expect((await listKept()).length).toBe(2);
    // Nor while somebody holds locks of the account, which is tried once in a read.
    await server.db.database.transaction(async (tx) => {
      await tx.query("select from offramps where id = $1 for update", [second.offramp_ids[1]]);
      booked(second, 1);
      await readBank();
      expect((await listKept()).length).toBe(3);
    });
    await alter(broken, -1);
    await applyKept();
    expect(await statusesOf(broken)).toEqual(["bounced"]);
    expect(await statusesOf(second)).toEqual(["fiat_sent", "fiat_sent"]);
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
    expect(await listKept()).toEqual(keptOf([first, second, third]));
    await alter(failing, -1);
    await applyKept();
    expect(await statusesOf(failing)).toEqual(["fiat_sent", "fiat_sent", "fiat_sent"]);
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
    expect(await listKept()).toEqual(keptOf(answers));
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
      bank.say("none of ours", "booked", { account_id, bank_reference: `many ${at}` }),
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
    expect((await listKept()).length).toBeGreaterThan(600);
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
    booked(failing, 1);
    const { bank_reference } = bank.say(idOf(failing), "returned");
    await readBank();
    await alter(failing, -1);
    const set = (change: string) =>
      server.db.database.query(`update kept_messages set ${change} where reference = $1`, [
        bank_reference,
      ]);
    await set("message = replace(message, 'returned', 'rejected')");
    expect((await tryKept()).join()).toContain("kept_messages");
    expect(await statusesOf(failing)).toEqual(["fiat_sent", "fiat_sent"]);
    expect(await findFault(server)).toContain("kept_messages");
    await set("message = replace(message, 'rejected', 'returned')");
    await applyKept();
    expect(await statusesOf(failing)).toEqual(["bounced", "fiat_sent"]);
  });
});

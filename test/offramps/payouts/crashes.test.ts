import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { APPLY_KEPT_ANSWERS_TASK } from "../../../src/offramps/task-kinds.ts";
import { endingAt } from "../../harness/ending-at.ts";
import type { Steps } from "../../harness/steps.ts";
import { findFault } from "../story.ts";
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
  openAccount,
  openKeptWorld,
  openSilent,
  openStepsWith,
  readBank,
  reading,
  server,
  statusesOf,
} from "./kept-answers-world.ts";

beforeAll(openKeptWorld);
afterAll(closeKeptWorld);
afterEach(async () => {
  reading.page_max = 100;
  expect(await listKept()).toEqual([]);
  expect(await findFault(server)).toBeNull();
});

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

describe("a process that ends at any commit", { timeout: 120_000 }, () => {
  it("while it reads and keeps: nothing is lost and nothing is applied twice", async () => {
    const commits = await atEveryCommit(async (run, round) => {
      reading.page_max = 2;
      const failing = await openSilent(await openAccount(), 2);
      const other = await openSilent(await openAccount());
      await alter(failing, 1);
      const answers = [booked(failing), booked(failing, 1), bank.say(idOf(failing), "returned")];
      booked(other);
      await run(readBank);
      await readBank();
      expect(await listKept(), round).toEqual(keptOf(answers));
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
      expect(await listKept(), round).toEqual(keptOf(answers));
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

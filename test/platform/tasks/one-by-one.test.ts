import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { oneByOne } from "../../../src/platform/tasks/one-by-one.ts";
import type { TaskSet } from "../../../src/platform/tasks/task-set.ts";
import { openTaskFixture, type TaskFixture, writeEffects } from "../../harness/task-fixture.ts";
import { waitFor } from "../../harness/wait-for.ts";

let fixture: TaskFixture;

beforeAll(async () => {
  fixture = await openTaskFixture();
});
afterEach(() => fixture.clear());
afterAll(() => fixture.drop());

const FOR_MS = 100;

test("a set of long tasks ends early, and the rest is done by later sets", async () => {
  const { database } = fixture;
  const ids = await fixture.enqueue("plain", 10);
  const sets: number[] = [];
  const handle = async (set: TaskSet) => {
    let done = 0;
    const work = async (task: TaskSet["tasks"][number]) => {
      await sleep(40);
      await database.transaction(async (tx) => {
        const tasks = await set.lock(tx, [task]);
        writeEffects(tx, tasks, "worker");
        set.finish(tx, tasks);
      });
      done += 1;
    };
    await oneByOne(database, set, work, FOR_MS);
    sets.push(done);
  };
  fixture.startWorker([{ kind: "plain", set_max: 10, sets_at_once: 1, handle }]);
  await waitFor(async () => (await fixture.countTasks()) === 0);
  // Each does one task at least, and none that begins after that time.
  expect(sets.length).toBeGreaterThan(2);
  for (const done of sets) expect(done).toBeGreaterThanOrEqual(1);
  for (const done of sets) expect(done).toBeLessThanOrEqual(3);
  const effects = await fixture.listEffects();
  expect(effects.map((effect) => effect.task_id).sort()).toEqual(ids.toSorted());
});

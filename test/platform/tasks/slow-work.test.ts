import { expect, it } from "vitest";
import { SlowWork } from "../../../src/platform/tasks/slow-work.ts";
import { waitFor } from "../../harness/wait-for.ts";

it("tasks of an account with no share left wait one after the other", async () => {
  const slow = new SlowWork({ per_account: 2, of_all: 9, slow_after_ms: 20 });
  let [end, begun] = [() => {}, 0];
  const held = new Promise<void>((resolve) => {
    end = resolve;
  });
  const running = [1, 2].map(() => {
    const onSlow = () => {
      begun += 1;
    };
    return slow.count("one", onSlow, () => held);
  });
  expect(slow.isUsedUp("one")).toBe(false);
  await waitFor(() => begun === 2);
  expect(slow.isUsedUp("one")).toBe(true);
  expect(slow.isUsedUp("two")).toBe(false);
  const now = new Date();
  const waits = Array.from(
    { length: 3 },
    () => slow.nextTime("one", now).getTime() - now.getTime(),
  );
  expect(waits[0]).toBeGreaterThanOrEqual(1_000);
  expect(waits[1]).toBeGreaterThan(waits[0]!);
  expect(waits[2]).toBeGreaterThan(waits[1]!);
  const many = Array.from({ length: 100_000 }, () => slow.nextTime("one", now).getTime());
  expect(many.reduce((a, b) => Math.max(a, b)) - now.getTime()).toBeLessThanOrEqual(600_000);
  end();
  await Promise.all(running);
  expect(slow.isUsedUp("one")).toBe(false);
});

it("many accounts with slow tasks leave some to the next", async () => {
  const slow = new SlowWork({ per_account: 40, of_all: 400, slow_after_ms: 1 });
  const held = Promise.withResolvers<void>();
  const running: Promise<void>[] = [];
  let begun = 0;
  for (let account = 0; account < 12; account += 1) {
    while (!slow.isUsedUp(`account ${account}`)) {
      const onSlow = () => {
        begun += 1;
      };
      running.push(slow.count(`account ${account}`, onSlow, () => held.promise));
      await waitFor(() => begun === running.length);
      if (begun === 400) break;
    }
  }
  // A set of slow tasks still leaves its place.
  expect(slow.isRoomLeft).toBe(true);
  held.resolve();
  await Promise.all(running);
});

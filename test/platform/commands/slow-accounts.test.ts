import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type Batchable, Batcher } from "../../../src/platform/commands/batcher.ts";
import { SlowAccounts } from "../../../src/platform/commands/slow-accounts.ts";

const SLOW_MS = 100;

/** Sets with a command of `slow` take long; a set in every account's turn. */
function open() {
  const sets: string[][] = [];
  let slow_at_once = 0;
  let slow_at_once_max = 0;
  const batcher = new Batcher<Batchable, true>({
    across_accounts: true,
    gather_ms: 0,
    slow_after_ms: SLOW_MS / 2,
    run: async (set) => {
      const names = set.map(({ account_id }) => account_id);
      sets.push([...new Set(names)].sort());
      const is_slow = names.includes("slow");
      if (is_slow) slow_at_once += 1;
      slow_at_once_max = Math.max(slow_at_once_max, slow_at_once);
      await sleep(is_slow ? SLOW_MS : 1);
      if (is_slow) slow_at_once -= 1;
      return new Map(set.map((one) => [one, true as const]));
    },
  });
  const send = (account_id: string) => batcher.submit({ account_id, rows: 1, bytes: 100 });
  return { send, sets, slowAtOnce: () => slow_at_once_max };
}

/** Commands of an account that sends the next when the one before is answered: how long each took. */
async function sendMany(send: () => Promise<true>, count: number): Promise<number[]> {
  const took: number[] = [];
  for (let sent = 0; sent < count; sent += 1) {
    const begun_ms = performance.now();
    await send();
    took.push(performance.now() - begun_ms);
  }
  return took;
}

describe("an account whose commands make sets slow", () => {
  it("delays others only until that is noticed", async () => {
    const { send, sets } = open();
    const others = Array.from({ length: 10 }, (_, at) => `other ${at}`);
    let is_over = false;
    const flood = Array.from({ length: 20 }, async () => {
      while (!is_over) await send("slow");
    });
    const took = await Promise.all(others.map((name) => sendMany(() => send(name), 100)));
    is_over = true;
    await Promise.all(flood);
    for (const of_one of took) {
      expect(of_one.filter((took_ms) => took_ms > SLOW_MS / 2).length).toBeLessThanOrEqual(4);
    }
    const mixed = sets.filter((names) => names.includes("slow") && names.length > 1);
    expect(mixed.length).toBeLessThanOrEqual(3);
  });

  it("keeps no place of the others while its sets have not ended", async () => {
    const never = Promise.withResolvers<never>();
    const batcher = new Batcher<Batchable, true>({
      across_accounts: true,
      gather_ms: 0,
      slow_after_ms: SLOW_MS / 2,
      run: async (set) => {
        if (set.some(({ account_id }) => account_id === "slow")) await never.promise;
        return new Map(set.map((one) => [one, true as const]));
      },
    });
    const send = (account_id: string) => batcher.submit({ account_id, rows: 1, bytes: 100 });
    void send("slow");
    void send("slow");
    expect(await send("other")).toBe(true);
    void send("slow");
    expect(await send("other")).toBe(true);
  });

  it("has as many sets at a time as any other while no other sends anything", async () => {
    const { send, slowAtOnce } = open();
    const sending = Array.from({ length: 6 }, () => sendMany(() => send("slow"), 3));
    await Promise.all(sending);
    expect(slowAtOnce()).toBe(2);
  });
});

describe("suspicion", () => {
  const slow = new SlowAccounts();

  it("falls on a few accounts of a slow set, and ends with a fast set of their own", () => {
    slow.noteSlow(["a", "b", "c", "d", "e", "f"], SLOW_MS, 0);
    const suspected = ["a", "b", "c", "d", "e", "f"].filter((name) => slow.has(name, 1));
    expect(suspected).toHaveLength(4);
    for (const name of suspected.slice(1)) slow.noteFast([name]);
    expect(suspected.filter((name) => slow.has(name, 3))).toEqual(suspected.slice(0, 1));
    // A fast set with others says nothing about it.
    slow.noteFast([suspected[0]!, "g"]);
    expect(slow.has(suspected[0]!, 5)).toBe(true);
  });

  it("falls on those that were in slow sets before", () => {
    for (const round of [1, 2, 3]) {
      const others = Array.from({ length: 50 }, (_, at) => `${round} other ${at}`);
      slow.noteSlow([...others, "often"], SLOW_MS, 10 * round);
    }
    expect(slow.has("often", 40)).toBe(true);
  });

  it("ends after half a minute", () => {
    expect(slow.has("often", 29_000)).toBe(true);
    expect(slow.has("often", 31_000)).toBe(false);
    expect(slow.isEmpty).toBe(false);
  });
});

import { describe, expect, it } from "vitest";
import {
  type Batchable,
  Batcher,
  PUT_OFF,
  type PutOff,
} from "../../../src/platform/commands/batcher.ts";
import { ByteBudget } from "../../../src/platform/commands/byte-budget.ts";

/** As commands end in a set: a replay, a new answer, or a refusal, which uses no budget. */
type Kind = "replay" | "fresh" | "refused";
type Command = Batchable & { kind: Kind; answer_bytes: number };
type Model = { seed: number; accounts: number; senders: number; sets: number };

/** A linear congruential generator: the same numbers for the same seed. */
function openRandom(seed: number) {
  let state = seed >>> 0;
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const below = (max: number) => Math.floor(next() * max);
  return { below, oneOf: <One>(...all: readonly One[]) => all[below(all.length)]! };
}

/** What `run-in-transaction.ts` does with a set: first the replays, then what is new. */
function answersTo(set: readonly Command[]): Map<Command, true | PutOff> {
  const answers = new Map<Command, true | PutOff>();
  const answer = (one: Command, budget: ByteBudget) => {
    answers.set(one, budget.is_spent ? PUT_OFF : true);
    if (!budget.is_spent) budget.spend(one.kind === "refused" ? 0 : one.answer_bytes);
  };
  const [of_replays, of_fresh] = [new ByteBudget(), new ByteBudget()];
  for (const one of set.filter(({ kind }) => kind === "replay")) answer(one, of_replays);
  for (const one of set.filter(({ kind }) => kind !== "replay")) answer(one, of_fresh);
  return answers;
}

/**
 * Greedy accounts keep many commands waiting, whose answers have any size; the quiet one sends one
 * at a time, as does the quiet sender of a greedy account. Returns for how many sets these waited.
 */
async function play({ seed, accounts, senders, sets }: Model) {
  const { below, oneOf } = openRandom(seed);
  let begun = 0;
  let least_answered = Number.POSITIVE_INFINITY;
  const running: (() => void)[] = [];
  const run = async (set: Command[]) => {
    begun += 1;
    await new Promise<void>((end) => running.push(end));
    const answers = answersTo(set);
    const answered = set.filter((one) => answers.get(one) === true).length;
    least_answered = Math.min(least_answered, answered);
    return answers;
  };
  const batcher = new Batcher<Command, true>({
    ...{ across_accounts: true, gather_ms: 0, run },
    bytes_queued_max: 1e9,
  });
  const send = async (account_id: string, sender: string, sizes: Partial<Command>) => {
    const command = { account_id, sender, rows: 1, bytes: 200, kind: "fresh" as Kind };
    const from = begun;
    await batcher.submit({ ...command, answer_bytes: 300, ...sizes });
    return begun - from;
  };
  const greedy = async (account_id: string) => {
    const large = oneOf(600_000, 1_000_001, 3_000_000);
    while (begun < sets) {
      await send(account_id, `sender ${below(senders)}`, {
        kind: oneOf("replay", "fresh", "fresh", "refused"),
        answer_bytes: oneOf(200, large, large),
        bytes: oneOf(200, 200, 60_000),
      });
    }
  };
  const quiet = async (account_id: string, sender: string) => {
    let longest = 0;
    while (begun < sets) {
      const sizes = { kind: oneOf<Kind>("replay", "fresh"), bytes: oneOf(200, 900_000) };
      longest = Math.max(longest, await send(account_id, sender, sizes));
    }
    return longest;
  };
  const all = Array.from({ length: accounts - 1 }, (_, at) => `greedy ${at}`);
  const flood = all.flatMap((account_id) =>
    Array.from({ length: 2 * senders + below(200) }, () => greedy(account_id)),
  );
  const waits = Promise.all([quiet("quiet", "its key"), quiet(all[0]!, "quiet sender")]);
  let is_over = false;
  const over = Promise.all([waits, ...flood]).then(() => (is_over = true));
  let passed_over = 0;
  while (!is_over) {
    // Of the two in flight either may end first; none takes longer than two others.
    passed_over = passed_over === 2 ? 0 : below(2) * (passed_over + 1);
    running.splice(Math.min(1, passed_over, running.length - 1), 1)[0]?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await over;
  const [account, sender] = await waits;
  return { account, sender, least_answered };
}

describe("for any answers of others, in thousands of sets", () => {
  for (const [seed, accounts, senders] of [
    [1, 2, 1],
    [2, 3, 50],
    [3, 8, 5],
    [4, 12, 30],
    [5, 40, 2],
  ] as const) {
    const title = `${accounts} accounts with ${senders} senders each`;
    it(`${title}: who sends little waits for a turn of each`, async () => {
      const model = { seed, accounts, senders, sets: 1_500 };
      const { account, sender, least_answered } = await play(model);
      // See docs/decisions/0040: three sets for each account, and those in flight meanwhile.
      expect(least_answered).toBeGreaterThanOrEqual(1);
      expect(account).toBeLessThanOrEqual(3 * accounts + 6);
      expect(sender).toBeLessThanOrEqual(accounts * (senders + 1) + 6);
    });
  }
});

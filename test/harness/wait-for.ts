import { setTimeout as sleep } from "node:timers/promises";

const ASK_MS = 10;

/**
 * Calls again until the result is neither false nor undefined nor null, and returns it. Tests wait
 * with this for a condition, never for a time.
 */
export async function waitFor<Answer>(
  ask: () => Promise<Answer> | Answer,
  timeout_ms = 20_000,
): Promise<Exclude<NonNullable<Answer>, false>> {
  const end_ms = Date.now() + timeout_ms;
  for (;;) {
    const answer = await ask();
    if (answer !== false && answer !== undefined && answer !== null) {
      return answer as Exclude<NonNullable<Answer>, false>;
    }
    if (Date.now() > end_ms) throw new Error(`not so within ${timeout_ms} ms: ${ask}`);
    await sleep(ASK_MS);
  }
}

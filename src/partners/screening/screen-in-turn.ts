import { setTimeout as sleep } from "node:timers/promises";
import { createFairTurns } from "../../platform/commands/fair-turns.ts";
import type { ScreenedPerson, ScreeningHit, ScreeningPort } from "./port.ts";

/** Of all accounts; one account has one. */
const AT_ONCE_MAX = 2;
/** A usual name takes a tenth of it. */
const SLOW_MS = 5;

const inTurn = createFairTurns(AT_ONCE_MAX);

/**
 * Compares a person with the lists while others are served. Ten holders with frequent names in one
 * field take a tenth of a second of the thread that answers requests: it is then left to the others
 * for as long.
 */
export function screenInTurn(
  screening: Pick<ScreeningPort, "screen">,
  account_id: string,
  person: ScreenedPerson,
): Promise<readonly ScreeningHit[]> {
  return inTurn(account_id, async () => {
    const begun_ms = performance.now();
    const hits = screening.screen(person);
    const took_ms = performance.now() - begun_ms;
    await sleep(took_ms > SLOW_MS ? took_ms : 0);
    return hits;
  });
}

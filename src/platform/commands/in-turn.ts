import type { Outcome } from "./model.ts";
import type { Idempotency } from "./use-case.ts";

type InTurn = (
  account_id: string,
  idempotency: Idempotency | null,
  work: () => Promise<Outcome>,
) => Promise<Outcome>;

/**
 * Requests with the same idempotency key wait for the answer of the first. Once that is stored, all
 * of them read it at once; a refusal frees the key for the next request. Between processes the
 * database's unique key decides; this avoids conflicts within one process.
 */
export function createTurns(): InTurn {
  const running = new Map<string, Promise<{ is_stored: boolean }>>();
  return async (account_id, idempotency, work) => {
    if (!idempotency) return work();
    const name = `${account_id} ${idempotency.index.toString("hex")}`;
    for (let first = running.get(name); first; first = running.get(name)) {
      if ((await first).is_stored) return work();
    }
    const mine = work();
    const end = mine.then(
      (outcome) => ({ is_stored: "answer" in outcome }),
      () => ({ is_stored: false }),
    );
    running.set(name, end);
    try {
      return await mine;
    } finally {
      running.delete(name);
    }
  };
}

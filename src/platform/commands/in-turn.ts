import { Refusal } from "../errors.ts";
import type { Outcome } from "./model.ts";
import type { Idempotency } from "./use-case.ts";

type InTurn = (
  account_id: string,
  idempotency: Idempotency | null,
  work: () => Promise<Outcome>,
) => Promise<Outcome>;

/** Told whether the answer is stored; if not, it is this request's turn. */
type Waiting = (is_stored: boolean) => void;

/** Requests with one key that wait in this process; each keeps its body in memory. */
const WAITING_MAX = 1_000;
const RETRY_AFTER_SECONDS = 1;

/**
 * Requests with the same idempotency key wait for the answer of the first. Once that is stored, all
 * of them read it at once; a refusal frees the key for the next request alone: if it woke all of
 * them, the time for many would grow with the square of their number. Between processes the
 * database's unique key decides; this avoids conflicts within one process.
 */
export function createTurns(): InTurn {
  const lines = new Map<string, Waiting[]>();
  return async (account_id, idempotency, work) => {
    if (!idempotency) return work();
    const name = `${account_id} ${idempotency.index.toString("hex")}`;
    const known = lines.get(name);
    if (known && (await isStored(known))) return work();
    const line = known ?? [];
    lines.set(name, line);
    let is_stored = false;
    try {
      const outcome = await work();
      is_stored = "answer" in outcome;
      return outcome;
    } finally {
      const told = is_stored ? line.splice(0) : line.splice(0, 1);
      if (is_stored || told.length === 0) lines.delete(name);
      for (const tell of told) tell(is_stored);
    }
  };
}

function isStored(line: Waiting[]): Promise<boolean> {
  if (line.length >= WAITING_MAX) {
    throw new Refusal("unavailable", undefined, RETRY_AFTER_SECONDS);
  }
  return new Promise((tell) => line.push(tell));
}

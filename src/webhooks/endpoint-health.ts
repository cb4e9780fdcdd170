import { CIRCUIT_FAILURES, circuitOpenMs, DISABLE_AFTER_MS } from "./model.ts";

export type Health = {
  /** The first failure since the last success. */
  failing_since: Date | null;
  /** How often in a row the endpoint was left alone for a while, without a success between. */
  circuit_failures: number;
  circuit_until: Date | null;
};

export type Verdict = {
  /** Null when nothing changed. */
  health: Health | null;
  disable_reason: string | null;
  /** The endpoint is to be left alone for a while. */
  is_opened: boolean;
};

/** What an attempt means for its endpoint. `failures` counts those in a row during this turn. */
export function healthAfter(
  before: Health,
  result: { is_success: boolean; is_gone: boolean },
  turn: { failures: number; is_over: boolean },
  now: Date,
): Verdict {
  if (result.is_success) {
    const was_well = before.failing_since === null && before.circuit_failures === 0;
    const health = was_well
      ? null
      : { failing_since: null, circuit_failures: 0, circuit_until: null };
    return { health, disable_reason: null, is_opened: false };
  }
  const failing_since = before.failing_since ?? now;
  const disable_reason = whyDisable(result.is_gone, failing_since, now);
  const is_opened =
    !turn.is_over && (before.circuit_failures > 0 || turn.failures >= CIRCUIT_FAILURES);
  if (!is_opened) {
    const { circuit_failures, circuit_until } = before;
    const health = { failing_since, circuit_failures, circuit_until };
    return { health, disable_reason, is_opened };
  }
  const circuit_failures = before.circuit_failures + 1;
  const circuit_until = new Date(now.getTime() + circuitOpenMs(circuit_failures));
  return { health: { failing_since, circuit_failures, circuit_until }, disable_reason, is_opened };
}

function whyDisable(is_gone: boolean, failing_since: Date, now: Date): string | null {
  if (is_gone) return "The endpoint answered 410 Gone.";
  const failing_ms = now.getTime() - failing_since.getTime();
  return failing_ms >= DISABLE_AFTER_MS ? "The endpoint did nothing but fail for five days." : null;
}

import { type Health, WELL } from "../../apps/model.ts";
import { CIRCUIT_FAILURES, circuitOpenMs, DISABLE_AFTER_MS } from "./retry-schedule.ts";

type Verdict = {
  /** Null when nothing changed. */
  health: Health | null;
  disable_reason: string | null;
  /** The circuit was opened: nothing is sent to the endpoint for a while. */
  is_opened: boolean;
};

/** The endpoint's health after an attempt; while the circuit is open, results do not count. */
export function healthAfter(
  before: Health,
  result: { is_success: boolean; is_gone: boolean },
  is_over: boolean,
  now: Date,
): Verdict {
  if (result.is_success) {
    const was_well = before.failing_since === null && before.circuit_failures === 0;
    return { health: was_well ? null : WELL, disable_reason: null, is_opened: false };
  }
  const failing_since = firstFailure(before, now) ?? now;
  const disable_reason = whyDisable(result.is_gone, failing_since, now);
  const failures_in_a_row = before.failures_in_a_row + 1;
  const failed = { failing_since, failed_at: now, failures_in_a_row };
  const is_opened =
    !is_over && (before.circuit_failures > 0 || failures_in_a_row >= CIRCUIT_FAILURES);
  if (!is_opened) {
    const { circuit_failures, circuit_until } = before;
    return { health: { ...failed, circuit_failures, circuit_until }, disable_reason, is_opened };
  }
  const circuit_failures = before.circuit_failures + 1;
  const circuit_until = new Date(now.getTime() + circuitOpenMs(circuit_failures));
  return { health: { ...failed, circuit_failures, circuit_until }, disable_reason, is_opened };
}

/** After a long time without attempts, the five days start again. */
function firstFailure({ failing_since, failed_at }: Health, now: Date): Date | null {
  const silent_ms = failed_at === null ? 0 : now.getTime() - failed_at.getTime();
  return silent_ms >= 2 * DISABLE_AFTER_MS ? null : failing_since;
}

function whyDisable(is_gone: boolean, failing_since: Date, now: Date): string | null {
  if (is_gone) return "The endpoint answered 410 Gone.";
  const failing_ms = now.getTime() - failing_since.getTime();
  return failing_ms >= DISABLE_AFTER_MS
    ? "Every delivery to the endpoint failed for five days."
    : null;
}

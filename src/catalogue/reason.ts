import type { Problem } from "../platform/errors.ts";
import { isLongerThan, isVisible } from "./text.ts";

export const REASON_LENGTH_MAX = 500;

/** A decision without a reason helps nobody who reads it later. */
export function reasonProblems(reason: string, already: readonly Problem[]): Problem[] {
  const field = "reason";
  if (already.some((problem) => problem.field === field)) return [];
  if (!isVisible(reason)) {
    const message = "Give a reason for the decision.";
    return [{ field, code: "parameter_missing", message }];
  }
  if (!isLongerThan(reason, REASON_LENGTH_MAX)) return [];
  const message = `Shorten the reason to at most ${REASON_LENGTH_MAX} characters.`;
  return [{ field, code: "value_too_long", message }];
}

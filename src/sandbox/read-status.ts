import type { Problem } from "../platform/errors.ts";

/** The state that a sandbox route was asked for; undefined, and reported, where there is none. */
export function readStatus<Status extends string>(
  object: string,
  known: readonly Status[],
  wanted: unknown,
  found: Problem[],
): Status | undefined {
  const status = known.find((one) => one === wanted);
  if (!status && found.length === 0) {
    const message = `Send one of ${known.join(", ")}.`;
    found.push({ field: `${object}.status`, code: "record_invalid", message });
  }
  return found.length > 0 ? undefined : status;
}

export function noPath(field: string): Problem {
  const message = "No legal way leads there from the present state.";
  return { field, code: "invalid_transition", message };
}

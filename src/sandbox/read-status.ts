import type { Problem } from "../platform/errors.ts";
import type { Problems } from "../platform/problems.ts";

/** The state requested from a sandbox route; undefined, and reported, where there is none. */
export function readStatus<Status extends string>(
  object: string,
  known: readonly Status[],
  wanted: unknown,
  found: Problems,
): Status | undefined {
  const status = known.find((one) => one === wanted);
  if (!status) found.invalid(`${object}.status`, `Send one of ${known.join(", ")}.`);
  return found.is_empty ? status : undefined;
}

export function noPath(field: string): Problem {
  const message = "This status cannot be reached from the current one.";
  return { field, code: "invalid_transition", message };
}

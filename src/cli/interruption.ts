type CleanUp = () => Promise<unknown>;

const CLEAN_UP_MAX_MS = 3_000;
const clean_ups = new Set<CleanUp>();
let is_interrupted = false;

/** Done before the process ends at a signal or a closed pipe. Answers how to take it back. */
export function onInterruption(cleanUp: CleanUp): () => void {
  clean_ups.add(cleanUp);
  const onInt = () => interrupt(130);
  const onTerm = () => interrupt(143);
  process.on("SIGINT", onInt).on("SIGTERM", onTerm);
  return () => {
    clean_ups.delete(cleanUp);
    process.off("SIGINT", onInt).off("SIGTERM", onTerm);
  };
}

/** Ends the process, soon in any case; a second time at once. */
export function interrupt(exit_code: number): void {
  if (is_interrupted || clean_ups.size === 0) process.exit(exit_code);
  is_interrupted = true;
  const done = Promise.allSettled([...clean_ups].map((cleanUp) => cleanUp()));
  setTimeout(() => process.exit(exit_code), CLEAN_UP_MAX_MS);
  void done.then(() => process.exit(exit_code));
}

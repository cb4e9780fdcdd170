type CleanUp = () => Promise<unknown>;

const CLEAN_UP_MAX_MS = 3_000;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const clean_ups = new Set<CleanUp>();
let is_interrupted = false;

/** Done before the process ends at a signal or a closed pipe. Answers how to take it back. */
export function onInterruption(cleanUp: CleanUp): () => void {
  clean_ups.add(cleanUp);
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return () => {
    clean_ups.delete(cleanUp);
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
}

/** As a shell counts those that a signal ended. */
function onSignal(_signal: string, number: number): void {
  if (is_interrupted) process.exit(128 + number);
  interrupt(128 + number);
}

/** Ends the process, soon in any case; at a second signal at once. */
export function interrupt(exit_code: number): void {
  // Into a closed pipe every line fails anew: that is no reason to leave the work undone.
  if (is_interrupted) return;
  if (clean_ups.size === 0) process.exit(exit_code);
  is_interrupted = true;
  const done = Promise.allSettled([...clean_ups].map((cleanUp) => cleanUp()));
  setTimeout(() => process.exit(exit_code), CLEAN_UP_MAX_MS);
  void done.then(() => process.exit(exit_code));
}

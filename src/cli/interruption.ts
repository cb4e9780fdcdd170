type CleanUp = () => Promise<unknown>;

const CLEAN_UP_MAX_MS = 3_000;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const clean_ups = new Set<CleanUp>();
let is_interrupted = false;

/** Runs before the process ends on a signal or a closed pipe. Returns how to unregister it. */
export function onInterruption(cleanUp: CleanUp): () => void {
  clean_ups.add(cleanUp);
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return () => {
    clean_ups.delete(cleanUp);
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
}

/** Exits with the code that shells use for a signal. */
function onSignal(_signal: string, number: number): void {
  if (is_interrupted) process.exit(128 + number);
  interrupt(128 + number);
}

/** Runs the cleanup, with a time limit, and ends the process; on a second signal, at once. */
export function interrupt(exit_code: number): void {
  // Every write to a closed pipe fails again; that must not interrupt the cleanup.
  if (is_interrupted) return;
  if (clean_ups.size === 0) process.exit(exit_code);
  is_interrupted = true;
  const done = Promise.allSettled([...clean_ups].map((cleanUp) => cleanUp()));
  setTimeout(() => process.exit(exit_code), CLEAN_UP_MAX_MS);
  void done.then(() => process.exit(exit_code));
}

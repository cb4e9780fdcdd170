import { fork } from "node:child_process";
import { cpus, setPriority } from "node:os";
import { fileURLToPath } from "node:url";

const LOWEST_PRIORITY = 19;
const TURN_MS = 20;
const FILE = fileURLToPath(import.meta.url);

/**
 * Keeps every processor busy at the lowest priority. A virtual machine stops a processor that has
 * nothing to do, and starting it again takes longer than a request. How often that happens depends
 * on how the work divides into processes, and would decide the comparison: alone, the same
 * deliveries and the same bare loop were each seen at half of their speed.
 */
export function keepAwake(): () => void {
  const spinners = cpus().map(() => fork(FILE, ["spin"]));
  for (const { pid } of spinners) setPriority(pid!, LOWEST_PRIORITY);
  return () => {
    for (const spinner of spinners) spinner.kill();
  };
}

function spin(): void {
  const end_ms = performance.now() + TURN_MS;
  while (performance.now() < end_ms);
  setImmediate(spin);
}

if (process.argv[2] === "spin") {
  // Also when the bench was killed.
  process.once("disconnect", () => process.exit());
  spin();
}

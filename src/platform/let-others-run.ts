import { setImmediate } from "node:timers/promises";

/** Work on fewer bytes than this is not interrupted. */
const LARGE_BYTES = 1_000_000;

/** Between two parts of work on so many bytes: serves what is waiting in this process. */
export async function letOthersRun(bytes: number): Promise<void> {
  if (bytes > LARGE_BYTES) await setImmediate();
}

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

/**
 * The system reuses process ids, in a container within seconds. The id together with the start time
 * identifies one process permanently.
 */
export type ProcessIdentity = { pid: number; started: string | null };

export async function ownIdentity(): Promise<ProcessIdentity> {
  const found = await findStart(process.pid);
  return { pid: process.pid, started: found === "gone" ? null : found };
}

export async function isRunning(identity: ProcessIdentity): Promise<boolean> {
  if (!pidExists(identity.pid)) return false;
  const found = await findStart(identity.pid);
  if (found === "gone") return false;
  // If the system reports no start time, the id decides: a wrong refusal is the lesser harm.
  if (found === null || identity.started === null) return true;
  return found === identity.started;
}

export function pidExists(pid: number): boolean {
  // 0 and negative numbers would signal whole process groups.
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** The start time of the process, as text usable in a file name; null if it is unknown. */
async function findStart(pid: number): Promise<string | "gone" | null> {
  if (process.platform === "linux") return findStartOnLinux(pid);
  if (process.platform === "win32") return null;
  const run = promisify(execFile);
  const printed = await run("ps", ["-o", "lstart=", "-p", String(pid)]).catch(() => null);
  if (!printed?.stdout.trim()) return null;
  return createHash("sha256").update(printed.stdout.trim()).digest("hex").slice(0, 16);
}

async function findStartOnLinux(pid: number): Promise<string | "gone" | null> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
  if (stat === null) return null;
  // The command in parentheses may contain spaces and parentheses: count from the last one.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, ticks] = [fields[0], fields[19]];
  // A zombie no longer runs; its parent has not collected its exit code yet.
  if (state === "Z" || state === "X") return "gone";
  // Ticks count from the machine's boot, and small machines boot alike: include the boot id.
  const boot = await readFile("/proc/sys/kernel/random/boot_id", "utf8").catch(() => "");
  return `${boot.slice(0, 8)}.${ticks}`;
}

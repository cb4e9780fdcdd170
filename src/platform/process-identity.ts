import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

/**
 * A process number is used again by the system, in a container within seconds. The number together
 * with the moment the process began names one process for good.
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
  // Where the system does not tell, the number has to do: refusing wrongly is the lesser harm.
  if (found === null || identity.started === null) return true;
  return found === identity.started;
}

export function pidExists(pid: number): boolean {
  // 0 and negative numbers would address whole process groups.
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** When the process began, as text fit for a file name; null where it cannot be told. */
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
  // The command in parentheses may hold spaces and parentheses: count from the last one.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, ticks] = [fields[0], fields[19]];
  // A zombie runs nothing any more; its parent has merely not asked for its exit code yet.
  if (state === "Z" || state === "X") return "gone";
  // Ticks count from the boot of the machine, and small machines boot alike: name the boot too.
  const boot = await readFile("/proc/sys/kernel/random/boot_id", "utf8").catch(() => "");
  return `${boot.slice(0, 8)}.${ticks}`;
}

import { closeFiles } from "../../../src/partners/bank/file-bank/close-files.ts";
import type { FileBankDeps } from "../../../src/partners/bank/file-bank/submit-payments.ts";
import { writeFiles } from "../../../src/partners/bank/file-bank/write-files.ts";

/** What the tasks of all accounts do, one after the other. */
export async function closeAll(deps: FileBankDeps, now: Date): Promise<void> {
  for (const { name } of deps.accounts) await closeFiles(deps, name, now);
}

export async function writeAllFiles(deps: FileBankDeps, now: Date): Promise<void> {
  for (const { name } of deps.accounts) await writeFiles(deps, name, now);
}

import type { Answer } from "../../platform/commands/executor.ts";
import { DatabaseUnavailableError } from "../../platform/db/outages.ts";
import { Refusal } from "../../platform/errors.ts";
import type { FileKey, FileStore } from "./file-store.ts";

/**
 * Stores an uploaded file and then runs the command that makes a record reference it: a committed
 * record always has its file. If the command is refused, or its answer is a replay, the file is
 * deleted. A crash between the two, or an unknown outcome, leaves a file that no record references;
 * the module deletes such versions (`listVersions`).
 */
export async function keepFile(
  store: FileStore,
  temporary_key: string,
  key: FileKey,
  command: () => Promise<Answer>,
): Promise<Answer> {
  await store.promote(temporary_key, key);
  // A failed deletion must not change the answer: it only leaves an unreferenced version.
  const remove = () => store.delete(key).catch(() => {});
  try {
    const answer = await command();
    if (answer.replayed) await remove();
    return answer;
  } catch (error) {
    if (nothingHappened(error)) await remove();
    throw error;
  }
}

/** Any other error may have occurred after the commit: then the file must be kept. */
function nothingHappened(error: unknown): boolean {
  if (error instanceof Refusal) return error.code !== "outcome_unknown";
  return error instanceof DatabaseUnavailableError;
}

import type { Answer } from "../../platform/commands/executor.ts";
import { DatabaseUnavailableError } from "../../platform/db/database.ts";
import { Refusal } from "../../platform/errors.ts";
import type { FileKey, FileStore } from "./file-store.ts";

/**
 * Puts an uploaded file in its place and then runs the command that makes a record point to it: a
 * committed record always finds its file. Where the command is refused, or its answer is an
 * earlier one repeated, the file goes again. A crash between the two, or an outcome that nobody
 * knows, leaves a file that no record names; the room removes such versions (`listVersions`).
 */
export async function keepFile(
  store: FileStore,
  temporary_key: string,
  key: FileKey,
  command: () => Promise<Answer>,
): Promise<Answer> {
  await store.promote(temporary_key, key);
  // Failing to remove it must not change the answer: it is one more version that no record names.
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

/** Any other error may have struck after the commit: then the file must stay. */
function nothingHappened(error: unknown): boolean {
  if (error instanceof Refusal) return error.code !== "outcome_unknown";
  return error instanceof DatabaseUnavailableError;
}

import { readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import type { Session } from "../../../../platform/db/database.ts";
import { DONE } from "../read-inbox.ts";
import { listReportDigests } from "../report-store.ts";

/** A file that was read is kept under the beginning of its digest, and its name. */
const KEPT = /^([0-9a-f]{16})-(.+)$/;

/**
 * Moves files back into the inbox that were read, but not by this database: it was restored, and
 * they came after the backup.
 */
export async function rereadDone(session: Session, inbox: string): Promise<string[]> {
  const folder = join(inbox, DONE);
  const names = await readdir(folder).catch(() => []);
  const kept = names.flatMap((name) => {
    const [, digest, original] = KEPT.exec(name) ?? [];
    return digest && original ? [{ name, digest, original }] : [];
  });
  const known = await listReportDigests(
    session,
    kept.map(({ digest }) => digest),
  );
  const unknown = kept.filter(({ digest }) => !known.has(digest));
  for (const { name } of unknown) {
    // Under the name that it has here: another file may have the original one.
    await rename(join(folder, name), join(inbox, name));
  }
  return unknown.map(({ original }) => original);
}

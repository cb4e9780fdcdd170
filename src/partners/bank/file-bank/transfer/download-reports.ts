import { open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { FileEntryWithStats } from "ssh2";
import type { Database } from "../../../../platform/db/database.ts";
import { ChangedFile } from "../held-file.ts";
import type { ReportSource } from "../model.ts";
import { deleteOldDownloads, insertDownload, listDownloads } from "./download-store.ts";
import { type SftpSession, withSftp } from "./sftp-session.ts";

const FILES_AT_ONCE_MAX = 200;
const NAME_SHOWN_MAX = 100;
/** A file that was seen with this size before is complete. */
type Seen = Map<string, number>;

/**
 * Fetches the reports that a bank put on its SFTP server into the inbox. A file is fetched once it
 * has stopped growing, under a temporary name that is renamed, and noted after that: after a crash
 * it is fetched again, and known by its bytes. It is removed from the server only where the
 * operator says so, and only after it was noted. One that cannot be fetched is tried again by each
 * run, which ends with an error then, and delays no other.
 */
export async function downloadReports(
  database: Database,
  source: ReportSource,
  inbox: string,
  seen: Seen,
  now: Date,
): Promise<void> {
  await withSftp(source.server, async (session) => {
    const known = await listDownloads(database, source.name);
    const entries = (await session.list(source.folder)).filter(isReport);
    let fetched = 0;
    const failed: string[] = [];
    for (const entry of entries.toSorted((a, b) => (a.filename < b.filename ? -1 : 1))) {
      const { filename: name } = entry;
      const { size, mtime } = entry.attrs;
      const is_known = known.has(`${name}\n${size}\n${mtime}`);
      if (!is_known && (seen.get(name) !== size || fetched >= FILES_AT_ONCE_MAX)) {
        seen.set(name, size);
        continue;
      }
      if (!is_known) {
        const problem = await fetchFile(session, source, entry, inbox).catch(problemOfFile);
        if (problem) {
          failed.push(`${name.slice(0, NAME_SHOWN_MAX)}: ${problem}`);
          continue;
        }
        await insertDownload(database, { source: source.name, name, size, mtime }, now);
        fetched += 1;
      }
      if (source.is_removed) await session.remove(`${source.folder}/${name}`);
      seen.delete(name);
    }
    const names = entries.map(({ filename }) => filename);
    await deleteOldDownloads(database, source.name, names);
    if (failed.length === 0) return;
    throw new Error(`cannot fetch ${failed.length} of ${names.length} files; first ${failed[0]}`);
  });
}

/** The name cannot be used here: too long, or with a sign that no file's name has. */
const NAME_ERRORS = ["ENAMETOOLONG", "EINVAL", "ERR_INVALID_ARG_VALUE"];

/** What is wrong with one file; an error of anything else is thrown. */
function problemOfFile(error: Error & { code?: unknown }): string {
  const { code } = error;
  // The server's own answers have a number, such as 3, permission denied.
  const is_answer = typeof code === "number";
  const is_name = typeof code === "string" && NAME_ERRORS.includes(code);
  if (is_answer || is_name || error instanceof ChangedFile) return error.message;
  throw error;
}

/** Folders, links and what begins with a dot are no reports. */
function isReport({ filename, attrs }: FileEntryWithStats): boolean {
  return attrs.isFile() && /^[^./\\][^/\\]*$/.test(filename);
}

async function fetchFile(
  session: SftpSession,
  { name: source, folder }: ReportSource,
  { filename, attrs }: FileEntryWithStats,
  inbox: string,
): Promise<void> {
  const temporary = join(inbox, `.${source}-${filename}.part`);
  await rm(temporary, { force: true });
  const handle = await open(temporary, "wx", 0o640);
  let bytes = 0;
  try {
    for await (const chunk of session.read(`${folder}/${filename}`)) {
      await handle.write(chunk);
      bytes += chunk.length;
      if (bytes > attrs.size) break;
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
  if (bytes !== attrs.size) throw new ChangedFile("it changed while it was fetched");
  // Two servers may use the same names, and a server may use one again.
  await rename(temporary, join(inbox, `${source}-${attrs.mtime}-${filename}`));
}

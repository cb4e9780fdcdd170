import { open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { FileEntryWithStats } from "ssh2";
import type { Database } from "../../../../platform/db/database.ts";
import type { ReportSource } from "../model.ts";
import { deleteOldDownloads, insertDownload, listDownloads } from "./download-store.ts";
import { type SftpSession, withSftp } from "./sftp-session.ts";

const FILES_AT_ONCE_MAX = 200;
/** A file that was seen with this size before is complete. */
type Seen = Map<string, number>;

/**
 * Fetches the reports that a bank put on its SFTP server into the inbox. A file is fetched once it
 * has stopped growing, under a temporary name that is renamed, and noted after that: after a crash
 * it is fetched again, and known by its bytes. It is removed from the server only where the
 * operator says so, and only after it was noted.
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
    for (const entry of entries.toSorted((a, b) => (a.filename < b.filename ? -1 : 1))) {
      const { filename: name } = entry;
      const { size, mtime } = entry.attrs;
      const is_known = known.has(`${name}\n${size}\n${mtime}`);
      if (!is_known && (seen.get(name) !== size || fetched >= FILES_AT_ONCE_MAX)) {
        seen.set(name, size);
        continue;
      }
      if (!is_known) {
        await fetchFile(session, source, entry, inbox);
        await insertDownload(database, { source: source.name, name, size, mtime }, now);
        fetched += 1;
      }
      if (source.is_removed) await session.remove(`${source.folder}/${name}`);
      seen.delete(name);
    }
    const names = entries.map(({ filename }) => filename);
    await deleteOldDownloads(database, source.name, names);
  });
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
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
  if (bytes !== attrs.size) throw new Error(`${filename} changed while it was fetched`);
  // Two servers may use the same names, and a server may use one again.
  await rename(temporary, join(inbox, `${source}-${attrs.mtime}-${filename}`));
}

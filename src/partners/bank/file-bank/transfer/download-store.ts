import type { Session } from "../../../../platform/db/database.ts";

/** A file of a server, as it was when it was fetched. */
type Download = { source: string; name: string; size: number; mtime: number };

/** Files that were fetched, each as name, size and time on lines of their own. */
export async function listDownloads(session: Session, source: string): Promise<Set<string>> {
  const rows = await session.query<{ name: string; size: bigint; mtime: bigint }>(
    "select name, size, mtime from bank_downloads where source = $1",
    [source],
  );
  return new Set(rows.map(({ name, size, mtime }) => `${name}\n${size}\n${mtime}`));
}

export async function insertDownload(session: Session, file: Download, now: Date): Promise<void> {
  await session.query(
    `insert into bank_downloads (source, name, size, mtime, fetched_at)
     values ($1, $2, $3, $4, $5) on conflict do nothing`,
    [file.source, file.name, file.size, file.mtime, now],
  );
}

/** Those that the server does not have any more. */
export async function deleteOldDownloads(
  session: Session,
  source: string,
  names: readonly string[],
): Promise<void> {
  await session.query("delete from bank_downloads where source = $1 and name <> all($2)", [
    source,
    // No text of the database has a NUL, and no such file was fetched.
    names.filter((name) => !name.includes("\0")),
  ]);
}

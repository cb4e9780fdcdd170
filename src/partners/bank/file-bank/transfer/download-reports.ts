import type { Database } from "../../../../platform/db/database.ts";
import { DAY_MS } from "../../../../platform/durations.ts";
import type { ReportSource } from "../model.ts";
import { deleteOldDownloads, insertDownload, listDownloads } from "./download-store.ts";
import { fetchFile, problemOfFile, removePartial } from "./fetch-file.ts";
import { type ListedFile, withSftp } from "./sftp-session.ts";

const FILES_AT_ONCE_MAX = 200;
const NAME_SHOWN_MAX = 100;
/** More than a report may have: larger ones cannot be read. */
const FILE_BYTES_MAX = 512 * 1024 ** 2;
/** Of one server in a day: more than a bank says, and less than fills a disk. */
const DAY_BYTES_MAX = 4 * 1024 ** 3;

/** What is known of a server's files between two runs. */
type FetchState = {
  /** A file that was seen with this size before is complete. */
  seen: Map<string, number>;
  /** How often a file could not be fetched: those are tried after the others. */
  failures: Map<string, number>;
  /** The bytes that were fetched on a day. */
  day: number;
  day_bytes: number;
};

export function newFetchState(seen: Iterable<[string, number]> = []): FetchState {
  return { seen: new Map(seen), failures: new Map(), day: 0, day_bytes: 0 };
}

/**
 * Fetches the reports that a bank put on its SFTP server into the inbox. A file is fetched once it
 * has stopped growing, under a temporary name that is renamed, and noted after that: after a crash
 * it is fetched again, and known by its bytes. It is removed from the server only where the
 * operator says so, and only after it was noted. One that cannot be fetched is tried again by each
 * run, which ends with an error then, and delays no other. What the server says of itself is not
 * believed: names, the bytes of a file and those of a day have limits.
 */
export async function downloadReports(
  database: Database,
  source: ReportSource,
  inbox: string,
  state: FetchState,
  now: Date,
): Promise<void> {
  await removePartial(inbox, source.name);
  await withSftp(source.server, async (session) => {
    const known = await listDownloads(database, source.name);
    const files = (await session.list(source.folder)).filter(isReport);
    forgetOthers(state, files, now);
    let fetched = 0;
    const failed: string[] = [];
    for (const file of inTurn(files, state)) {
      const { name, size, mtime } = file;
      const is_known = known.has(`${name}\n${size}\n${mtime}`);
      if (!is_known && (state.seen.get(name) !== size || fetched >= FILES_AT_ONCE_MAX)) {
        state.seen.set(name, size);
        continue;
      }
      if (!is_known) {
        // Also if the session ends here: others are tried first then.
        state.failures.set(name, (state.failures.get(name) ?? 0) + 1);
        const problem =
          refusalOf(file, state) ??
          (await fetchFile(session, source, file, inbox).catch(problemOfFile));
        if (problem) {
          failed.push(`${name.slice(0, NAME_SHOWN_MAX)}: ${problem}`);
          continue;
        }
        await insertDownload(database, { source: source.name, name, size, mtime }, now);
        state.day_bytes += size;
        fetched += 1;
      }
      if (source.is_removed) await session.remove(`${source.folder}/${name}`);
      state.seen.delete(name);
      state.failures.delete(name);
    }
    const names = files.map(({ name }) => name);
    await deleteOldDownloads(database, source.name, names);
    if (failed.length === 0) return;
    throw new Error(`cannot fetch ${failed.length} of ${names.length} files; first ${failed[0]}`);
  });
}

/** Folders, links and what begins with a dot are no reports. */
function isReport({ name, is_file }: ListedFile): boolean {
  return is_file && /^[^./\\][^/\\]*$/.test(name);
}

/** What the server does not list any more is not kept either. */
function forgetOthers(state: FetchState, files: readonly ListedFile[], now: Date): void {
  const names = new Set(files.map(({ name }) => name));
  for (const known of [state.seen, state.failures]) {
    for (const name of known.keys()) if (!names.has(name)) known.delete(name);
  }
  const day = Math.floor(now.getTime() / DAY_MS);
  if (state.day !== day) Object.assign(state, { day, day_bytes: 0 });
}

/** By name; one that failed does not keep those behind it waiting. */
function inTurn(files: readonly ListedFile[], { failures }: FetchState): ListedFile[] {
  const failuresOf = ({ name }: ListedFile) => failures.get(name) ?? 0;
  return files.toSorted((a, b) => failuresOf(a) - failuresOf(b) || (a.name < b.name ? -1 : 1));
}

/** Why a file is not fetched at all, in view of the size that the server says. */
function refusalOf({ size }: ListedFile, { day_bytes }: FetchState): string | undefined {
  if (size > FILE_BYTES_MAX) {
    return `the server says that it has ${size} bytes; at most ${FILE_BYTES_MAX} are fetched`;
  }
  if (day_bytes + size <= DAY_BYTES_MAX) return undefined;
  return `${day_bytes} bytes were fetched today, of at most ${DAY_BYTES_MAX}; it has to wait`;
}

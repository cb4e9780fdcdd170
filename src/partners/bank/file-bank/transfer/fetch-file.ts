import { open, readdir, rename, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { MINUTE_MS } from "../../../../platform/durations.ts";
import { ChangedFile } from "../held-file.ts";
import type { ReportSource } from "../model.ts";
import type { ListedFile, SftpSession } from "./sftp-session.ts";

const FETCHED_WITHIN_MS = 15 * MINUTE_MS;
/** What stays free on the disk of the inbox, for everybody else. */
const DISK_FREE_MIN = 1024 ** 3;

/** The file is not fetched, and others may be. */
class RefusedFile extends Error {
  override name = "RefusedFile";
}

/** Fetches a file into the inbox, whole or not at all. */
export async function fetchFile(
  session: SftpSession,
  { name: source, folder }: ReportSource,
  { name, size, mtime }: ListedFile,
  inbox: string,
): Promise<void> {
  await requireSpace(inbox, size);
  const temporary = join(inbox, `${partialStart(source)}${name}${PARTIAL_END}`);
  try {
    const bytes = await writeBytes(temporary, session.read(`${folder}/${name}`), size);
    if (bytes !== size) throw new ChangedFile("it changed while it was fetched");
    // Two servers may use the same names, and a server may use one again.
    await rename(temporary, join(inbox, `${source}-${mtime}-${name}`));
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
}

/** Returns how many bytes there were; it stops at the first one too many. */
async function writeBytes(
  path: string,
  chunks: AsyncIterable<Buffer>,
  bytes_max: number,
): Promise<number> {
  await rm(path, { force: true });
  const handle = await open(path, "wx", 0o640);
  const ends_ms = performance.now() + FETCHED_WITHIN_MS;
  let bytes = 0;
  try {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > bytes_max) break;
      await handle.write(chunk);
      if (performance.now() > ends_ms) throw new RefusedFile("it was not fetched in 15 minutes");
    }
    await handle.sync();
    return bytes;
  } finally {
    await handle.close();
  }
}

/** No bank fills the disk that the others need. */
export async function requireSpace(inbox: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(inbox);
  const free = bavail * bsize;
  if (free - bytes >= DISK_FREE_MIN) return;
  throw new RefusedFile(
    `the disk of the inbox has ${free} bytes free, and must have ${DISK_FREE_MIN} after a file`,
  );
}

const PARTIAL_END = ".part";

/** No name of a server has this sign: one server's files do not begin like another's. */
function partialStart(source: string): string {
  return `.${source}~`;
}

/** What a process left that ended in the middle of a file. */
export async function removePartial(inbox: string, source: string): Promise<void> {
  const start = partialStart(source);
  const names = (await readdir(inbox)).filter(
    (name) => name.startsWith(start) && name.endsWith(PARTIAL_END),
  );
  for (const name of names) await rm(join(inbox, name), { force: true });
}

/** The name cannot be used here: too long, or with a sign that no file's name has. */
const NAME_ERRORS = ["ENAMETOOLONG", "EINVAL", "ERR_INVALID_ARG_VALUE"];

/** What is wrong with one file; an error of anything else is thrown. */
export function problemOfFile(error: Error & { code?: unknown }): string {
  const { code } = error;
  // The server's own answers have a number, such as 3, permission denied.
  const is_answer = typeof code === "number";
  const is_name = typeof code === "string" && NAME_ERRORS.includes(code);
  const is_file = error instanceof ChangedFile || error instanceof RefusedFile;
  if (is_answer || is_name || is_file) return error.message;
  throw error;
}

import { createHash, randomBytes } from "node:crypto";
import { existsSync, type PathLike, readdirSync } from "node:fs";
import { lstat, mkdir, readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { CommitUnknownError, DatabaseUnavailableError } from "../../../platform/db/outages.ts";
import { MINUTE_MS } from "../../../platform/durations.ts";
import { describeError } from "../../../platform/tasks/outage.ts";
import { UnreadableFile } from "../unreadable-file.ts";
import { applyReport, type ReportDeps } from "./apply-report.ts";
import { ChangedFile, type HeldFile, holdFile } from "./held-file.ts";
import { deleteSetAside, upsertSetAside } from "./open-item-store.ts";
import { readBankFile } from "./read-bank-file.ts";

/** Where files go that were read, and those that cannot be: inside the inbox. */
export const DONE = "done";
const SET_ASIDE = "set-aside";

/** A file that changed this recently may still be written by the bank's transfer program. */
const QUIET_MS = 10_000;
const FILES_AT_ONCE_MAX = 100;
/** Between two attempts at a file that cannot be read or moved; it doubles. */
const PAUSE_FIRST_MS = 10_000;
const PAUSE_MAX_MS = 5 * MINUTE_MS;

const OWN_FOLDERS = [DONE, SET_ASIDE];

/** Characters of a name that stay if more are put before it: a name has at most 255 bytes. */
const NAME_KEPT_MAX = 60;
/** Errors of one file, which delay no other. */
const FILE_ERRORS = new Set(["EACCES", "EPERM", "EIO", "ENAMETOOLONG", "EISDIR", "EFBIG", "ELOOP"]);

const NOT_PLAIN =
  "It is a symbolic link or a special file, which is never followed. Put the file itself there.";

/** A file that a person has to repair or to send back to the bank. */
type SetAside = { name: string; problem: string };

/** Files that could not be read or moved, and when each is tried again. */
export type InboxPauses = Map<string, { failures: number; until_ms: number }>;

type InboxOptions = {
  /** The servers whose files begin with their name: each has its turn. */
  sources?: readonly string[];
  pauses?: InboxPauses;
};

/**
 * Reads the files that banks left in a directory, oldest name first, and moves each one away. A
 * file is moved after it was recorded: after a crash it is found again, and known by its bytes.
 * What is recorded is what is moved: a file that grows, or takes the name of another, meanwhile is
 * read by the next run. One that cannot be read is set aside, counts for nothing, and does not
 * delay the others; moved back into the inbox it is read again. One that cannot be moved either is
 * tried again after a growing pause, in which the others have their turn.
 */
export async function readInbox(
  deps: ReportDeps,
  inbox: string,
  now: Date,
  real_now: Date,
  { sources = [], pauses = new Map() }: InboxOptions = {},
): Promise<SetAside[]> {
  for (const folder of [DONE, SET_ASIDE]) await mkdir(join(inbox, folder), { recursive: true });
  const set_aside: SetAside[] = [];
  const failures: string[] = [];
  for (const file of await listDueFiles(inbox, real_now, sources, pauses)) {
    try {
      const problem = file.is_plain
        ? await takeFile(deps, inbox, file, now)
        : await setAside(deps, inbox, file, { digest: nameDigest(file), problem: NOT_PLAIN }, now);
      if (problem !== null) set_aside.push({ name: file.name, problem });
      pauses.delete(file.name);
    } catch (error) {
      const { code = "" } = error as NodeJS.ErrnoException;
      // Another reader has moved the file: it is that reader's. One that changes is read later.
      if (code === "ENOENT" || error instanceof ChangedFile) continue;
      // Nothing can be recorded now, whatever the file.
      if (error instanceof DatabaseUnavailableError || error instanceof CommitUnknownError) {
        throw error;
      }
      pause(pauses, file.name, real_now);
      if (FILE_ERRORS.has(code)) {
        const problem = `The file cannot be opened or moved: ${code}.`;
        set_aside.push({ name: file.name, problem });
      } else {
        failures.push(`${file.name}: ${describeError(error)}`);
      }
    }
  }
  if (failures.length === 0) return set_aside;
  throw new Error(`cannot read ${failures.length} files of banks; first ${failures[0]}`);
}

function pause(pauses: InboxPauses, name: string, real_now: Date): void {
  const failures = (pauses.get(name)?.failures ?? 0) + 1;
  const pause_ms = Math.min(PAUSE_FIRST_MS * 2 ** (failures - 1), PAUSE_MAX_MS);
  pauses.set(name, { failures, until_ms: real_now.getTime() + pause_ms });
}

/** As many as a run takes, without those that have a pause. */
async function listDueFiles(
  inbox: string,
  real_now: Date,
  sources: readonly string[],
  pauses: InboxPauses,
): Promise<InboxFile[]> {
  const quiet = await listQuietFiles(inbox, real_now);
  const names = new Set(quiet.map(({ name }) => name));
  for (const name of pauses.keys()) if (!names.has(name)) pauses.delete(name);
  const due = quiet.filter(({ name }) => (pauses.get(name)?.until_ms ?? 0) <= real_now.getTime());
  return takeTurns(due, sources).slice(0, FILES_AT_ONCE_MAX);
}

/** A file of each bank in turn: many or large files of one bank do not delay another's. */
function takeTurns(files: readonly InboxFile[], sources: readonly string[]): InboxFile[] {
  const longest_first = sources.toSorted((a, b) => b.length - a.length);
  const by_source = Map.groupBy(files, ({ name }) =>
    longest_first.find((source) => name.startsWith(`${source}-`)),
  );
  const groups = [...by_source.values()];
  const turns = Math.min(Math.max(0, ...groups.map(({ length }) => length)), FILES_AT_ONCE_MAX);
  return Array.from({ length: turns }, (_, turn) =>
    groups.flatMap((one) => one[turn] ?? []),
  ).flat();
}

type NamedFile = { name: string; path: PathLike };
type InboxFile = NamedFile & { is_plain: boolean };

/**
 * Files by name, without those that may still be written, and without hidden ones and directories.
 * Links and special files are among them, so that nobody waits in vain for what they lead to.
 */
async function listQuietFiles(inbox: string, real_now: Date): Promise<InboxFile[]> {
  const files: InboxFile[] = [];
  // As bytes: a name need not be UTF-8.
  for (const entry of await readdir(inbox, { withFileTypes: true, encoding: "buffer" })) {
    const name = entry.name.toString();
    if (entry.isDirectory() || OWN_FOLDERS.includes(name) || name.startsWith(".")) continue;
    const path = Buffer.concat([Buffer.from(join(inbox, "/")), entry.name]);
    const found = await lstat(path).catch(() => null);
    if (!found) continue;
    const is_plain = found.isFile();
    // A time in the future is the bank's own; this machine notes when it was set.
    const is_ahead = found.mtimeMs > real_now.getTime();
    const changed_ms = is_ahead ? found.ctimeMs : found.mtimeMs;
    const is_quiet = changed_ms <= real_now.getTime() - QUIET_MS;
    if (is_quiet || !is_plain) files.push({ name, path, is_plain });
  }
  return files.sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function takeFile(
  deps: ReportDeps,
  inbox: string,
  file: NamedFile,
  now: Date,
): Promise<string | null> {
  const { name, path } = file;
  const held = await holdFile(path);
  try {
    const { digest } = held;
    const problem = await readOne(deps, name, held, now);
    // Another file has its name now: that one is read next.
    if (!(await held.isAt(path))) return null;
    if (problem !== null) return await setAside(deps, inbox, file, { digest, problem }, now);
    const kept = join(inbox, DONE, keptName(name, digest));
    await rename(path, kept);
    // It took the name in this moment, and nobody has read it.
    if (!(await held.isAt(kept))) await rename(kept, join(inbox, keptName(name, randomBytes(8))));
    return null;
  } finally {
    await held.close();
  }
}

async function setAside(
  deps: ReportDeps,
  inbox: string,
  { name, path }: NamedFile,
  { digest, problem }: { digest: Buffer; problem: string },
  now: Date,
): Promise<string> {
  const is_taken = existsSync(join(inbox, SET_ASIDE, name));
  const aside = is_taken ? keptName(name, digest) : name;
  await upsertSetAside(deps.database, { name: aside, digest, problem, since: now });
  await rename(path, join(inbox, SET_ASIDE, aside));
  return problem;
}

/** Of what has no bytes of its own. */
function nameDigest({ name }: NamedFile): Buffer {
  return createHash("sha256").update(name).digest();
}

/** Banks use names again: no file takes the place of another. */
function keptName(name: string, digest: Buffer): string {
  return `${digest.toString("hex").slice(0, 16)}-${name.slice(-NAME_KEPT_MAX)}`;
}

/**
 * Reads a file again that was set aside and has been repaired. Returns why it still cannot be read,
 * null if it was recorded, and undefined if there is no such file.
 */
export async function retryFile(
  deps: ReportDeps,
  inbox: string,
  name: string,
  now: Date,
): Promise<string | null | undefined> {
  if (!listSetAside(inbox).includes(name)) return undefined;
  const path = join(inbox, SET_ASIDE, name);
  if (!(await lstat(path)).isFile()) return NOT_PLAIN;
  const held = await holdFile(path);
  try {
    const { digest } = held;
    const problem = await readOne(deps, name, held, now);
    if (problem !== null) {
      await upsertSetAside(deps.database, { name, digest, problem, since: now });
      return problem;
    }
    await rename(path, join(inbox, DONE, keptName(name, digest)));
    await deleteSetAside(deps.database, name);
    return null;
  } catch (error) {
    if (error instanceof ChangedFile) return "The file changed while it was read: try again.";
    throw error;
  } finally {
    await held.close();
  }
}

/** The names of files that could not be read, and wait for a person. */
export function listSetAside(inbox: string): string[] {
  const folder = join(inbox, SET_ASIDE);
  return existsSync(folder) ? readdirSync(folder).sort() : [];
}

/** Null if the file is recorded; else why it cannot be read. */
async function readOne(
  deps: ReportDeps,
  name: string,
  { digest, bytes }: HeldFile,
  now: Date,
): Promise<string | null> {
  try {
    await applyReport(deps, { digest, name, items: readBankFile(bytes()) }, now);
    return null;
  } catch (error) {
    if (error instanceof UnreadableFile) return error.message;
    throw error;
  }
}

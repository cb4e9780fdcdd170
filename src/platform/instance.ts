import {
  access,
  chmod,
  constants,
  mkdir,
  open,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  unlink,
} from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isRunning, ownIdentity, type ProcessIdentity } from "./process-identity.ts";
import { replaceSecretFile } from "./secret-file.ts";
import { StartupError } from "./startup-error.ts";

/** What the running instance reports to the command line. */
export type InstanceInfo = ProcessIdentity & {
  database_url?: string;
  public_url?: string;
  [fact: string]: unknown;
};

type DataDirClaim = {
  write(info: Record<string, unknown>): Promise<void>;
  release(): Promise<void>;
  /**
   * Releases the directory unchanged: a service that crashed before is still recorded as crashed.
   */
  giveBack(): Promise<void>;
};

const CLAIM_PREFIX = "instance.claim-";
const CLAIM_ATTEMPTS_MAX = 100;

/**
 * Makes this process the only owner of the data directory, or refuses with a sentence.
 *
 * A starting process first writes a claim file and only then looks for other claims. Of two that
 * start at once, at least one therefore sees the other, withdraws and tries again a little later.
 * The owner is written to instance.json before its claim file is removed. No process removes the
 * file of one that runs: files contain the identity of their process, which is never reused.
 */
export async function claimDataDir(data_dir: string): Promise<DataDirClaim> {
  const directory = await ensureDataDir(data_dir);
  const identity = await ownIdentity();
  for (let attempt = 1; attempt <= CLAIM_ATTEMPTS_MAX; attempt++) {
    const claimed = await tryClaim(directory, identity).catch((error) => {
      throw unusable(directory, error);
    });
    if (claimed) return claimOf(directory, identity, claimed.left);
    await sleep(10 + Math.random() * 90);
  }
  throw new StartupError(
    `Another Sliproad is starting on the data directory ${directory}; stop it first, or set ` +
      `SLIPROAD_DATA_DIR to another directory.`,
  );
}

/** The running owner of the data directory; null if there is none. */
export async function readInstance(data_dir: string): Promise<InstanceInfo | null> {
  const directory = resolve(data_dir);
  const info = await readInfo(directory).catch((error) => {
    throw unusable(directory, error);
  });
  return info !== null && (await isRunning(info)) ? info : null;
}

/** A service that ended without a clean stop; null if there is none. */
export async function readDeadService(data_dir: string): Promise<InstanceInfo | null> {
  const info = await readInfo(resolve(data_dir)).catch(() => null);
  return info !== null && info.public_url !== undefined && !(await isRunning(info)) ? info : null;
}

/** Creates the data directory if necessary and returns its real path. */
export async function ensureDataDir(data_dir: string): Promise<string> {
  const directory = resolve(data_dir);
  try {
    // If we run as root, PostgreSQL runs as another user, who must be able to enter but not list
    // it.
    const mode = process.getuid?.() === 0 ? 0o711 : 0o700;
    await createDirectory(directory, mode);
    await access(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    return await realpath(directory);
  } catch (error) {
    throw unusable(directory, error);
  }
}

/**
 * Creates one directory at a time: mkdir's recursion never ends on a file system where nothing can
 * be created. The umask restricts its mode, so chmod sets it again.
 */
async function createDirectory(directory: string, mode: number): Promise<void> {
  const exists = await stat(directory).catch(() => null);
  if (exists?.isDirectory()) return;
  const parent = dirname(directory);
  if (parent !== directory) await createDirectory(parent, mode);
  await mkdir(directory, { mode }).catch((error: NodeJS.ErrnoException) => {
    // Another process may have created it meanwhile.
    if (error.code !== "EEXIST") throw error;
  });
  await chmod(directory, mode);
}

type Claimed = { left: InstanceInfo | null };

async function tryClaim(directory: string, identity: ProcessIdentity): Promise<Claimed | null> {
  const name = `${CLAIM_PREFIX}${identity.pid}-${identity.started ?? "unknown"}`;
  const path = join(directory, name);
  const file = await open(path, "wx", 0o600).catch((error) => {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return null;
    throw error;
  });
  if (file === null) return null;
  await file.close();
  try {
    if (await othersClaim(directory, name)) return null;
    const owner = await readInfo(directory);
    if (owner !== null && (await isRunning(owner))) throw ownedBy(directory, owner);
    await writeInfo(directory, identity);
    return { left: owner };
  } finally {
    await rm(path, { force: true });
  }
}

async function othersClaim(directory: string, own_name: string): Promise<boolean> {
  for (const name of await readdir(directory)) {
    if (!name.startsWith(CLAIM_PREFIX) || name === own_name) continue;
    const [pid, ...started] = name.slice(CLAIM_PREFIX.length).split("-");
    const text = started.join("-");
    const other = { pid: Number(pid), started: text === "unknown" ? null : text };
    if (await isRunning(other)) return true;
    await rm(join(directory, name), { force: true });
  }
  return false;
}

function claimOf(
  directory: string,
  identity: ProcessIdentity,
  left: InstanceInfo | null,
): DataDirClaim {
  let released = false;
  const end = async (last: () => Promise<unknown>) => {
    if (released) return;
    released = true;
    await last();
  };
  // No other process writes here while this one runs: the file is ours to remove.
  const remove = () => unlink(join(directory, "instance.json")).catch(ignoreAbsent);
  return {
    async write(info) {
      if (released) throw new Error("the data directory was released");
      await writeInfo(directory, { ...info, ...identity });
    },
    release: () => end(remove),
    giveBack: () =>
      end(() => (left?.public_url === undefined ? remove() : writeInfo(directory, left))),
  };
}

async function readInfo(directory: string): Promise<InstanceInfo | null> {
  const text = await readFile(join(directory, "instance.json"), "utf8").catch(ignoreAbsent);
  if (text === undefined) return null;
  try {
    const info = JSON.parse(text) as InstanceInfo;
    return typeof info?.pid === "number" ? { ...info, started: info.started ?? null } : null;
  } catch {
    // We only ever rename complete files into place; an unreadable file was not written by us.
    return null;
  }
}

async function writeInfo(directory: string, info: InstanceInfo): Promise<void> {
  replaceSecretFile(join(directory, "instance.json"), `${JSON.stringify(info, null, 2)}\n`);
}

function ownedBy(directory: string, owner: ProcessIdentity): StartupError {
  return new StartupError(
    `Sliproad is already running on the data directory ${directory} (process ${owner.pid}); ` +
      `stop it first, or set SLIPROAD_DATA_DIR to another directory.`,
  );
}

function unusable(directory: string, error: unknown): Error {
  if (error instanceof StartupError) return error;
  const code = (error as NodeJS.ErrnoException).code;
  if (code === undefined) return error as Error;
  const why = ["EACCES", "EPERM", "EROFS"].includes(code) ? "not writable" : `not usable (${code})`;
  return new StartupError(
    `The data directory ${directory} is ${why}; set SLIPROAD_DATA_DIR to a directory that is.`,
  );
}

function ignoreAbsent(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
}

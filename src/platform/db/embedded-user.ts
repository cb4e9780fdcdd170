import { readFile, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { StartupError } from "../startup-error.ts";

/** The user PostgreSQL runs as if we are root, since it refuses to run as root. */
export type ServerUser = { uid: number; gid: number; name: string };

const READ = 4;
const EXECUTE = 1;

export function startedByRoot(): boolean {
  return process.getuid?.() === 0;
}

/** `postgres` if the system has that user, else `nobody`: initdb needs an entry in /etc/passwd. */
export async function findServerUser(): Promise<ServerUser> {
  const users = await listUsers();
  const user = users.find((u) => u.name === "postgres") ?? users.find((u) => u.name === "nobody");
  if (user && user.uid !== 0) return user;
  throw new StartupError(
    "PostgreSQL does not run as root and this system has neither a user postgres nor nobody; " +
      "start Sliproad as an ordinary user, or set DATABASE_URL.",
  );
}

/** The owner of an existing cluster; null if it is root. */
export async function findOwner(directory: string): Promise<ServerUser | null> {
  const { uid, gid } = await stat(directory);
  if (uid === 0) return null;
  const known = (await listUsers()).find((user) => user.uid === uid);
  return { uid, gid, name: known?.name ?? String(uid) };
}

/** Whether the user may traverse `directory` (a real path) and all its parents. */
export async function canTraverse(directory: string, user: ServerUser): Promise<boolean> {
  for (let at = directory; ; at = dirname(at)) {
    if (!(await permits(at, user, EXECUTE))) return false;
    if (at === dirname(at)) return true;
  }
}

export async function canRead(file: string, user: ServerUser): Promise<boolean> {
  return (await permits(file, user, READ)) && (await canTraverse(dirname(file), user));
}

export async function canExecute(file: string, user: ServerUser): Promise<boolean> {
  return (await permits(file, user, EXECUTE)) && (await canTraverse(dirname(file), user));
}

async function permits(path: string, user: ServerUser, wanted: number): Promise<boolean> {
  const { mode, uid, gid } = await stat(path);
  // The first matching class decides, as in the kernel: an owner may have fewer rights than others.
  const granted = uid === user.uid ? mode >> 6 : gid === user.gid ? mode >> 3 : mode;
  return (granted & wanted) === wanted;
}

async function listUsers(): Promise<ServerUser[]> {
  const text = await readFile("/etc/passwd", "utf8").catch(() => "");
  return text.split("\n").flatMap((line) => {
    const [name, , uid, gid] = line.split(":");
    return name && uid && gid ? [{ name, uid: Number(uid), gid: Number(gid) }] : [];
  });
}

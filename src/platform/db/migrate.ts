import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { StartupError } from "../startup-error.ts";
import type { Database, Session } from "./database.ts";
import { isLockConflict } from "./outages.ts";

const MIGRATIONS_DIR = join(import.meta.dirname, "../../../migrations");
// Any constant works as long as all processes use the same one.
const ADVISORY_LOCK = 7_420_261_115;

/** Called before each migration, to report progress. */
type OnMigration = (progress: { done: number; total: number; name: string }) => void;

export type MigrateOptions = {
  onMigration?: OnMigration;
  /** Migrates a new database only, and refuses one that an older version uses. */
  only_new?: boolean;
  directory?: string;
};

/**
 * Applies the missing migrations in order. Several processes may start at once: an advisory lock
 * lets one work while the others wait. Returns the names of the migrations it applied.
 */
export async function migrate(
  database: Database,
  now: () => Date,
  { onMigration, only_new = false, directory = MIGRATIONS_DIR }: MigrateOptions = {},
): Promise<string[]> {
  const files = await readMigrationFiles(directory);
  return database.connection(async (session) => {
    await session.query("select pg_advisory_lock($1)", [ADVISORY_LOCK]);
    const applied = await listApplied(session);
    assertUnchanged(files, applied);
    const names = new Set(applied.map(({ name }) => name));
    const missing = files.filter(({ name }) => !names.has(name));
    if (applied.length > 0 && missing.length > 0) {
      if (only_new) throw new StartupError(notMigrated(missing));
      await assertNoneBroken(session, missing, now());
    }
    for (const [done, file] of missing.entries()) {
      onMigration?.({ done, total: missing.length, name: file.name });
      await applyBetweenRequests(session, file, now);
    }
    return missing.map(({ name }) => name);
  });
}

function notMigrated([first, ...others]: readonly MigrationFile[]): string {
  const more = others.length > 0 ? ` and ${others.length} more` : "";
  return (
    `The database is of an older version: ${first!.name}${more} must be applied. Stop the ` +
    "processes of the older version, then run sliproad migrate or sliproad start."
  );
}

/** A worker that has been silent for longer is dead. */
const SILENT_MAX_MS = 30_000;

/** Processes of an older version must not run on a schema that breaks them. */
async function assertNoneBroken(
  session: Session,
  missing: readonly MigrationFile[],
  now: Date,
): Promise<void> {
  const breaking = missing.find(({ breaks }) => breaks);
  const [table] = await session.query<{ name: string | null }>(
    "select to_regclass('worker_heartbeats')::text as name",
  );
  if (!breaking || !table?.name) return;
  const [row] = await session.query<{ count: bigint }>(
    "select count(*) from worker_heartbeats where seen_at > $1",
    [new Date(now.getTime() - SILENT_MAX_MS)],
  );
  if (row!.count === 0n) return;
  throw new StartupError(
    `An older version is running on this database (${row!.count} workers), and ` +
      `${breaking.name} breaks it. Stop its processes first; one that was killed counts as ` +
      `running for ${SILENT_MAX_MS / 1000} seconds.`,
  );
}

/**
 * True if the database has all migrations of this program, and none of a newer version that breaks
 * it: while an installation is upgraded, processes of the older version go on.
 */
export async function isMigrated(
  session: Session,
  directory: string = MIGRATIONS_DIR,
): Promise<boolean> {
  const files = await readMigrationFiles(directory);
  const applied = new Map((await listChecksums(session)).map((one) => [one.name, one]));
  const has_all = files.every(({ name, checksum }) => applied.get(name)?.checksum === checksum);
  for (const { name } of files) applied.delete(name);
  return has_all && ![...applied.values()].some(({ breaks }) => breaks);
}

type MigrationFile = { name: string; text: string; checksum: string; breaks: boolean };
type Applied = { name: string; checksum: string; breaks: boolean };

async function readMigrationFiles(directory: string): Promise<MigrationFile[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith(".sql")).sort();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(directory, name), "utf8");
      // A checkout on Windows may have other line ends; they make no difference to PostgreSQL.
      const lines = text.replaceAll("\r\n", "\n");
      const checksum = createHash("sha256").update(lines).digest("hex");
      return { name, text, checksum, breaks: /^-- Breaks running code: yes\b/.test(text) };
    }),
  );
}

function assertUnchanged(files: readonly MigrationFile[], applied: readonly Applied[]): void {
  const by_name = new Map(files.map((file) => [file.name, file]));
  for (const { name, checksum, breaks } of applied) {
    const file = by_name.get(name);
    if (!file && !breaks) continue;
    if (!file) {
      throw new StartupError(
        `The database was migrated by a newer version of Sliproad (${name}); start that version.`,
      );
    }
    if (file.checksum !== checksum) {
      throw new StartupError(
        `The migration ${name} was changed after this database had applied it; restore that ` +
          "file and put the change into a new migration.",
      );
    }
  }
}

/** The migrations of this program, in order. */
export async function listMigrationFiles(): Promise<Pick<Applied, "name" | "checksum">[]> {
  const files = await readMigrationFiles(MIGRATIONS_DIR);
  return files.map(({ name, checksum }) => ({ name, checksum }));
}

type Migration = { name: string; applied_at: Date };

/** The migrations that were applied, in order. */
export function listMigrations(session: Session): Promise<Migration[]> {
  return session.query<Migration>("select name, applied_at from migrations order by name");
}

async function listApplied(session: Session): Promise<Applied[]> {
  await session.query(
    `create table if not exists migrations (
       name text primary key,
       applied_at timestamptz not null,
       checksum text not null
     )`,
  );
  await session.query(
    "alter table migrations add column if not exists breaks boolean not null default false",
  );
  return listChecksums(session);
}

function listChecksums(session: Session): Promise<Applied[]> {
  return session.query<Applied>("select name, checksum, breaks from migrations order by name");
}

const TRIES_MAX = 20;
const PAUSE_MS = 250;

/**
 * Requests go on meanwhile, and lock the same tables in another order or for longer than the
 * migration waits. It then steps back, so that they end, and tries again.
 */
async function applyBetweenRequests(
  session: Session,
  file: MigrationFile,
  now: () => Date,
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await apply(session, file, now());
    } catch (error) {
      const { cause } = error as Error;
      if (!isLockConflict(cause) || tries >= TRIES_MAX) throw error;
      await sleep(PAUSE_MS);
    }
  }
}

async function apply(session: Session, file: MigrationFile, now: Date): Promise<void> {
  await session.query("begin");
  try {
    await session.query(file.text);
    await session.query(
      "insert into migrations (name, applied_at, checksum, breaks) values ($1, $2, $3, $4)",
      [file.name, now, file.checksum, file.breaks],
    );
    await session.query("commit");
  } catch (error) {
    await session.query("rollback");
    throw new Error(`migration ${file.name} failed: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

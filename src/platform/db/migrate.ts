import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { StartupError } from "../startup-error.ts";
import type { Database, Session } from "./database.ts";

const MIGRATIONS_DIR = join(import.meta.dirname, "../../../migrations");
// Any constant works as long as all processes use the same one.
const ADVISORY_LOCK = 7_420_261_115;

/** Told before each migration, for whoever waits. */
export type OnMigration = (progress: { done: number; total: number; name: string }) => void;

/**
 * Applies what is missing, in order. Several processes may start at once: an advisory lock lets
 * one work while the others wait. Returns the names of the migrations it applied.
 */
export async function migrate(
  database: Database,
  now: () => Date,
  onProgress?: OnMigration,
): Promise<string[]> {
  const files = (await readdir(MIGRATIONS_DIR)).filter((name) => name.endsWith(".sql")).sort();
  return database.connection(async (session) => {
    await session.query("select pg_advisory_lock($1)", [ADVISORY_LOCK]);
    const applied = await listApplied(session);
    const unknown = applied.find((name) => !files.includes(name));
    if (unknown) {
      throw new StartupError(
        `The database was migrated by a newer version of Sliproad (${unknown}); ` +
          "start that version.",
      );
    }
    const missing = files.filter((name) => !applied.includes(name));
    for (const [done, name] of missing.entries()) {
      onProgress?.({ done, total: missing.length, name });
      await apply(session, name, now());
    }
    return missing;
  });
}

/** True when the database has exactly the migrations of this program. */
export async function isMigrated(session: Session): Promise<boolean> {
  const files = (await readdir(MIGRATIONS_DIR)).filter((name) => name.endsWith(".sql"));
  const rows = await session.query<{ name: string }>("select name from migrations");
  return files.length === rows.length && rows.every((row) => files.includes(row.name));
}

export type Migration = { name: string; applied_at: Date };

/** What a migrated database went through, in order. */
export function listMigrations(session: Session): Promise<Migration[]> {
  return session.query<Migration>("select name, applied_at from migrations order by name");
}

async function listApplied(session: Session): Promise<string[]> {
  await session.query(
    `create table if not exists migrations (
       name text primary key,
       applied_at timestamptz not null
     )`,
  );
  return (await listMigrations(session)).map((migration) => migration.name);
}

async function apply(session: Session, name: string, now: Date): Promise<void> {
  const text = await readFile(join(MIGRATIONS_DIR, name), "utf8");
  await session.query("begin");
  try {
    await session.query(text);
    await session.query("insert into migrations (name, applied_at) values ($1, $2)", [name, now]);
    await session.query("commit");
  } catch (error) {
    await session.query("rollback");
    throw new Error(`migration ${name} failed: ${(error as Error).message}`, { cause: error });
  }
}
